/** Requests about people: their lists, inboxes, spending, memories and budgets. */
import { spent } from '../agents.ts';
import { pickCaller, pickPerson } from '../choose.ts';
import { look, settle } from '../look.ts';
import { observe } from '../observe.ts';
import { makeMark, type Person, toName, users } from '../persons.ts';
import { type Caller, isOperator, judge, type Outcome, type PersonCaller, type Right, toSpeaker } from '../truth.ts';
import type { Answer, Walk } from '../walk.ts';
import { forgetFiles } from './files.ts';
import { addSession, follow, noteSaid, refused, remember, toPerson, type Way, write } from './way.ts';

/** Returns the outcome of a request that may name a user or another owner. */
function judgeList(
	caller: Caller,
	right: Right,
	{ user, owner }: { readonly user?: string; readonly owner?: string },
): Outcome {
	const outcome = judge(caller, right, true);
	if (outcome !== 'ok' || caller.kind !== 'person') return outcome;
	if (right === 'listSessions' && caller.role === 'customer' && user !== undefined && user !== caller.user) return 403;
	return owner === undefined || owner === caller.owner || isOperator(caller) ? 'ok' : 403;
}

interface Listing {
	readonly name: string;
	readonly weight: number;
	readonly right: Right;
	readonly path: string;
	/** Whether the request may ask for all owners. */
	readonly takesAll?: boolean;
	readonly see?: (
		walk: Walk,
		answer: Answer,
		about: { readonly caller: PersonCaller; readonly person: Partial<Person> },
	) => void;
}

/** Creates the way of a list, with or without a user and an owner. */
function toListing({ name, weight, right, path, takesAll = false, see }: Listing): Way {
	const go = async (walk: Walk) => {
		const caller = pickCaller(walk);
		const user = walk.chance(55) ? walk.pick(users) : undefined;
		const owners = ['walk-a', 'walk-b', ...(takesAll ? ['*'] : [])];
		const owner = walk.chance(isOperator(caller) ? 80 : 15) ? walk.pick(owners) : undefined;
		const outcome = judgeList(caller, right, { user, owner });
		const query = new URLSearchParams({ ...(user && { user }), ...(owner && { owner }) });
		const whose = { owner: owner ?? toPerson(caller)?.owner, user };
		const only = user !== undefined && whose.owner !== undefined && whose.owner !== '*';
		const answer = await walk.ask(caller, `${path}?${query}`, {
			isForOperators: true,
			...(only && { only: { owner: whose.owner ?? '', user } }),
		});
		walk.expect(name, answer, outcome);
		if (outcome === 'ok' && caller.kind === 'person') see?.(walk, answer, { caller, person: whose });
		return true;
	};
	return { name, weight, go };
}

interface Entry {
	readonly user?: string;
	readonly id?: string;
	readonly sessionId?: string;
}

/** Checks that each entry of a list belongs to a session of the named person, and may be seen. */
function seeEntries(
	walk: Walk,
	entries: readonly Entry[],
	{ caller, person }: { readonly caller: PersonCaller; readonly person: Partial<Person> },
): void {
	for (const { id, sessionId = id ?? '', user } of entries) {
		const session = walk.find(sessionId);
		// A removed session may be listed for a moment.
		if (session === undefined) continue;
		const { owner, user: own } = session;
		walk.check(user === own, `${sessionId} of ${own} is listed as that of ${user}`);
		if (person.user !== undefined) walk.check(own === person.user, `A list of ${person.user} has a session of ${own}`);
		if (person.owner !== '*') walk.check(owner === person.owner, `A list of ${person.owner} has a session of ${owner}`);
		if (caller.role === 'customer') walk.check(own === caller.user, `A customer ${caller.user} sees one of ${own}`);
	}
}

/** The spending of a day. */
interface Spending {
	readonly owner: string;
	readonly user?: string;
	readonly spent: { readonly tokens: number };
}

/** The tokens that the model got for a person, or for an owner. */
function sumPaid({ owner = '', user }: Partial<Person>): number {
	if (user !== undefined) return spent.get(toName({ owner, user })) ?? 0;
	const ofOwner = [...spent].filter(([name]) => name[0] === owner.at(-1));
	return ofOwner.reduce((sum, [, tokens]) => sum + tokens, 0);
}

