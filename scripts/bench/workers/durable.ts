/**
 * The loop by hand in a Durable Object, which keeps the conversation: one write for the message, before the model is asked,
 * and one for what each call of the model brings. While the object lives, the conversation is in its memory, too.
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

	/** `PUT` gives the conversation a history, any other request a message. */
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
