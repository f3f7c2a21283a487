import { env, runInDurableObject, SELF } from 'cloudflare:test';
import { createSseParser } from '../src/client/sse.ts';
import type { BudgetState } from '../src/cloudflare/rpc/budget.ts';

/** One event as it came over the wire. */
export interface WireEvent {
	readonly id: string | undefined;
	readonly type: string;
	readonly data: Record<string, unknown>;
}

const origin = 'http://localhost';

/** A JSON request to the Worker under test. */
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

/** Creates a session and gives its id. */
export async function createSession(agent = 'scripted'): Promise<string> {
	const { id } = await (await request('/v1/sessions', { agent })).json<{ id: string }>();
	return id;
}

/** Sends a message and gives the response that streams the run. */
export function send(id: string, text: string): Promise<Response> {
	return request(`/v1/sessions/${id}/messages`, { text }, { accept: 'text/event-stream' });
}

/** Follows a session's events, from the event after `lastEventId` on. */
export function follow(id: string, lastEventId?: string): Promise<Response> {
	return request(
		`/v1/sessions/${id}/events`,
		undefined,
		lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
	);
}

/** The session's object. */
export function readObject(id: string) {
	return env.SESSIONS.get(env.SESSIONS.idFromString(id));
}

/** Ends the session's object as a crash does: what is stored stays, what is in memory is gone. */
export async function restart(id: string): Promise<void> {
	const crash = runInDurableObject(readObject(id), (_, ctx) => ctx.storage.sync().then(() => ctx.abort('restart')));
	await crash.catch(() => {});
}

/** What `GET /v1/sessions/:id` says, as far as tests look into it. */
export interface WireSession {
	readonly status: string;
	readonly budget: BudgetState;
	readonly [more: string]: unknown;
}

/** What `GET /v1/sessions/:id` says. */
export async function readState(id: string): Promise<WireSession> {
	return (await request(`/v1/sessions/${id}`)).json();
}

/** A message of a session's history, as the wire has it. */
export interface WireMessage {
	readonly role: string;
	readonly content: unknown;
	readonly toolCallId?: string;
	readonly isError?: boolean;
}

/** A session's history. */
export async function readHistory(id: string): Promise<WireMessage[]> {
	const { messages } = await (await request(`/v1/sessions/${id}/messages`)).json<{ messages: WireMessage[] }>();
	return messages;
}

/** The events of a stream, as they come. */
export async function* readEvents(response: Response): AsyncGenerator<WireEvent, void> {
	const parser = createSseParser();
	for await (const bytes of response.body ?? [])
		for (const { id, type, data } of parser.push(bytes)) yield { id: id || undefined, type, data: JSON.parse(data) };
}

/** All events of a stream, once it is over. */
export async function allEvents(response: Response): Promise<WireEvent[]> {
	return Array.fromAsync(readEvents(response));
}

/** The text that a reader of these events has in front of it. */
export function readText(events: readonly WireEvent[]): string {
	return events.flatMap(({ type, data }) => (type === 'text' ? [String(data.text)] : [])).join('');
}
