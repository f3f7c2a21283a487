/** The ways to create sessions by the API. */
import { seen } from '../agents.ts';
import { pickCaller, pickPerson } from '../choose.ts';
import { look } from '../look.ts';
import { makeMark, users } from '../persons.ts';
import { hasRight, judge, type Session } from '../truth.ts';
import type { Walk } from '../walk.ts';
import { chats, said } from './named.ts';
import { addSession, addToken, refused, toPerson, type Way, write } from './way.ts';

const create: Way = {
	name: 'create a session',
	weight: 16,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const own = toPerson(caller);
		const other = walk.chance(35) ? walk.pick(users) : undefined;
		const person = own && { owner: own.owner, user: other ?? own.user };
		const metadata = walk.chance(20) ? { plan: makeMark(person) } : undefined;
		const holder = walk.chance(15) ? walk.pick(users) : undefined;
		const message = walk.chance(85) ? write(walk, person, walk.chance(4) ? 'plain' : undefined) : undefined;
		const isSync = message?.command !== 'fail';
		const claim = walk.chance(4) ? { owner: 'walk-b' } : {};
		const body = { agent: 'walker', user: other, metadata, for: holder, text: message?.text, ...claim };
		let outcome = judge(caller, 'createSession');
		if (outcome === 'ok' && claim.owner !== undefined) outcome = 400;
		else if (outcome === 'ok' && caller.kind === 'person' && !hasRight(caller.role, 'nameUser'))
			if ((other !== undefined && other !== caller.user) || metadata !== undefined || holder !== undefined)
				outcome = 403;
		const ask = () =>
			walk.ask(caller, '/v1/sessions', { body, headers: isSync ? {} : { prefer: 'respond-async' }, only: person });
		if (outcome !== 'ok' || caller.kind !== 'person' || person === undefined) {
			await refused(walk, 'create a session', undefined, outcome, ask);
			return true;
		}
		const answer = await ask();
		walk.expect('create a session', answer, 'ok');
		const { id } = answer.json<{ id: string }>();
		const session = addSession(walk, id, { ...person, metadata, createdBy: caller.actor });
		addToken(walk, answer, session, caller.actor, holder);
		if (message === undefined) await look(walk, session);
		else await said(walk, session, caller, message);
		return true;
	},
};

/** Keys that several people use, and the requests of each person under them. */
const sent = new WeakMap<Walk, Map<string, { readonly body: object; readonly session: Session }>>();

const repeat: Way = {
	name: 'create under a key',
	weight: 5,
	go: async (walk) => {
		const caller = pickPerson(walk);
		const { owner, user } = caller;
		const name = walk.choose(...chats);
		const known = sent.get(walk) ?? new Map<string, { body: object; session: Session }>();
		sent.set(walk, known);
		const place = JSON.stringify([owner, user, name]);
		const before = known.get(place);
		const first = before?.session.isGone === false ? before : undefined;
		const message = write(walk, caller, 'witness');
		const isOther = first !== undefined && walk.chance(30);
		const body = first !== undefined && !isOther ? first.body : { agent: 'walker', text: message.text };
		const outcome = isOther && judge(caller, 'createSession') === 'ok' ? 409 : judge(caller, 'createSession');
		const ask = () =>
			walk.ask(caller, '/v1/sessions', { body, headers: { 'idempotency-key': name }, only: { owner, user } });
		if (outcome !== 'ok') {
			await refused(
				walk,
				'create under a key',
				first && { id: first.session.id, session: first.session },
				outcome,
				ask,
			);
			return true;
		}
		const answer = await ask();
		walk.expect('create under a key', answer, 'ok');
		const { id } = answer.json<{ id: string }>();
		if (first !== undefined) {
			walk.check(id === first.session.id, `A request that came again made ${id} beside ${first.session.id}`);
			walk.check(seen.models.length === 0, 'A request that came again began a run');
			addToken(walk, answer, first.session, caller.actor);
			return true;
		}
		const session = addSession(walk, id, { owner, user, createdBy: caller.actor });
		addToken(walk, answer, session, caller.actor);
		known.set(place, { body, session });
		await said(walk, session, caller, message);
		return true;
	},
};

export const making: readonly Way[] = [create, repeat];
