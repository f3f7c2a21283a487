/** Wake-ups of sessions, and copies from exports. */
import { env, runDurableObjectAlarm } from 'cloudflare:test';
import { readConfig } from '../../../../../src/cloudflare/config/config.ts';
import { askDirectory } from '../../../../../src/cloudflare/objects/directory/api.ts';
import { takeValue } from '../../../../../src/cloudflare/objects/reach.ts';
import { armSchedules } from '../../../../../src/cloudflare/schedules/arm.ts';
import { setClock } from '../../../../clock.ts';
import { dawns, seen, walkers } from '../agents.ts';
import { pickCaller, pickTarget } from '../choose.ts';
import { mostTries, settle } from '../look.ts';
import { observe } from '../observe.ts';
import { listMarks, makeMark, owners, type Person, replaceMarks, users } from '../persons.ts';
import { isIdle, judge, type PersonCaller, type Session, toSpeaker } from '../truth.ts';
import type { Walk } from '../walk.ts';
import { addSession, addToken, noteSaid, refused, type SessionWay, toPerson, type Way } from './way.ts';

const hour = 3_600_000;
const tenants = ['walk-a', 'walk-b'] as const;

/** Gives the tenants the schedules of the agents, which another test may have changed. */
export async function arm(): Promise<void> {
	const config = readConfig({ ...env });
	for (const owner of tenants)
		takeValue(await askDirectory(config.directories, owner, (one) => one.setAgentSchedules([])));
	await armSchedules(walkers, () => config);
}

/** Sets the clock of ledgers and schedules. This clock never goes back. */
export function tick(walk: Walk): void {
	setClock(new Date(Date.now() + walk.ahead).toISOString());
}

export const planning: readonly SessionWay[] = [
	{
		name: 'plan a wake-up',
		isInRoute: false,
		weight: 5,
		right: 'manageSession',
		refusal: 'change',
		when: ({ naps }) => naps.size === 0,
		make: ({ walk, target, person }) => {
			const mark = makeMark(person);
			const at = new Date(Date.now() + walk.ahead + 600_000).toISOString();
			return {
				path: '/v1/schedules',
				body: { session: target.id, name: `nap-${mark.slice(9)}`, text: `#witness ${mark}`, at },
			};
		},
		after: async ({ caller, session, asked }) => {
			const { name, text } = Object(asked.body);
			session.naps.set(listMarks(text)[0] ?? '', { name, askers: [toSpeaker(caller, session)] });
		},
	},
	{
		name: 'cancel a wake-up',
		isInRoute: false,
		weight: 2,
		right: 'manageSession',
		when: ({ naps }) => naps.size > 0,
		make: ({ target, session }) => {
			const [nap] = session?.naps.values() ?? [];
			return { path: `/v1/schedules/session.${target.id}.${nap?.name ?? 'nap'}`, method: 'DELETE' };
		},
		after: async ({ session }) => {
			const [first] = session.naps.keys();
			if (first !== undefined) session.naps.delete(first);
		},
	},
];

interface Schedules {
	readonly schedules: readonly {
		readonly name: string;
		readonly agent?: string;
		readonly session?: string;
		readonly last?: { readonly sessionId?: string };
	}[];
}

const list: Way = {
	name: 'list wake-ups',
	weight: 2,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const { id, session: meant } = walk.chance(60) ? pickTarget(walk, caller) : {};
		const answer = await walk.ask(caller, `/v1/schedules${id === undefined ? '' : `?session=${id}`}`, { only: meant });
		const outcome = judge(caller, 'manageSession');
		walk.expect('list wake-ups', answer, outcome);
		if (outcome !== 'ok') return true;
		for (const { session = '' } of answer.json<Schedules>().schedules) {
			const owner = walk.find(session)?.owner ?? toPerson(caller)?.owner;
			walk.check(owner === toPerson(caller)?.owner, `A wake-up of a session of ${owner} is listed`);
			walk.check(id === undefined || session === id, `A wake-up of ${session} is listed for ${id}`);
		}
		return true;
	},
};

