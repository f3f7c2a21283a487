import { randomUUID } from 'node:crypto';
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
const created = v.looseObject({ id: v.string() });

export type SessionState = v.InferOutput<typeof state>;
export type StoredMessage = v.InferOutput<typeof storedMessage>;

/** How a session is created: with its agent, and its budget if it has one. */
export interface SessionFields {
	readonly agent: string;
	readonly budget?: { readonly tokens: number };
}

/**
 * A careful client: a request that a kill cut off is sent again under the same `Idempotency-Key` once the server is
 * back. One that fails without a kill, or that is refused, throws.
 *
 * @param retries of a request that was answered with a 5xx, where objects are aborted on purpose.
 */
export function createClient(server: Server, retries = 0) {
	const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
		for (let left = retries, staleLeft = 1; ; ) {
			await server.up();
			const { lives } = server;
			try {
				const response = await fetch(`${server.url}${path}`, init);
				if (response.status < 500 || left-- === 0) return response;
			} catch (cause) {
				init.signal?.throwIfAborted();
				// The server may close a connection that was kept alive just when it is used (RFC 9112, 9.5).
				if (server.isUp && server.lives === lives && staleLeft-- === 0)
					throw new Error(`${path}: no answer`, { cause });
			}
		}
	};
	const post = async (
		path: string,
		body: object,
		headers: Readonly<Record<string, string>> = {},
		signal: AbortSignal | null = null,
	): Promise<Response> => {
		const response = await request(path, {
			method: 'POST',
			body: JSON.stringify(body),
			headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID(), ...headers },
			signal,
		});
		if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
		return response;
	};
	const get = async (path: string): Promise<unknown> => {
		const response = await request(path);
		if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
		return response.json();
	};

	return {
		/** A session whose first message was acknowledged; gives its id. */
		begin: async (text: string, fields: SessionFields = { agent: 'worker' }): Promise<string> => {
			const response = await post('/v1/sessions', { ...fields, text }, { prefer: 'respond-async' });
			return v.parse(created, await response.json()).id;
		},
		/** The same, streamed: gives the response, as its reader cuts it. */
		stream: async (text: string, fields: SessionFields = { agent: 'worker' }, signal?: AbortSignal) => {
			const response = await post('/v1/sessions', { ...fields, text }, { accept: 'text/event-stream' }, signal);
			const session = response.headers.get('location')?.split('/').at(-1);
			if (session === undefined) throw new Error('a new session has no location');
			return { session, response };
		},
		events: (session: string, lastEventId: string | undefined, signal: AbortSignal): Promise<Response> =>
			request(`/v1/sessions/${session}/events`, {
				headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
				signal,
			}),
		state: async (session: string): Promise<SessionState> => v.parse(state, await get(`/v1/sessions/${session}`)),
		history: async (session: string): Promise<StoredMessage[]> => {
			const all: StoredMessage[] = [];
			for (let next: string | undefined = ''; next !== undefined; ) {
				const query: string = next === '' ? '' : `?cursor=${next}`;
				const { messages, cursor } = v.parse(page, await get(`/v1/sessions/${session}/messages${query}`));
				all.push(...messages);
				next = cursor;
			}
			return all;
		},
	};
}

export type Client = ReturnType<typeof createClient>;
