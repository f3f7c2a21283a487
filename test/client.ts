import { env, runDurableObjectAlarm, runInDurableObject, SELF } from 'cloudflare:test';
import { createSseParser } from '../src/client/stream.ts';
import type { BudgetState } from '../src/cloudflare/objects/budget.ts';
import { rareTables } from '../src/cloudflare/session/store/schema.ts';
import { makeTables } from '../src/cloudflare/session/store/tables.ts';

export interface WireEvent {
	readonly id: string | undefined;
	readonly type: string;
	readonly data: Record<string, unknown>;
}

const origin = 'http://localhost';

/** Sends a JSON request to the Worker under test. */
export function request(
	path: string,
	body?: unknown,
	headers: Record<string, string> = {},
	method = 'POST',
): Promise<Response> {
	const init =
		body === undefined ? { method: method === 'POST' ? 'GET' : method } : { method, body: JSON.stringify(body) };
	return SELF.fetch(`${origin}${path}`, { ...init, headers: { 'content-type': 'application/json', ...headers } });
}

/** Creates a session and returns its id. */
export async function createSession(agent = 'scripted'): Promise<string> {
	const { id } = await (await request('/v1/sessions', { agent })).json<{ id: string }>();
	return id;
}

/** Sends a message and returns the response, which streams the run. */
export function send(id: string, text: string): Promise<Response> {
	return request(`/v1/sessions/${id}/messages`, { text }, { accept: 'text/event-stream' });
}

/** Follows a session's events, starting after `lastEventId`. */
export function follow(id: string, lastEventId?: string): Promise<Response> {
	return request(
		`/v1/sessions/${id}/events`,
		undefined,
		lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
	);
}

export function readObject(id: string) {
	return env.SESSIONS.get(env.SESSIONS.idFromString(id));
}

/** Runs a statement in the session's object. A table that does not exist yet has no rows. */
export function querySession<T extends Record<string, SqlStorageValue>>(
	id: string,
	query: string,
	...values: SqlStorageValue[]
): Promise<T[]> {
	return runInDurableObject(readObject(id), (_, { storage }) =>
		makeTables(storage, rareTables)
			.sql.exec<T>(query, ...values)
			.toArray(),
	);
}

/** Aborts the session's object like a crash: stored data stays, memory is lost. */
export async function restart(id: string): Promise<void> {
	const crash = runInDurableObject(readObject(id), (_, ctx) => ctx.storage.sync().then(() => ctx.abort('restart')));
	await crash.catch(() => {});
}

/** Runs the present alarm of the session, and returns the time of the next alarm. */
export async function readNextAlarm(id: string): Promise<number | null> {
	await runDurableObjectAlarm(readObject(id));
	return runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm());
}

/** The fields of `GET /v1/sessions/:id` that tests read. */
export interface WireSession {
	readonly status: string;
	readonly budget: BudgetState;
	readonly [more: string]: unknown;
}

export async function readState(id: string): Promise<WireSession> {
	return (await request(`/v1/sessions/${id}`)).json();
}

/** Returns the status of a session, or `dead` if its object dies during the request. */
export function readStatusUnlessDead(id: string): Promise<string> {
	return readState(id).then(
		({ status }) => status,
		() => 'dead',
	);
}

export interface WireMessage {
	readonly id: string;
	readonly isReplaced?: boolean;
	readonly role: string;
	readonly content: unknown;
	readonly toolCallId?: string;
	readonly isError?: boolean;
	readonly from?: string;
}

export async function readHistory(id: string): Promise<WireMessage[]> {
	const { messages } = await (await request(`/v1/sessions/${id}/messages`)).json<{ messages: WireMessage[] }>();
	return messages;
}

export async function* readEvents(response: Response): AsyncGenerator<WireEvent, void> {
	const parser = createSseParser();
	for await (const bytes of response.body ?? [])
		for (const { id, type, data } of parser.push(bytes)) yield { id: id || undefined, type, data: JSON.parse(data) };
}

export async function allEvents(response: Response): Promise<WireEvent[]> {
	return Array.fromAsync(readEvents(response));
}

/** Returns the text that a reader of the events sees. */
export function readText(events: readonly WireEvent[]): string {
	return events.flatMap(({ type, data }) => (type === 'text' ? [String(data.text)] : [])).join('');
}
