/**
 * The loop by hand in a Durable Object, which stores the conversation: one write for the message, before the
 * request to the model, and one write for the result of each request. A live object also has the conversation in
 * memory.
 */
import { DurableObject } from 'cloudflare:workers';
import { collectGarbage } from './garbage.ts';
import { type HandEnv, type HandMessage, streamRun } from './hand-written.ts';

interface Env extends HandEnv {
	readonly CONVERSATIONS: DurableObjectNamespace;
}

export class Conversation extends DurableObject<Env> {
	readonly #messages: HandMessage[];

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		const { sql } = ctx.storage;
		sql.exec('CREATE TABLE IF NOT EXISTS messages (seq INTEGER PRIMARY KEY, json TEXT NOT NULL)');
		const rows = sql.exec<{ json: string }>('SELECT json FROM messages ORDER BY seq').toArray();
		this.#messages = rows.flatMap(({ json }): HandMessage[] => JSON.parse(json));
	}

	/** `PUT` sets the history of the conversation. Any other request is a message. */
	override async fetch(request: Request): Promise<Response> {
		if (request.method === 'PUT') return this.#fill(JSON.parse(await request.text()));
		const message: HandMessage = { role: 'user', content: await request.text() };
		this.#store([message]);
		this.#messages.push(message);
		return streamRun({ env: this.env, messages: this.#messages, keep: (added) => this.#store(added) });
	}

	#fill(history: readonly HandMessage[]): Response {
		for (const message of history) this.#store([message]);
		this.#messages.push(...history);
		return new Response();
	}

	#store(messages: readonly HandMessage[]): void {
		this.ctx.storage.sql.exec('INSERT INTO messages (json) VALUES (?)', JSON.stringify(messages));
	}
}

export default {
	fetch: (request: Request, { CONVERSATIONS }: Env): Response | Promise<Response> => {
		const { pathname } = new URL(request.url);
		if (pathname === '/bench/garbage') return collectGarbage();
		return CONVERSATIONS.get(CONVERSATIONS.idFromName(pathname)).fetch(request);
	},
};
