/** Requests that change a session: its files, its name, its budget, its tokens and its copies. */
import type { Actor } from '../../../../../src/core/base/actor.ts';
import { toCaller } from '../choose.ts';
import { settle } from '../look.ts';
import { observe } from '../observe.ts';
import { makeMark, toName } from '../persons.ts';
import { toActor } from '../truth.ts';
import { addSession, addToken, type SessionWay, toPath } from './way.ts';

export const keeping: readonly SessionWay[] = [
	{
		name: 'write a file',
		weight: 4,
		right: 'sendMessage',
		refusal: 'change',
		make: ({ target, person }) => ({
			path: toPath(target.id, '/files/notes.md'),
			method: 'PUT',
			body: `Notes ${makeMark(person)}`,
		}),
		after: async ({ session, asked }) => {
			session.file = String(asked.body).slice('Notes '.length);
		},
	},
	{
		name: 'remove a file',
		weight: 2,
		right: 'sendMessage',
		refusal: 'change',
		when: ({ file }) => file !== undefined,
		make: ({ target }) => ({ path: toPath(target.id, '/files/notes.md'), method: 'DELETE' }),
		after: async ({ session }) => {
			session.file = undefined;
		},
	},
	{
		name: 'name a session',
		weight: 3,
		right: 'manageSession',
		refusal: 'change',
		make: ({ target, person }) => ({
			path: toPath(target.id),
			method: 'PATCH',
			body: { title: `Title ${makeMark(person)}` },
		}),
	},
	{
		name: 'raise a budget',
		weight: 3,
		right: 'manageSession',
		also: ['setBudget'],
		refusal: 'change',
		make: ({ target }) => ({ path: toPath(target.id), method: 'PATCH', body: { budget: { tokens: 9_000_000 } } }),
	},
	{
		name: 'delete a session',
		weight: 4,
		right: 'manageSession',
		refusal: 'change',
		isForOperators: true,
		make: ({ target }) => ({ path: toPath(target.id), method: 'DELETE' }),
		after: async ({ walk, session }) => {
			walk.drop(session);
			const after = await walk.ask(walk.operator, toPath(session.id), { isForOperators: true });
			walk.check(after.status === 404, `A session that was deleted answers ${after.status}`);
		},
	},
	{
		name: 'make a token',
		weight: 7,
		right: 'manageSession',
		make: ({ walk, target, session }) => {
			const scopes = walk.choose<readonly string[] | undefined>(
				undefined,
				['read'],
				['read', 'approve'],
				['message'],
				['read', 'message', 'approve'],
			);
			const holder = walk.choose(undefined, undefined, 'kim', 'lee');
			const user = walk.chance(40) ? session?.user : undefined;
			return { path: toPath(target.id, '/token'), body: { scopes, for: holder, user }, holder };
		},
		after: async ({ walk, caller, session, answer, asked }) =>
			addToken(walk, answer, session, toActor(caller, session), asked.holder),
	},
	{
		name: 'make a token for another user',
		weight: 2,
		right: 'manageSession',
		make: ({ target, session }) => ({
			path: toPath(target.id, '/token'),
			body: { user: session?.user === 'max' ? 'lee' : 'max' },
		}),
		fails: 400,
	},
	{
		name: 'revoke a token',
		weight: 3,
		right: 'manageSession',
		when: () => true,
		make: ({ walk, target, session }) => {
			const revoked = walk.pick(walk.tokens.filter((one) => one.session === session && !one.isRevoked));
			if (revoked === undefined) return undefined;
			return { path: toPath(target.id, `/token/${revoked.id}`), method: 'DELETE', revoked };
		},
		after: async ({ walk, asked: { revoked } }) => {
			if (revoked === undefined) return;
			revoked.isRevoked = true;
			const after = await walk.ask(toCaller(revoked, false), toPath(revoked.session.id));
			walk.check(after.status === 401, `A token that was revoked is answered ${after.status}`);
		},
	},
	{
		name: 'fork a session',
		weight: 3,
		right: 'manageSession',
		make: ({ target }) => ({ path: toPath(target.id, '/fork'), body: {} }),
		after: async ({ walk, caller, session, answer }) => {
			const by: Actor = toActor(caller, session);
			const { id, user } = answer.json<{ id: string; user?: string }>();
			walk.check(user === session.user, `The fork of a session of ${toName(session)} belongs to ${user}`);
			const fork = addSession(walk, id, session);
			fork.askedBy = by;
			fork.askers = [by];
			addToken(walk, answer, fork, by);
			await settle(walk, fork);
			await observe(walk);
		},
	},
];
