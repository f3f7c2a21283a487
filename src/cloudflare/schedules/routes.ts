import type { Context } from 'hono';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { readConfig } from '../config/config.ts';
import { askAll } from '../objects/directory/all.ts';
import { askDirectory, type DirectoryApi } from '../objects/directory/api.ts';
import { takeValue } from '../objects/reach.ts';
import { type StoredSchedule, showSchedule, type WakeTarget } from '../objects/schedule-api.ts';
import { listShards } from '../objects/shards.ts';
import { getOwner, getPerson, type RouteEnv } from '../routes/identity.ts';
import { mount } from '../routes/request.ts';
import { askSession } from '../routes/respond.ts';
import { toSpeaker } from '../session/store/inbound.ts';
import * as endpoints from '../wire/endpoints/schedules.ts';
import { assertTime } from './time.ts';

type Ctx = Context<RouteEnv>;

/** How long a schedule that runs now may take until its run has begun, in milliseconds. Its function may be slow. */
const longestMs = 60_000;

/** `/v1/schedules`: the schedules of an owner's agents and sessions (docs/schedules.md). */
export const scheduleRoutes = [
	mount(endpoints.listSchedules, async (c) => {
		const { session, cursor, limit } = c.req.valid('query');
		const after = cursor === undefined ? undefined : parseId(cursor);
		const found = await askEach(c, async (one) =>
			takeValue(await one.listSchedules({ session, after, limit: limit + 1 })),
		);
		const schedules = found.sort(compare).slice(0, limit).map(showSchedule);
		return c.json({ schedules, ...(found.length > limit && { cursor: schedules.at(-1)?.id }) });
	}),
	mount(endpoints.putSchedule, async (c) => {
		const { session, name, text, ...time } = c.req.valid('json');
		assertTime(time, Date.now());
		const { sessions, directories } = readConfig(c.env);
		const { owner, by } = getPerson(c);
		const id = parseSession(c, session);
		const place = await askSession(c, sessions.idFromString(id), (one) => one.place({ owner }), true);
		const { directory, parent, user } = place;
		if (parent !== undefined) throw createBusy(parent);
		const target = { kind: 'session', session: id } as const;
		const schedule = { owner, user, target, name, time, text, askers: [toSpeaker(by, { owner, user })] };
		const stored = await askDirectory(directories, directory, (one) => one.putSchedule(schedule));
		return c.json(showSchedule(takeValue(stored)), 201);
	}),
	mount(endpoints.runSchedule, async (c) => {
		const { target, name } = parseId(c.req.param('id'));
		const { by } = getPerson(c);
		const now = { at: Date.now(), by, request: crypto.randomUUID() };
		const run = async (one: DirectoryApi) => [takeValue(await one.runSchedule(target, name, now))];
		const found = await askEach(c, run, longestMs);
		const woken = found.find((one) => one !== undefined);
		if (woken === undefined) throw noSuchSchedule();
		return c.json(woken);
	}),
	mount(endpoints.cancelSchedule, async (c) => {
		const { target, name } = parseId(c.req.param('id'));
		if (target.kind === 'agent')
			throw new RunletError(
				'conflict',
				`id: the schedule ${name} stands in the code of ${target.agent}. Remove it there.`,
			);
		const found = await askEach(c, async (one) => [takeValue(await one.cancelSchedule(target, name))]);
		if (!found.includes(true)) throw noSuchSchedule();
		return c.body(null, 204);
	}),
];

/** Asks each directory of the owner. */
function askEach<T>(c: Ctx, call: (one: DirectoryApi) => Promise<readonly T[]>, timeoutMs?: number): Promise<T[]> {
	const owner = getOwner(c);
	const { directories, findShardCount } = readConfig(c.env);
	return askAll(listShards(owner, findShardCount(owner)), (name) => askDirectory(directories, name, call, timeoutMs));
}

/** Compares schedules by their targets and names, as each directory sorts them. */
function compare(a: StoredSchedule, b: StoredSchedule): number {
	return toPlace(a) < toPlace(b) ? -1 : 1;
}

function toPlace({ target, name }: StoredSchedule): string {
	return [target.kind, target.kind === 'agent' ? target.agent : target.session, name].join(' ');
}

function parseSession(c: Ctx, session: string): string {
	try {
		return readConfig(c.env).sessions.idFromString(session).toString();
	} catch {
		throw createFieldError('not_found', 'session', 'there is no such session.');
	}
}

/** A child session ends with its task, so nothing wakes it. */
function createBusy(parent: string): RunletError {
	const message = `session: this one works for the session ${parent}, and ends with its task. Give that one.`;
	return new RunletError('conflict', message, { field: 'session', parent });
}

function parseId(id: string): { readonly target: WakeTarget; readonly name: string } {
	const [kind, of = '', name = '', ...rest] = id.split('.');
	if (name === '' || rest.length > 0) throw noSuchSchedule();
	if (kind === 'agent') return { target: { kind, agent: of }, name };
	if (kind === 'session') return { target: { kind, session: of }, name };
	throw noSuchSchedule();
}

function noSuchSchedule(): RunletError {
	return new RunletError('not_found', 'There is no such schedule. GET /v1/schedules has the ids.');
}
