import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import type { Server } from './server.ts';

const state = v.looseObject({
	id: v.string(),
	status: v.string(),
	error: v.optional(v.object({ code: v.string(), message: v.string() })),
});
const storedMessage = v.looseObject({
	role: v.string(),
	content: v.unknown(),
	toolCalls: v.optional(v.array(v.object({ id: v.string(), name: v.string(), input: v.unknown() }))),
	toolCallId: v.optional(v.string()),
	isError: v.optional(v.boolean()),
});
const page = v.object({ messages: v.array(storedMessage), cursor: v.optional(v.string()) });
const list = v.object({ sessions: v.array(v.looseObject({ id: v.string() })), cursor: v.optional(v.string()) });
const fileList = v.object({ files: v.array(v.looseObject({ path: v.string() })) });
const fileChange = v.looseObject({ path: v.string(), kind: v.string(), callId: v.optional(v.string()) });
const changeList = v.object({ changes: v.array(fileChange), cursor: v.optional(v.string()) });
const created = v.looseObject({ id: v.string() });
const rpc = v.object({ result: v.optional(v.unknown()), error: v.optional(v.unknown()) });
const response = v.looseObject({ id: v.string(), status: v.string() });

export type SessionState = v.InferOutput<typeof state>;
export type StoredMessage = v.InferOutput<typeof storedMessage>;

export type FileChange = v.InferOutput<typeof fileChange>;

/** How often a request to a busy object is repeated. */
const mostBusy = 20;

export interface SessionFields {
	readonly agent: string;
	readonly budget?: { readonly tokens: number };
}

/**
 * A careful client. After a kill it repeats the request with the same `Idempotency-Key` once the server runs
 * again. It repeats a request to a busy object after the time in `Retry-After`, and a request whose connection workerd
 * closed unread, as it does if it is too busy for 15 s. Any other failure throws.
 *
 * @param retries how often a request is repeated after a 5xx, for programmes that abort objects
 * @param key the API key of its requests
 */
