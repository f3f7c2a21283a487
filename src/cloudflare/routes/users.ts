import type { Context } from 'hono';
import { toBase64 } from '../../core/base/bytes.ts';
import { check } from '../../core/base/check.ts';
import { RunletError } from '../../core/base/errors.ts';
import type { Runtime } from '../agent/runtime.ts';
import { userName } from '../auth/rights.ts';
import { readConfig } from '../config/config.ts';
import { askAll, listSessions as listAll } from '../objects/directory/all.ts';
import { askDirectory } from '../objects/directory/api.ts';
import { askRegistry, isEntryOf } from '../objects/directory/registry.ts';
import { askUserLedger, eraseUser, listDays, listParts } from '../objects/ledger/owner.ts';
import { askMemory, listAllMemories, showMemory } from '../objects/memory/api.ts';
import { type Bytes, takeValue } from '../objects/reach.ts';
import { showSchedule } from '../objects/schedule-api.ts';
import type { Caller } from '../objects/session-api.ts';
import { listShards } from '../objects/shards.ts';
import * as endpoints from '../wire/endpoints/users.ts';
import { getActor, getListedOwner, getOwner, getPerson, isAdmin, type RouteEnv } from './identity.ts';
import { mount } from './request.ts';
import { askOneSession, orGone, toStream } from './respond.ts';
import { showPart } from './usage.ts';

type Ctx = Context<RouteEnv>;
type Parts = Pick<Runtime, 'memory' | 'schedules' | 'uploads'>;

interface Person {
	readonly owner: string;
	readonly user: string;
}

/** `/v1/users`: exports and erases a person of the owner, and sets their budget (docs/customers.md). */
export function createUserRoutes(parts: Parts) {
	return [
		mount(endpoints.getUser, (c) => {
			const person = findPerson(c, c.req.valid('query').owner);
			return new Response(toStream(writeExport(c, person, parts)), {
				headers: {
					'content-type': 'application/json',
					'content-disposition': 'attachment; filename="user.json"',
					'cache-control': 'no-store',
				},
			});
		}),
		mount(endpoints.eraseUser, async (c) => c.json(await erase(c, findPerson(c), parts))),
		mount(endpoints.getUserBudget, async (c) => {
			const person = findPerson(c, c.req.valid('query').owner);
			return c.json(await askUserLedger(readConfig(c.env), person, (one) => one.userState(person.user)));
		}),
		mount(endpoints.setUserBudget, async (c) => {
			const person = findPerson(c);
			const caps = c.req.valid('json');
			const ledgers = readConfig(c.env);
			await askUserLedger(ledgers, person, (one) => one.setUserCaps(person.user, caps));
			return c.json(await askUserLedger(ledgers, person, (one) => one.userState(person.user)));
		}),
	];
}

function findPerson(c: Ctx, requested?: string): Person {
	const owner = requested === undefined ? getOwner(c) : getListedOwner(c, requested);
	return { owner, user: check(userName, c.req.param('user'), 'user') };
}

const byAgentAndModel = new Set(['agent', 'model']);
const mostDays = 400;
const atOnce = 50;

/** Writes all data of a person in pieces. A failure breaks the stream, so a partial export is not valid JSON. */
async function* writeExport(c: Ctx, person: Person, parts: Parts): AsyncGenerator<string | Uint8Array> {
	const { owner, user } = person;
	const ledgers = readConfig(c.env);
	const [budget, usage, spent] = await Promise.all([
		askUserLedger(ledgers, person, (one) => one.userState(user)),
		listDays(ledgers, person, mostDays),
		listParts(ledgers, person, { by: ['agent', 'model'], count: mostDays }),
	]);
	const spending = spent.map((part) => showPart(part, byAgentAndModel));
	const { jurisdiction } = readConfig(c.env).findOwnerPlace(owner);
	const head = { owner, user, jurisdiction, budget, usage, spending, schedules: await listSchedules(c, person, parts) };
	yield JSON.stringify(head).slice(0, -1);
	yield ',"memories":[';
	yield* separate(writeMemories(c, person, parts));
	yield '],"files":[';
	yield* separate(writeFiles(c, person, parts));
	yield '],"sessions":[';
	yield* separate(writeSessions(c, person));
	yield ']}\n';
}

/** Puts commas between the entries. */
async function* separate(entries: AsyncIterable<string | Bytes>): AsyncGenerator<string | Uint8Array> {
	let separator = '';
	for await (const entry of entries) {
		if (separator !== '') yield separator;
		separator = ',';
		if (typeof entry === 'string') yield entry;
		else yield* entry;
	}
}