const listings: readonly Listing[] = [
	{
		name: 'list sessions',
		weight: 12,
		right: 'listSessions',
		path: '/v1/sessions',
		takesAll: true,
		see: (walk, answer, about) => seeEntries(walk, answer.json<{ sessions: Entry[] }>().sessions, about),
	},
	{
		name: 'see the inbox',
		weight: 6,
		right: 'seeInbox',
		path: '/v1/approvals',
		takesAll: true,
		see: (walk, answer, about) => seeEntries(walk, answer.json<{ approvals: Entry[] }>().approvals, about),
	},
	{
		name: 'see the feedback',
		weight: 6,
		right: 'seeInbox',
		path: '/v1/feedback',
		takesAll: true,
		see: (walk, answer, about) => seeEntries(walk, answer.json<{ feedback: Entry[] }>().feedback, about),
	},
	{
		name: 'see what was spent',
		weight: 5,
		right: 'seeUsers',
		path: '/v1/usage',
		see: (walk, answer, { caller, person }) => {
			if (isOperator(caller) && person.owner === caller.owner) return;
			const { usage } = answer.json<{ usage: Spending[] }>();
			for (const { owner, user } of usage)
				walk.check(owner === person.owner && user === person.user, `Spending of ${owner}/${user} is shown`);
			// The cost of a run may be reported a moment later, and never exceeds the bill.
			const shown = usage.reduce((sum, day) => sum + day.spent.tokens, 0);
			const paid = sumPaid(person);
			walk.check(shown <= paid, `${person.owner}/${person.user} is shown ${shown} tokens, and paid ${paid}`);
		},
	},
	{ name: 'see memories', weight: 6, right: 'seeUsers', path: '/v1/memories' },
];

/** Returns the outcome of the question who one is, which needs no right. */
function judgeSelf(walk: Walk, caller: Caller): Outcome {
	if (caller.kind === 'stranger') return 401;
	if (caller.kind === 'person') return 'ok';
	const { token, isForged } = caller;
	const session = walk.find(token.session.id);
	if (session === undefined || session.isGone) return 404;
	// Another session may have the id of a removed session.
	return isForged || token.isRevoked || token.session !== session ? 401 : 'ok';
}

const others: readonly Way[] = [
	...(['/v1/tools', '/v1/mcp'] as const).map(
		(path): Way => ({
			name: `see ${path.slice(4)} of the owner`,
			weight: 1,
			go: async (walk) => {
				const caller = pickCaller(walk);
				walk.expect(`see ${path.slice(4)} of the owner`, await walk.ask(caller, path), judge(caller, 'setUp'));
				return true;
			},
		}),
	),
	{
		name: 'see who one is',
		weight: 2,
		go: async (walk) => {
			const caller = pickCaller(walk);
			const outcome = judgeSelf(walk, caller);
			const answer = await walk.ask(caller, '/v1/me');
			walk.expect('see who one is', answer, outcome);
			if (outcome !== 'ok') return true;
			const { owner, user } = answer.json<Partial<Person>>();
			const person = toPerson(caller);
			walk.check(
				caller.kind !== 'person' || (owner === person?.owner && user === person?.user),
				`${user} is another one`,
			);
			return true;
		},
	},
	{
		name: 'see keys',
		weight: 1,
		go: async (walk) => {
			const caller = pickCaller(walk);
			const outcome = caller.kind === 'stranger' ? 401 : isOperator(caller) ? 'ok' : 403;
			walk.expect('see keys', await walk.ask(caller, '/v1/keys'), outcome);
			return true;
		},
	},
	{
		name: 'write a memory',
		weight: 4,
		go: async (walk) => {
			const caller = pickCaller(walk);
			const user = walk.choose(...users);
			const outcome = judge(caller, 'manageUsers');
			const { owner } = toPerson(caller) ?? {};
			const person = outcome === 'ok' && owner !== undefined ? { owner, user } : toPerson(caller);
			const mark = makeMark(person);
			const path = `/v1/memories/${mark}.md?user=${user}`;
			const ask = () => walk.ask(caller, path, { method: 'PUT', body: { text: `Likes green tea ${mark}` } });
			if (outcome !== 'ok') await refused(walk, 'write a memory', undefined, outcome, ask);
			else {
				walk.expect('write a memory', await ask(), 'ok');
				if (person !== undefined) remember(walk, person, mark);
			}
			return true;
		},
	},
	{
		name: 'erase memories',
		weight: 1,
		go: async (walk) => {
			const caller = pickCaller(walk);
			const user = walk.choose(...users);
			const outcome = judge(caller, 'manageUsers');
			const ask = () => walk.ask(caller, `/v1/memories?user=${user}`, { method: 'DELETE' });
			if (outcome !== 'ok') await refused(walk, 'erase memories', undefined, outcome, ask);
			else {
				walk.expect('erase memories', await ask(), 'ok');
				walk.memories.delete(toName({ owner: toPerson(caller)?.owner ?? '', user }));
			}
			return true;
		},
	},
	{
		name: 'export a person',
		weight: 3,
		go: async (walk) => {
			const caller = pickCaller(walk);
			const user = walk.choose(...users);
			const { owner = 'walk-x' } = toPerson(caller) ?? {};
			const answer = await walk.ask(caller, `/v1/users/${user}`, { isForOperators: true, only: { owner, user } });
			walk.expect('export a person', answer, judge(caller, 'seeUsers', true));
			if (answer.status === 200) walk.check(answer.json<Person>().user === user, `The export is of another person`);
			return true;
		},
	},
	{
		name: 'erase a person',
		weight: 3,
		go: async (walk) => {
			const caller = pickCaller(walk);
			const user = walk.choose(...users);
			const outcome = judge(caller, 'manageUsers');
			// Few callers may do this, and it removes much.
			if (outcome === 'ok' && !walk.chance(50)) return false;
			const ask = () => walk.ask(caller, `/v1/users/${user}`, { method: 'DELETE' });
			if (outcome !== 'ok') await refused(walk, 'erase a person', undefined, outcome, ask);
			else await erase(walk, { owner: toPerson(caller)?.owner ?? '', user }, ask);
			return true;
		},
	},
	{ name: 'cap a person', weight: 2, go: cap },
];