export function createClient(server: Server, retries = 0, key?: string) {
	const request = async <T>(path: string, init: RequestInit, take: (response: Response) => Promise<T>): Promise<T> => {
		for (let left = retries, busyLeft = mostBusy; ; ) {
			await server.up();
			const { lives } = server;
			let refused: string | undefined;
			let isAnswered = false;
			try {
				const headers = new Headers(init.headers);
				// The server may close a kept-alive connection at the moment of its next use (RFC 9112, 9.5).
				headers.set('connection', 'close');
				if (key !== undefined) headers.set('authorization', `Bearer ${key}`);
				const response = await fetch(`${server.url}${path}`, { ...init, headers });
				isAnswered = true;
				if (response.ok) return await take(response);
				refused = `${response.status} ${await response.text()}`;
				if (refused.includes('has too much to do now') && busyLeft-- > 0) {
					await pause(1_000 * Number(response.headers.get('retry-after')));
					continue;
				}
				if (response.status < 500) left = 0;
			} catch (cause) {
				init.signal?.throwIfAborted();
				const isUnread = !isAnswered && busyLeft-- > 0;
				if (!isUnread && server.isUp && server.lives === lives) throw new Error(`${path}: no answer`, { cause });
			}
			if (refused !== undefined && left-- === 0) throw new Error(`${path}: ${refused}`);
		}
	};
	const whole = (response: Response): Promise<unknown> => response.json();
	const begin = <T>(
		text: string,
		fields: SessionFields = { agent: 'worker' },
		headers: Readonly<Record<string, string>>,
		take: (response: Response) => Promise<T>,
	): Promise<T> => {
		const own = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
		const init = { method: 'POST', body: JSON.stringify({ ...fields, text }), headers: { ...own, ...headers } };
		return request('/v1/sessions', init, take);
	};

	return {
		/** Creates a session with a first message. Returns its id. */
		begin: async (text: string, fields?: SessionFields): Promise<string> =>
			v.parse(created, await begin(text, fields, { prefer: 'respond-async' }, whole)).id,
		/** Creates a session with a first message, and streams its run. */
		stream: async (text: string, fields?: SessionFields) => {
			const response = await begin(text, fields, { accept: 'text/event-stream' }, async (response) => response);
			const session = response.headers.get('location')?.split('/').at(-1);
			if (session === undefined) throw new Error('a new session has no location');
			return { session, response };
		},
		events: (session: string, lastEventId: string | undefined, signal: AbortSignal): Promise<Response> => {
			const headers = new Headers(lastEventId === undefined ? {} : { 'last-event-id': lastEventId });
			return request(`/v1/sessions/${session}/events`, { headers, signal }, async (response) => response);
		},
		/** Begins a response in the background. Returns its id. */
		respond: async (input: string): Promise<string> => {
			const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
			const body = JSON.stringify({ model: 'worker', input, background: true });
			return v.parse(response, await request('/v1/responses', { method: 'POST', headers, body }, whole)).id;
		},
		response: async (id: string) => v.parse(response, await request(`/v1/responses/${id}`, {}, whole)),
		/** The events of a response behind a number. */
		responseEvents: (id: string, seen: number | undefined, signal: AbortSignal): Promise<Response> => {
			const behind = seen === undefined ? '' : `&starting_after=${seen}`;
			return request(`/v1/responses/${id}?stream=true${behind}`, { signal }, async (response) => response);
		},
		/** Calls a method of A2A. Throws for an error of JSON-RPC. */
		callA2a: async (method: string, params: object): Promise<unknown> => {
			const headers = { 'content-type': 'application/json' };
			const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
			const answer = v.parse(rpc, await request('/v1/a2a/worker', { method: 'POST', headers, body }, whole));
			if (answer.result === undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
			return answer.result;
		},
		/** The updates of a task, behind the last event that the reader has. */
		subscribeA2a: (id: string, lastEventId: string | undefined, signal: AbortSignal): Promise<Response> => {
			const headers = new Headers({ 'content-type': 'application/json' });
			if (lastEventId !== undefined) headers.set('last-event-id', lastEventId);
			const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } });
			return request('/v1/a2a/worker', { method: 'POST', headers, body, signal }, async (response) => response);
		},
		cancel: (session: string): Promise<unknown> => request(`/v1/sessions/${session}/cancel`, { method: 'POST' }, whole),
		/** The ids of all sessions of the owner. */
		listed: async (): Promise<ReadonlySet<string>> => {
			const ids = new Set<string>();
			for (let next: string | undefined = ''; next !== undefined; ) {
				const query: string = next === '' ? '' : `&cursor=${encodeURIComponent(next)}`;
				const { sessions, cursor } = v.parse(list, await request(`/v1/sessions?limit=100${query}`, {}, whole));
				for (const { id } of sessions) ids.add(id);
				next = cursor;
			}
			return ids;
		},
		/** Creates a session without a message. */
		create: async (agent: string): Promise<string> => {
			const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
			const init = { method: 'POST', body: JSON.stringify({ agent }), headers };
			return v.parse(created, await request('/v1/sessions', init, whole)).id;
		},
		/** Sends a further message. */
		send: (session: string, text: string): Promise<unknown> => {
			const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID(), prefer: 'respond-async' };
			return request(
				`/v1/sessions/${session}/messages`,
				{ method: 'POST', body: JSON.stringify({ text }), headers },
				whole,
			);
		},
		/** Continues a run that ended after too many attempts. */
		continue: (session: string): Promise<unknown> => {
			const headers = { 'idempotency-key': randomUUID(), prefer: 'respond-async' };
			return request(`/v1/sessions/${session}/continue`, { method: 'POST', headers }, whole);
		},
		putFile: (session: string, path: string, text: string): Promise<unknown> =>
			request(`/v1/sessions/${session}/files/${path}`, { method: 'PUT', body: text }, whole),
		readFile: (session: string, path: string): Promise<string> =>
			request(`/v1/sessions/${session}/files/${path}`, {}, (response) => response.text()),
		listFiles: async (session: string): Promise<readonly string[]> =>
			v.parse(fileList, await request(`/v1/sessions/${session}/files`, {}, whole)).files.map(({ path }) => path),
		/** The file changes in the session's journal. */
		changes: async (session: string): Promise<readonly FileChange[]> => {
			const all: FileChange[] = [];
			for (let next: string | undefined = ''; next !== undefined; ) {
				const query: string = next === '' ? '' : `&cursor=${next}`;
				const asked = request(`/v1/sessions/${session}/changes?limit=200${query}`, {}, whole);
				const { changes, cursor } = v.parse(changeList, await asked);
				all.push(...changes);
				next = cursor;
			}
			return all;
		},
		/** Throws if the server is not healthy. */
		health: (): Promise<unknown> => request('/healthz', {}, whole),
		/** Today's spending. */
		usage: (): Promise<unknown> => request('/v1/usage?days=1', {}, whole),
		state: async (session: string): Promise<SessionState> =>
			v.parse(state, await request(`/v1/sessions/${session}`, {}, whole)),
		history: async (session: string): Promise<StoredMessage[]> => {
			const all: StoredMessage[] = [];
			for (let next: string | undefined = ''; next !== undefined; ) {
				const query: string = next === '' ? '' : `?cursor=${next}`;
				const { messages, cursor } = v.parse(
					page,
					await request(`/v1/sessions/${session}/messages${query}`, {}, whole),
				);
				all.push(...messages);
				next = cursor;
			}
			return all;
		},
	};
}

export type Client = ReturnType<typeof createClient>;