/** Yields the sessions of a person and their child sessions, each once. */
async function* listSessions(c: Ctx, { owner, user }: Person): AsyncGenerator<string> {
	const seen = new Set<string>();
	let cursor: string | undefined;
	do {
		const page = await listAll(readConfig(c.env), [owner], { user, limit: atOnce, cursor, withHidden: true });
		for (const waiting = page.sessions.map(({ id }) => id); waiting.length > 0; ) {
			const id = waiting.shift() ?? '';
			if (seen.has(id)) continue;
			seen.add(id);
			yield id;
			const state = await orGone(askOneSession(c, toId(c, id), (one) => one.state(getReader(c)), true));
			waiting.push(...(state?.children ?? []).map((child) => child.id));
		}
		cursor = page.cursor;
	} while (cursor !== undefined);
}

async function* writeSessions(c: Ctx, person: Person): AsyncGenerator<Bytes> {
	for await (const id of listSessions(c, person)) {
		const body = await orGone(askOneSession(c, toId(c, id), (one) => one.export(getReader(c), 'json'), true));
		if (body !== undefined) yield body;
	}
}

/** A caller with the scope admin can read the sessions of all owners. */
function getReader(c: Ctx): Caller {
	return isAdmin(c) ? { owner: getOwner(c), by: getActor(c), isAdmin: true } : getPerson(c);
}

async function listSchedules(c: Ctx, { owner, user }: Person, { schedules }: Parts) {
	if (schedules === undefined) return [];
	const all = await askAll(listDirectories(c, { owner, user }), async (name) =>
		takeValue(await askDirectory(readConfig(c.env).directories, name, (one) => one.listSchedules())),
	);
	return all.filter((one) => one.user === user).map(showSchedule);
}

async function* writeMemories(c: Ctx, person: Person, { memory }: Parts) {
	if (memory === undefined) return;
	const all = listAllMemories(readConfig(c.env).memories, person);
	for await (const one of all) yield JSON.stringify(showMemory(one));
}

async function* writeFiles(c: Ctx, person: Person, { uploads }: Parts) {
	if (uploads === undefined) return;
	for await (const { user: _, content, createdAt, ...one } of uploads.listAll(readConfig(c.env), person))
		yield JSON.stringify({ ...one, createdAt: new Date(createdAt).toISOString(), content: toBase64(content) });
}

/** How many sessions a request erases at most, because a request can make only a limited number of calls. */
const mostErased = 300;

/** Erases sessions, logins, files, memories, and the name in the spending. After a failure the next request continues. */
async function erase(c: Ctx, person: Person, { memory, uploads }: Parts) {
	const { user } = person;
	const { directories } = readConfig(c.env);
	let sessions = 0;
	for (const name of listDirectories(c, person)) {
		for (;;) {
			const page = await askDirectory(directories, name, (one) => one.list({ user, limit: atOnce, withHidden: true }));
			for (const { id } of page.sessions) {
				await eraseSession(c, id);
				// The session also removes itself from the list, but possibly later.
				await askDirectory(directories, name, (one) => one.remove(id));
				sessions++;
			}
			if (page.sessions.length === 0) break;
			if (sessions >= mostErased) return { user, sessions, isDone: false };
		}
	}
	await eraseLogins(c, person);
	await eraseUser(readConfig(c.env), person);
	await uploads?.erase(readConfig(c.env), person);
	if (memory !== undefined) await askMemory(readConfig(c.env).memories, person, (one) => one.erase(), true);
	return { user, sessions, isDone: true };
}

/** Erases a session and its child sessions, which belong to the same person. A child is erased with its parent. */
async function eraseSession(c: Ctx, id: string): Promise<void> {
	try {
		await orGone(askOneSession(c, toId(c, id), (one) => one.delete(getPerson(c)), true));
	} catch (error) {
		const parent = error instanceof RunletError && error.code === 'conflict' ? error.data?.parent : undefined;
		if (typeof parent !== 'string') throw error;
		await eraseSession(c, parent);
	}
}

async function eraseLogins(c: Ctx, { owner, user }: Person): Promise<void> {
	const { directories } = readConfig(c.env);
	const logins = await askRegistry(directories, owner, (one) => one.listEntries('mcp-login'));
	for (const { name } of logins)
		if (isEntryOf(user, name)) await askRegistry(directories, owner, (one) => one.removeEntry('mcp-login', name));
}

/** Lists the directories that can have sessions of a person. */
function listDirectories(c: Ctx, { owner, user }: Person): readonly string[] {
	return listShards(owner, readConfig(c.env).findShardCount(owner), user);
}

function toId(c: Ctx, id: string): DurableObjectId {
	return readConfig(c.env).sessions.idFromString(id);
}