/** Lets an hour pass, which wakes exactly the sessions that are due. */
const pass: Way = {
	name: 'let time pass',
	weight: 6,
	go: async (walk) => {
		const known = dawns.flatMap((dawn) => findDawn(walk, dawn) ?? []);
		const asleep = walk.sessions.filter(({ isGone, naps }) => !isGone && naps.size > 0);
		if (![...asleep, ...known].every(isIdle)) return false;
		// The order of two simultaneous messages is unknown.
		for (const session of known) await cancelNaps(walk, session, 0);
		for (const session of asleep) await cancelNaps(walk, session, 1);
		const sleeping = asleep.filter(({ naps }) => naps.size > 0);
		walk.ahead += hour + 60_000;
		tick(walk);
		const marks = new Set([...sleeping.flatMap(({ naps }) => [...naps.keys()]), ...dawns.map(({ mark }) => mark)]);
		for (const session of sleeping)
			for (const [mark, { askers }] of session.naps) noteSaid(walk, session, mark, askers);
		for (const owner of owners) await runDurableObjectAlarm(env.DIRECTORIES.get(env.DIRECTORIES.idFromName(owner)));
		for (const owner of tenants) await noteDawns(walk, owner);
		const isWitnessed = (mark: string) => seen.tools.some((told) => told.marks.includes(mark));
		for (let tries = 0; ![...marks].every(isWitnessed); tries++) {
			walk.check(tries < mostTries, `Nobody was woken by ${[...marks].filter((mark) => !isWitnessed(mark))}`);
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
		for (const session of new Set([...sleeping, ...dawns.flatMap((dawn) => findDawn(walk, dawn) ?? [])]))
			await settle(walk, session);
		const { tools } = await observe(walk);
		walk.check(tools.length === marks.size, `${tools.length} calls came of ${marks.size} wake-ups`);
		for (const session of sleeping) session.naps.clear();
		walk.count('let time pass', true);
		return true;
	},
};

/** Cancels all but some wake-ups of a session. */
async function cancelNaps(walk: Walk, { id, owner, naps }: Session, kept: number): Promise<void> {
	for (const [mark, { name }] of [...naps].slice(kept)) {
		const answer = await walk.ask(findAdmin(walk, owner), `/v1/schedules/session.${id}.${name}`, { method: 'DELETE' });
		walk.check(answer.status === 204, `An admin could not cancel: ${answer.text}`);
		naps.delete(mark);
	}
}

function findAdmin(walk: Walk, owner: string): PersonCaller {
	return walk.people.find((one) => one.owner === owner && one.role === 'admin') ?? walk.operator;
}

type Dawn = (typeof dawns)[number];

function findDawn(walk: Walk, { owner, name }: Dawn): Session | undefined {
	const session = walk.find(walk.names.get(`${owner} ${name}`) ?? '');
	return session?.isGone === false ? session : undefined;
}

/** Notes the sessions that the agents' own schedules have woken. */
async function noteDawns(walk: Walk, owner: (typeof tenants)[number]): Promise<void> {
	const { schedules } = (await walk.ask(findAdmin(walk, owner), '/v1/schedules')).json<Schedules>();
	for (const dawn of dawns.filter((one) => one.owner === owner)) {
		const { user, name, mark } = dawn;
		const id = schedules.find((one) => one.agent === 'walker' && one.name === name)?.last?.sessionId ?? '';
		const by = { owner, ...(user !== undefined && { user }), via: 'schedule', id: name } as const;
		const before = findDawn(walk, dawn);
		walk.check(before === undefined || before.id === id, `${name} of ${owner} woke ${id}, and before ${before?.id}`);
		const session = before ?? addSession(walk, id, { owner, user, createdBy: by });
		walk.names.set(`${owner} ${name}`, id);
		noteSaid(walk, session, mark, [by]);
	}
}

/** Imports the export of any session for a person. The copy has its history, and no rights of the first owner. */
const bring: Way = {
	name: 'import a session',
	weight: 4,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const alive = walk.sessions.filter(({ isGone, status }) => !isGone && status !== 'running');
		const failed = walk.chance(50) ? walk.pick(alive.filter(({ status }) => status === 'error')) : undefined;
		const from = failed ?? walk.pick(alive);
		if (from === undefined) return false;
		const outcome = judge(caller, 'importSession');
		const user = walk.chance(60) ? walk.pick(users) : undefined;
		const own = toPerson(caller);
		const person: Person | undefined = own && { owner: own.owner, user: user ?? own.user };
		const exported = await walk.ask(walk.operator, `/v1/sessions/${from.id}/export`, {
			headers: { accept: 'application/x-ndjson' },
			isForOperators: true,
		});
		const body = disguise(exported.text, makeMark(outcome === 'ok' ? person : own));
		const ask = () =>
			walk.ask(caller, `/v1/sessions/import${user === undefined ? '' : `?user=${user}`}`, {
				method: 'POST',
				body,
				headers: { 'content-type': 'application/x-ndjson' },
				only: person,
			});
		if (outcome !== 'ok' || person === undefined || caller.kind !== 'person') {
			await refused(walk, 'import a session', { id: from.id, session: from }, outcome, ask);
			return true;
		}
		const answer = await ask();
		walk.expect('import a session', answer, 'ok');
		const metadata = JSON.parse(replaceMarks(JSON.stringify(from.metadata), listMarks(body)[0] ?? ''));
		const file = from.file === undefined ? undefined : listMarks(body)[0];
		const about = { ...person, agent: from.agent, metadata, file, createdBy: caller.actor };
		const session = addSession(walk, answer.json<{ id: string }>().id, about);
		session.askedBy = caller.actor;
		session.askers = [caller.actor];
		addToken(walk, answer, session, caller.actor);
		await settle(walk, session);
		// Its run fails once more, because its text is new.
		for (let tries = 0; tries < 2 && session.status === 'error'; tries++) {
			const headers = { prefer: 'respond-async' };
			await walk.ask(caller, `/v1/sessions/${session.id}/continue`, { method: 'POST', headers, only: person });
			await settle(walk, session);
			await observe(walk);
		}
		return true;
	},
};

/** Changes the actors of an export to somebody else, with texts of the importer. */
function disguise(lines: string, mark: string): string {
	const by = { owner: 'walk-b', user: 'max', via: 'key', id: 'forged' };
	return lines
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => {
			const record = JSON.parse(replaceMarks(line, mark));
			if (record.session !== undefined) Object.assign(record.session, { owner: by.owner, user: by.user });
			if (record.message?.stored?.inbound !== undefined)
				Object.assign(record.message.stored.inbound, { by, askers: [by] });
			if (record.file !== undefined) record.file.base64 = btoa(replaceMarks(atob(record.file.base64), mark));
			return `${JSON.stringify(record)}\n`;
		})
		.join('');
}

export const waking: readonly Way[] = [list, pass, bring];
