/** Checks everything at once: lists are complete, and each person has their own sessions and charges. */
import { runDurableObjectAlarm } from 'cloudflare:test';
import { readObject } from '../../../client.ts';
import { spent } from './agents.ts';
import { listMarks, toName, users } from './persons.ts';
import type { Session } from './truth.ts';
import type { Walk } from './walk.ts';

const tenants = ['walk-a', 'walk-b'] as const;

/** Compares all lists, exports and charges with the model. */
export async function checkAll(walk: Walk): Promise<void> {
	for (const session of walk.sessions.filter(({ isGone }) => !isGone))
		await runDurableObjectAlarm(readObject(session.id));
	for (const owner of tenants) {
		await inTime(walk, () => checkList(walk, owner));
		await inTime(walk, () => checkInbox(walk, owner));
		for (const user of users) {
			await inTime(walk, () => checkExport(walk, owner, user));
			await inTime(walk, () => checkSpending(walk, owner, user));
		}
	}
}

/** Repeats a check until it passes, because reports may be late. Throws the last failure. */
async function inTime(walk: Walk, check: () => Promise<void>): Promise<void> {
	for (let tries = 0; ; tries++) {
		try {
			return await check();
		} catch (error) {
			if (tries >= 100) throw error;
			walk.said.length = 0;
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
	}
}

const reader = (walk: Walk, owner: string) =>
	walk.people.find((one) => one.owner === owner && one.role === 'admin' && one.user === undefined) ?? walk.operator;

/** The ids of the listed sessions of an owner: those without a parent, and background children. */
const isListed = (owner: string) => (one: Session) =>
	!one.isGone && one.owner === owner && (one.parent === undefined || one.isBackground === true);

async function* listPages<T>(walk: Walk, owner: string, path: string, field: string): AsyncGenerator<T> {
	for (let cursor: string | undefined = ''; cursor !== undefined; ) {
		const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
		const answer = await walk.ask(reader(walk, owner), `${path}?limit=100${query}`);
		const page = answer.json<{ cursor?: string; [field: string]: unknown }>();
		yield* page[field] as T[];
		cursor = page.cursor;
	}
}

function same(walk: Walk, what: string, found: readonly string[], known: readonly string[]): void {
	const more = found.filter((one) => !known.includes(one));
	const less = known.filter((one) => !found.includes(one));
	walk.check(more.length + less.length === 0, `${what}: has ${more.join()} and has not ${less.join()}`);
}

async function checkList(walk: Walk, owner: string): Promise<void> {
	const listed = await Array.fromAsync(
		listPages<{ id: string; user?: string }>(walk, owner, '/v1/sessions', 'sessions'),
	);
	const known = walk.sessions.filter(isListed(owner));
	const toText = ({ id, user }: { id: string; user?: string }) => `${id} of ${user}`;
	same(walk, `The sessions of ${owner}`, listed.map(toText), known.map(toText));
}

async function checkInbox(walk: Walk, owner: string): Promise<void> {
	type Entry = { sessionId: string; user?: string; callId: string };
	const listed = await Array.fromAsync(listPages<Entry>(walk, owner, '/v1/approvals', 'approvals'));
	const known = walk.sessions.filter(isListed(owner)).flatMap(({ id, user, calls, question }) => {
		const asked = question === undefined ? [] : [{ sessionId: id, user, callId: question.callId }];
		return [...asked, ...calls.map((call) => ({ sessionId: id, user, callId: call.id }))];
	});
	const toText = ({ sessionId, user, callId }: Entry) => `${callId} in ${sessionId} of ${user}`;
	same(walk, `The inbox of ${owner}`, listed.map(toText), known.map(toText));
}

async function checkExport(walk: Walk, owner: string, user: string): Promise<void> {
	const only = { owner, user };
	const { sessions, memories, schedules } = (await walk.ask(reader(walk, owner), `/v1/users/${user}`, { only })).json<{
		sessions: { session: { id: string } }[];
		memories: { text: string }[];
		schedules: { session?: string; nextAt?: string }[];
	}>();
	const theirs = walk.sessions.filter((one) => !one.isGone && toName(one) === toName(only));
	const ids = sessions.map(({ session }) => session.id);
	same(
		walk,
		`The export of ${toName(only)}`,
		ids,
		theirs.map(({ id }) => id),
	);
	const marks = memories.flatMap(({ text }) => listMarks(text));
	same(walk, `The memories of ${toName(only)}`, marks, [...(walk.memories.get(toName(only)) ?? [])]);
	const waking = schedules.flatMap(({ session, nextAt }) =>
		session !== undefined && nextAt !== undefined ? [session] : [],
	);
	same(
		walk,
		`The wake-ups of ${toName(only)}`,
		waking,
		theirs.flatMap(({ id, naps }) => [...naps.keys()].map(() => id)),
	);
}

async function checkSpending(walk: Walk, owner: string, user: string): Promise<void> {
	const { total } = (await walk.ask(reader(walk, owner), `/v1/users/${user}/budget`)).json<{
		total: { spent: { tokens: number }; reserved: { tokens: number } };
	}>();
	const known = spent.get(toName({ owner, user })) ?? 0;
	const text = `${toName({ owner, user })} was charged ${JSON.stringify(total)}, and the model was paid ${known}`;
	walk.check(total.spent.tokens === known && total.reserved.tokens === 0, text);
}
