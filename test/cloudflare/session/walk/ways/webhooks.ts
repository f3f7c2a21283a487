/** Webhooks. Their mapping names an owner and a user. */
import { env } from 'cloudflare:test';
import type { Actor } from '../../../../../src/core/base/actor.ts';
import worker from '../../../../worker.ts';
import { senders } from '../../../wire/protocols/webhooks/senders.ts';
import { seen } from '../agents.ts';
import { makeMark, toName, users } from '../persons.ts';
import { chats, findNamed } from './named.ts';
import { addSession, follow, isFree, noteSaid, type Way, write } from './way.ts';

const webhook: Way = {
	name: 'webhook',
	weight: 10,
	go: async (walk) => {
		const owner = walk.choose('walk-a', 'walk-b');
		const user = walk.choose(undefined, ...users);
		const name = walk.chance(70) ? walk.choose(...chats) : undefined;
		const named = name === undefined ? undefined : findNamed(walk, 'hook', { owner, user }, name);
		if (named?.session !== undefined && !isFree(named.session)) return false;
		const message = write(walk, { owner, user }, walk.choose('witness', 'keep', 'pay', 'child-witness'));
		const metadata = walk.chance(50) ? { from: makeMark({ owner, user }) } : undefined;
		const isForged = walk.chance(12);
		const body = JSON.stringify({ message: { owner, user, session: name, text: message.text, metadata } });
		const { secret, otherSecret, headers: sign } = senders.hmac;
		const secrets = [isForged ? otherSecret : secret];
		const headers = { ...sign(body, { id: crypto.randomUUID(), at: 0, secrets }) };
		walk.said.push(`webhook ${body}`);
		const response = await worker.request('/v1/webhooks/walker/hmac', { method: 'POST', body, headers }, env);
		const text = await response.text();
		const answer = { status: response.status, text, headers: response.headers, json: () => JSON.parse(text) };
		walk.expect('webhook', answer, isForged ? 401 : 'ok');
		if (isForged) {
			walk.check(seen.models.length === 0, 'A webhook with a wrong signature began a run');
			return true;
		}
		const { sessionId } = answer.json();
		const by: Actor = { owner, ...(user !== undefined && { user }), via: 'webhook', id: 'walker/hmac' };
		const session =
			named?.note(sessionId, { createdBy: by, metadata }) ??
			addSession(walk, sessionId, { owner, user, createdBy: by, metadata });
		walk.check(
			toName(session) === toName({ owner, user }),
			`A webhook for ${owner}/${user} came to ${toName(session)}`,
		);
		noteSaid(walk, session, message.mark, [by]);
		await follow(walk, session, message);
		return true;
	},
};

export const hooks: readonly Way[] = [webhook];