async function erase(walk: Walk, person: Person, ask: () => Promise<Answer>): Promise<void> {
	const theirs = walk.sessions.filter((one) => !one.isGone && toName(one) === toName(person));
	for (let isDone = false; !isDone; ) {
		const answer = await ask();
		walk.expect('erase a person', answer, 'ok');
		forgetFiles(walk, person);
		({ isDone } = answer.json<{ isDone: boolean }>());
	}
	walk.memories.delete(toName(person));
	for (const session of theirs.filter(({ parent }) => parent === undefined)) {
		walk.drop(session);
		const after = await walk.ask(walk.operator, `/v1/sessions/${session.id}`, { isForOperators: true });
		walk.check(after.status === 404, `${session.id} of a person who was erased is there`);
	}
	for (const session of walk.sessions.filter((one) => !one.isGone)) await look(walk, session);
}

/** Spends the whole budget of a person, and checks that only this person is stopped. */
async function cap(walk: Walk): Promise<boolean> {
	const caller = pickCaller(walk);
	const user = walk.choose(...users);
	const outcome = judge(caller, 'manageUsers');
	const put = (body: object) => walk.ask(caller, `/v1/users/${user}/budget`, { method: 'PUT', body });
	if (outcome !== 'ok' || caller.kind !== 'person') {
		await refused(walk, 'cap a person', undefined, outcome, () => put({ daily: { tokens: 1 } }));
		return true;
	}
	if (caller.owner === 'walk-o') return false;
	walk.expect('cap a person', await put(walk.choose({ daily: { tokens: 1 } }, { total: { usd: 0.000_001 } })), 'ok');
	const other = walk.pick(users.filter((one) => one !== user));
	const neighbour = caller.owner === 'walk-a' ? 'walk-b' : 'walk-a';
	for (const person of [
		{ owner: caller.owner, user },
		{ owner: caller.owner, user: other },
		{ owner: neighbour, user },
	]) {
		const maker = pickPerson(walk, (one) => one.owner === person.owner && one.role !== 'customer');
		const message = write(walk, person, 'witness');
		const body = { agent: 'walker', user: person.user, text: message.text };
		const answer = await walk.ask(maker, '/v1/sessions', { body, headers: { prefer: 'respond-async' }, only: person });
		walk.check(answer.status === 202 || answer.status === 201, `cap a person: ${answer.status}`);
		const about = { ...person, createdBy: maker.actor };
		const session = addSession(walk, answer.json<{ id: string }>().id, about);
		noteSaid(walk, session, message.mark, [toSpeaker(maker, session)]);
		if (person.owner === caller.owner && person.user === user) {
			await settle(walk, session);
			const { models } = await observe(walk);
			walk.check(session.status === 'error' && models.length === 0, `The cap did not stop ${toName(person)}`);
		} else await follow(walk, session, message);
	}
	walk.expect('cap a person', await put({}), 'ok');
	return true;
}

export const about: readonly Way[] = [...listings.map(toListing), ...others];
