/**
 * The loop by hand in a Durable Object, which keeps the conversation: one write for each call of the model, with the user's
 * message in the first one.
 */
import { DurableObject } from 'cloudflare:workers';
import { type HandEnv, type HandMessage, streamRun } from './hand-written.ts';

interface Env extends HandEnv {
	readonly CONVERSATIONS: DurableObjectNamespace;
}

export class Conversation extends DurableObject<Env> {
	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS messages (seq INTEGER PRIMARY KEY, json TEXT NOT NULL)');
	}

	override async fetch(request: Request): Promise<Response> {
		const { sql } = this.ctx.storage;
		const message: HandMessage = { role: 'user', content: await request.text() };
		const rows = sql.exec<{ json: string }>('SELECT json FROM messages ORDER BY seq').toArray();
		const messages = [...rows.flatMap(({ json }): HandMessage[] => JSON.parse(json)), message];
		let unsaved: readonly HandMessage[] = [message];
		const keep = (added: readonly HandMessage[]): void => {
			sql.exec('INSERT INTO messages (json) VALUES (?)', JSON.stringify([...unsaved, ...added]));
			unsaved = [];
		};
		return streamRun({ env: this.env, messages, keep });
	}
}

export default {
	fetch: (request: Request, { CONVERSATIONS }: Env): Promise<Response> =>
		CONVERSATIONS.get(CONVERSATIONS.idFromName(new URL(request.url).pathname)).fetch(request),
};
