import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import type { ActiveSession } from '../../../src/cloudflare/agent/schedules.ts';
import { type Config, readConfig } from '../../../src/cloudflare/config/config.ts';
import { takeValue } from '../../../src/cloudflare/objects/reach.ts';
import type { StoredSchedule } from '../../../src/cloudflare/objects/schedule-api.ts';
import { armSchedules } from '../../../src/cloudflare/schedules/arm.ts';
import { OwnerScheduler } from '../../../src/cloudflare/schedules/scheduler.ts';
import { allEvents, createSession, readHistory, request, send } from '../../client.ts';
import { now, setClock } from '../../clock.ts';
import { createKeys } from '../../credentials.ts';
import { counted } from '../../rows.ts';
import { play } from '../../script.ts';
import worker, { runtime, writing } from '../../worker.ts';

/** The environment of the objects under test. */
const environment = { ...env };
const begin = '2030-03-04T06:00:00.000Z';
beforeEach(() => setClock(begin));
afterEach(() => {
	setClock();
	writing.fn = ({ at }) => `It is ${at.toISOString()}.`;
});

const findDirectory = (owner = 'local') => env.DIRECTORIES.get(env.DIRECTORIES.idFromName(owner));
const readAlarm = (owner = 'local') => runInDurableObject(findDirectory(owner), (_, { storage }) => storage.getAlarm());

async function passTo(moment: string, owner = 'local'): Promise<void> {
	setClock(moment);
	await runDurableObjectAlarm(findDirectory(owner));
}

interface Shown {
	readonly id: string;
	readonly name: string;
	readonly nextAt?: string;
	readonly last?: { readonly outcome: string; readonly runId?: string; readonly reason?: string; readonly at: string };
}

async function list(session?: string): Promise<Shown[]> {
	const query = session === undefined ? '' : `?session=${session}`;
	return (await (await request(`/v1/schedules${query}`)).json<{ schedules: Shown[] }>()).schedules;
}

const put = (session: string, more: object = { every: '30m' }) =>
	request('/v1/schedules', { session, name: 'look', text: 'Look again.', ...more });

interface Exported {
	readonly transport?: string;
	readonly stored?: object;
}

const readInputs = async (id: string) =>
	(await readHistory(id)).filter(({ role }) => role === 'user').map(({ content }) => content);

const call = (name: string, input: object) => ({ toolCalls: [{ id: name, name, input: { ...input } }] });

async function waitForRuns(id: string, count: number): Promise<void> {
	await expect
		.poll(
			async () => (await readHistory(id)).filter(({ role, content }) => role === 'assistant' && content !== '').length,
		)
		.toBeGreaterThanOrEqual(count);
}

describe('a session with wake-ups', () => {
	test('gets the message of each wake-up once', async () => {
		const id = await createSession('woken');
		play(call('schedule_wakeup', { name: 'look', text: 'Look again.', every: '30m' }), 'I shall.');
		await allEvents(await send(id, 'Look every half hour'));
		expect(await list(id)).toMatchObject([{ id: `session.${id}.look`, nextAt: '2030-03-04T06:30:00.000Z' }]);
		play('Looked.', 'Looked.');
		await passTo('2030-03-04T06:29:59.000Z');
		expect(await readInputs(id)).toEqual(['Look every half hour']);
		await passTo('2030-03-04T06:30:01.000Z');
		await waitForRuns(id, 2);
		await passTo('2030-03-04T06:30:02.000Z');
		expect(await readInputs(id)).toEqual(['Look every half hour', 'Look again.']);
		const [one] = await list(id);
		expect(one).toMatchObject({
			nextAt: '2030-03-04T07:00:00.000Z',
			last: { outcome: 'ran', at: '2030-03-04T06:30:00.000Z', runId: expect.any(String), sessionId: id },
		});
		// Several missed times give one message.
		await passTo('2030-03-04T11:10:00.000Z');
		await waitForRuns(id, 3);
		expect(await readInputs(id)).toEqual(['Look every half hour', 'Look again.', 'Look again.']);
		expect(await list(id)).toMatchObject([{ nextAt: '2030-03-04T11:30:00.000Z' }]);
	});

	test('lists and cancels its schedules, and a mistake gets a result that names the field', async () => {
		const id = await createSession('woken');
		play(
			call('schedule_wakeup', { name: 'once', text: 'Now.', at: '2030-03-04T08:00:00' }),
			call('schedule_wakeup', { name: 'once', text: 'Now.', at: '2030-03-04T08:00:00Z' }),
			call('list_wakeups', {}),
			call('cancel_wakeup', { name: 'other' }),
			call('cancel_wakeup', { name: 'once' }),
			'Done.',
		);
		await allEvents(await send(id, 'Try'));
		const results = (await readHistory(id)).filter(({ role }) => role === 'tool');
		expect(results).toMatchObject([
			{ isError: true, content: expect.stringMatching(/at: expected a time with its offset/) },
			{ content: { name: 'once', text: 'Now.', nextAt: '2030-03-04T08:00:00.000Z' } },
			{ content: { wakeups: [{ name: 'once', nextAt: '2030-03-04T08:00:00.000Z' }] } },
			{ isError: true, content: expect.stringMatching(/name: there is no wake-up "other"/) },
			{ content: { cancelled: 'once' } },
		]);
		expect(await list(id)).toEqual([]);
	});

	test('is woken once for each time, even if a crash repeats the wake-up', async () => {
		const id = await createSession('woken');
		expect((await put(id)).status).toBe(201);
		play('Looked.');
		const due = Date.parse('2030-03-04T06:30:00Z');
		await passTo('2030-03-04T06:30:00.000Z');
		// As if the object had restarted before it stored the outcome.
		await runInDurableObject(findDirectory(), async (_, { storage }) => {
			storage.sql.exec('UPDATE schedule SET due_at = ?1, try_at = ?1 WHERE target = ?2', due, `session ${id}`);
			await storage.setAlarm(due);
		});
		await passTo('2030-03-04T06:30:01.000Z');
		await waitForRuns(id, 1);
		expect(await readInputs(id)).toEqual(['Look again.']);
	});

	test('counts the person who set a wake-up as the asker of the wake-up’s calls', async () => {
		const id = await createSession('woken');
		play(call('schedule_wakeup', { name: 'look', text: 'Look again.', every: '30m' }), 'I shall.');
		await allEvents(await send(id, 'Look every half hour'));
		await put(id, { name: 'other', every: '30m' });
		play('Looked.', 'Looked.');
		await passTo('2030-03-04T06:30:00.000Z');
		await waitForRuns(id, 3);
		const exported = await (await request(`/v1/sessions/${id}/export`)).json<{ messages: Exported[] }>();
		const woken = exported.messages.filter(({ transport }) => transport === 'schedule');
		const askers = [{ via: 'key', id: 'local' }];
		expect(woken).toMatchObject([{ stored: { inbound: { askers } } }, { stored: { inbound: { askers } } }]);
	});

	test('runs now for the person who asks, keeps its next time, and records what became of it', async () => {
		const id = await createSession('woken');
		await put(id);
		const [before] = await list(id);
		setClock('2030-03-04T06:10:00.000Z');
		play('Looked.');
		const answer = await request(`/v1/schedules/session.${id}.look/run`, {});
		const woken = { outcome: 'ran', sessionId: id, runId: expect.stringMatching(/^run_/) };
		expect([answer.status, await answer.json()]).toEqual([200, { at: expect.any(String), ...woken }]);
		await waitForRuns(id, 1);
		expect(await list(id)).toMatchObject([{ nextAt: before?.nextAt, last: woken }]);
		const exported = await (await request(`/v1/sessions/${id}/export`)).json<{ messages: Exported[] }>();
		const [message] = exported.messages.filter(({ transport }) => transport === 'schedule');
		const local = { via: 'key', id: 'local' };
		expect(message).toMatchObject({ stored: { inbound: { askers: [local, local] } } });
		play('Looked again.');
		await passTo('2030-03-04T06:30:00.000Z');
		await waitForRuns(id, 2);
		for (const unknown of [`session.${id}.none`, 'agent.woken.none', 'nothing'])
			expect((await request(`/v1/schedules/${unknown}/run`, {})).status).toBe(404);
	});

	test('runs once for each request, also at the same moment', async () => {
		const id = await createSession('woken');
		await put(id);
		play(...Array(10).fill('Looked.'));
		const run = async () => (await request(`/v1/schedules/session.${id}.look/run`, {})).json<Shown['last']>();
		const woken = await Promise.all(Array.from({ length: 10 }, run));
		expect(woken.map((one) => one?.outcome)).toEqual(Array(10).fill('ran'));
		expect(new Set(woken.map((one) => one?.runId)).size).toBe(10);
	});

	test('cannot be a child session, which gets no wake-up tools and no schedules', async () => {
		const parent = await createSession('woken');
		const id = env.SESSIONS.newUniqueId();
		const { requests } = play('Done.');
		const create = { agent: 'woken', owner: 'local', parent: { id: parent, depth: 1, isBackground: true, agents: [] } };
		const caller = { owner: 'local', parent };
		const sent = await env.SESSIONS.get(id).send(caller, { text: 'Work.', create }, { delivery: 'result' });
		expect(sent).toMatchObject({ ok: true, value: { result: { text: 'Done.' } } });
		expect(requests[0]?.tools).toBeUndefined();
		const refused = await put(id.toString());
		expect([refused.status, await refused.json()]).toMatchObject([
			409,
			{ error: { message: expect.stringContaining(`works for the session ${parent}`), data: { field: 'session' } } },
		]);
		expect(await list(id.toString())).toEqual([]);
	});

	test('removes its schedules when it is deleted', async () => {
		const id = await createSession('woken');
		await put(id);
		await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE');
		await expect.poll(() => list(id)).toEqual([]);
	});
});

describe('an alarm', () => {
	test('is set to the next scheduled time, and is not set if nothing is scheduled', async () => {
		const owner = 'quiet';
		const directory = findDirectory(owner);
		const target = { kind: 'session', session: await createSession('woken') } as const;
		const set = async (name: string, at: string) =>
			takeValue(await directory.putSchedule({ owner, target, name, time: { at }, text: 'Now.' }));
		expect(await readAlarm(owner)).toBeNull();
		await set('late', '2030-03-04T09:00:00Z');
		await set('early', '2030-03-04T08:00:00Z');
		expect(await readAlarm(owner)).toBe(Date.parse('2030-03-04T08:00:00Z'));
		takeValue(await directory.cancelSchedule(target, 'early'));
		expect(await readAlarm(owner)).toBe(Date.parse('2030-03-04T09:00:00Z'));
		takeValue(await directory.cancelSchedule(target, 'late'));
		expect(await readAlarm(owner)).toBeNull();
	});

	test('lists a schedule for a week after its last time, and then removes it', async () => {
		const id = await createSession('woken');
		await put(id, { at: '2030-03-04T08:00:00Z' });
		play('Yes.');
		await passTo('2030-03-04T08:00:00.000Z');
		const [one] = await list(id);
		expect(one?.last?.outcome).toBe('ran');
		expect(one?.nextAt).toBeUndefined();
		const other = await createSession('woken');
		await put(other, { at: '2030-03-12T08:00:00Z' });
		await passTo('2030-03-12T08:00:00.000Z');
		expect(await list(id)).toEqual([]);
	});
});

describe('over HTTP', () => {
	test('a new schedule replaces the schedule with the same name, and an equal schedule changes nothing', async () => {
		const id = await createSession('woken');
		await put(id);
		setClock('2030-03-04T06:10:00.000Z');
		await put(id);
		expect(await list(id)).toMatchObject([{ nextAt: '2030-03-04T06:30:00.000Z' }]);
		await put(id, { every: '1h' });
		expect(await list(id)).toMatchObject([{ nextAt: '2030-03-04T07:10:00.000Z', every: '1h' }]);
		expect((await request(`/v1/schedules/session.${id}.look`, undefined, {}, 'DELETE')).status).toBe(204);
		expect((await request(`/v1/schedules/session.${id}.look`, undefined, {}, 'DELETE')).status).toBe(404);
	});

	test('lists schedules in pages', async () => {
		const id = await createSession('woken');
		for (const name of ['a', 'b', 'c']) await put(id, { name, every: '1h' });
		const read = async (query: string) => {
			const answer = await request(`/v1/schedules?session=${id}&${query}`);
			return answer.json<{ schedules: Shown[]; cursor?: string; error?: object }>();
		};
		const first = await read('limit=2');
		expect(first.schedules.map(({ name }) => name)).toEqual(['a', 'b']);
		const second = await read(`limit=2&cursor=${first.cursor}`);
		expect(second.schedules.map(({ name }) => name)).toEqual(['c']);
		expect(second.cursor).toBeUndefined();
		expect(await read('cursor=nothing')).toMatchObject({
			error: { code: 'invalid_request', data: { field: 'cursor' } },
		});
		for (const { id: schedule } of await list(id)) await request(`/v1/schedules/${schedule}`, undefined, {}, 'DELETE');
	});

	test('reads at most 200 rows for a page of 50 schedules', async () => {
		const owner = 'many-schedules';
		await runInDurableObject(findDirectory(owner), async (_, { storage }) => {
			const { storage: counting, rows } = counted(storage);
			const config = () => readConfig(environment);
			const scheduler = new OwnerScheduler({ storage: counting, agents: runtime.agents, config, now });
			for (let n = 0; n < 300; n++) {
				const target = { kind: 'session', session: `s${n}` } as const;
				takeValue(await scheduler.putSchedule({ owner, target, name: 'look', time: { every: '1d' }, text: 'Look.' }));
			}
			rows();
			const after = { target: { kind: 'session', session: 's150' }, name: 'look' } as const;
			expect(takeValue(await scheduler.listSchedules({ after, limit: 51 }))).toHaveLength(51);
			expect(rows().read).toBeLessThanOrEqual(200);
		});
	});

	test.each<[what: string, body: object, status: number, says: string]>([
		['a time that never comes', { cron: '0 0 31 2 *' }, 400, 'cron: this time never comes'],
		['a name with a space', { name: 'a b', every: '1h' }, 400, 'name: Use a-z, 0-9 and single hyphens'],
		['an unknown session', { session: '7', every: '1h' }, 404, 'session: there is no such session'],
		['an unknown field', { evry: '1h' }, 400, 'evry'],
	])('%s is refused', async (_, more, status, says) => {
		const response = await put(await createSession('woken'), more);
		const { error } = await response.json<{ error: { message: string } }>();
		expect([response.status, error.message]).toEqual([status, expect.stringContaining(says)]);
	});

	test('refuses more than 100 schedules of a session', async () => {
		const owner = 'many';
		const target = { kind: 'session', session: 'a'.repeat(64) } as const;
		const results = await runInDurableObject(findDirectory(owner), async (_, { storage }) => {
			const config = () => readConfig(environment);
			const scheduler = new OwnerScheduler({ storage, agents: [], config, now });
			const all = [];
			for (let n = 0; n <= 100; n++)
				all.push(await scheduler.putSchedule({ owner, target, name: `n${n}`, time: { every: '1h' }, text: 'x' }));
			return all;
		});
		expect(results.filter(({ ok }) => ok)).toHaveLength(100);
		expect(results.at(-1)).toMatchObject({ ok: false, error: { code: 'conflict' } });
	});
});

describe('the schedules of an agent', () => {
	const find = async (name: string, owner = 'local'): Promise<StoredSchedule | undefined> =>
		takeValue(await findDirectory(owner).listSchedules()).find((one) => one.name === name);
	const arm = (agents = runtime.agents) => armSchedules(agents, () => readConfig(environment));

	test('are stored after a deploy, kept if unchanged, and removed if no agent has them', async () => {
		await arm();
		const first = await find('morning');
		expect(first?.dueAt).toBe(Date.parse('2030-03-04T08:00:00Z'));
		setClock('2030-03-04T07:00:00.000Z');
		await arm();
		expect(await find('morning')).toEqual(first);
		expect((await request('/v1/schedules/agent.woken.morning', undefined, {}, 'DELETE')).status).toBe(409);
		await arm([]);
		expect(await find('morning')).toBeUndefined();
	});

	test('wake the same session each day, or a new session each time', async () => {
		await arm();
		play('Good morning.', 'Good morning.');
		await passTo('2030-03-04T08:00:00.000Z');
		const session = (await find('morning'))?.last?.sessionId ?? '';
		await waitForRuns(session, 1);
		await passTo('2030-03-05T08:00:00.000Z');
		await waitForRuns(session, 2);
		expect(await readInputs(session)).toEqual(['What happened?', 'What happened?']);
		expect((await find('morning'))?.last?.sessionId).toBe(session);
		setClock(begin);
		await arm();
		play('One.', 'Two.');
		const seen: string[] = [];
		for (const moment of ['2030-03-06T06:30:00.000Z', '2030-03-06T07:30:00.000Z']) {
			await passTo(moment, 'often');
			const last = (await find('often', 'often'))?.last;
			expect(last).toMatchObject({ outcome: 'ran' });
			expect(await readInputsOf('often', last?.sessionId ?? '')).toHaveLength(1);
			seen.push(last?.sessionId ?? '');
		}
		expect(new Set(seen).size).toBe(2);
	});

	test('run now with the words of their function, also if it gives no words', async () => {
		await arm();
		const target = { kind: 'agent', agent: 'woken' } as const;
		const by = { owner: 'often', via: 'key', id: 'k' } as const;
		const run = async (request = 'first') => {
			const now = { at: Date.parse('2030-03-04T06:10:00.000Z'), by, request };
			return takeValue(await findDirectory('often').runSchedule(target, 'often', now));
		};
		play('Well.');
		const ran = await run();
		expect(ran).toMatchObject({ outcome: 'ran', at: '2030-03-04T06:10:00.000Z' });
		expect((await readInputsOf('often', ran?.sessionId ?? ''))[0]).toMatchObject({
			content: 'It is 2030-03-04T06:10:00.000Z.',
		});
		// The same request is the same run, so a lost answer may be asked for again.
		expect(await run()).toEqual(ran);
		play('Well.');
		const other = await run('second');
		expect([other?.outcome, other?.sessionId === ran?.sessionId]).toEqual(['ran', false]);
		writing.fn = () => undefined;
		expect(await run()).toMatchObject({ outcome: 'skipped', reason: 'its function gave no text' });
	});

	test('run now also if their function is slow', async () => {
		const { keys, bindings } = await createKeys({ shop: { owner: 'often' } });
		await arm();
		const held = Promise.withResolvers<string>();
		let isBegun = false;
		writing.fn = () => {
			isBegun = true;
			return held.promise;
		};
		vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
		try {
			const headers = { authorization: `Bearer ${keys.shop}` };
			const path = 'https://runlet.example.com/v1/schedules/agent.woken.often/run';
			const answer = worker.request(path, { method: 'POST', headers }, bindings);
			await expect.poll(() => isBegun).toBe(true);
			vi.advanceTimersByTime(30_000);
			vi.useRealTimers();
			held.resolve('Well.');
			play('Yes.');
			expect(await (await answer).json()).toMatchObject({ outcome: 'ran' });
		} finally {
			vi.useRealTimers();
		}
	});

	test('are skipped if their function returns no text, and fail if their function throws', async () => {
		await arm();
		writing.fn = () => undefined;
		await passTo('2030-04-01T00:00:00.000Z', 'often');
		expect((await find('often', 'often'))?.last).toMatchObject({
			outcome: 'skipped',
			reason: 'its function gave no text',
		});
		writing.fn = () => Promise.reject(new Error('no disk'));
		await passTo('2030-04-02T00:00:00.000Z', 'often');
		expect((await find('often', 'often'))?.last).toMatchObject({ outcome: 'failed', reason: 'no disk' });
		writing.fn = () => 'Well.';
		play('Yes.');
		await passTo('2030-04-03T00:00:00.000Z', 'often');
		expect((await find('often', 'often'))?.last).toMatchObject({ outcome: 'ran' });
	});

	test('let their function list the owner’s sessions that were active since a given time', async () => {
		await arm();
		const seen: (readonly ActiveSession[])[] = [];
		writing.fn = async ({ listSessions }) => {
			for (const since of [0, Date.now() + 60_000]) seen.push(await listSessions(new Date(since)));
			return 'Well.';
		};
		play('One.', 'Two.');
		await passTo('2030-04-04T00:00:00.000Z', 'often');
		const id = (await find('often', 'often'))?.last?.sessionId;
		const listIds = async () => (await findDirectory('often').list({ limit: 99 })).sessions.map((one) => one.id);
		await expect.poll(listIds).toContain(id);
		await passTo('2030-04-05T00:00:00.000Z', 'often');
		const [before = [], , after, none] = seen;
		expect(after).toEqual([
			{ id, agent: 'woken', title: 'Well.', createdAt: expect.any(Date), activeAt: expect.any(Date) },
			...before,
		]);
		expect(none).toEqual([]);
	});

	test('can sum up the previous day each morning, as the example digest does', async () => {
		const id = await createSession('scripted');
		play('It is on its way.');
		await allEvents(await send(id, 'Where is my order?'));
		const morning = new Date();
		morning.setUTCHours(7, 0, 0, 0);
		if (morning.getTime() <= Date.now()) morning.setUTCDate(morning.getUTCDate() + 1);
		await arm([]);
		setClock(new Date().toISOString());
		await arm();
		await passTo(morning.toISOString());
		const session = (await find('each-morning'))?.last?.sessionId ?? '';
		await waitForRuns(session, 1);
		const [told = ''] = await readInputs(session);
		expect(told).toMatch(/^What happened since yesterday:\n/);
		expect(told).toContain(', scripted: Where is my order?');
		morning.setUTCDate(morning.getUTCDate() + 2);
		await passTo(morning.toISOString());
		expect((await find('each-morning'))?.last).toMatchObject({ outcome: 'skipped' });
		await arm([]);
	});

	async function readInputsOf(owner: string, id: string): Promise<readonly unknown[]> {
		const messages = takeValue(
			await env.SESSIONS.get(env.SESSIONS.idFromString(id)).messages({ owner }, { limit: 100 }),
		);
		const { messages: all } = await new Response(messages).json<{ messages: { role: string }[] }>();
		return all.filter(({ role }) => role === 'user');
	}
});

/** Runs an owner’s schedules with a changed environment. */
function withConfig<T>(
	owner: string,
	more: Partial<Config>,
	work: (scheduler: OwnerScheduler) => Promise<T>,
): Promise<T> {
	const config = () => ({ ...readConfig(environment), ...more });
	return runInDurableObject(findDirectory(owner), (_, { storage }) =>
		work(new OwnerScheduler({ storage, agents: runtime.agents, config, now })),
	);
}

test('skips a wake-up and records the reason if its owner’s daily budget is spent', async () => {
	const id = await createSession('woken');
	await put(id);
	setClock('2030-03-04T06:30:00.000Z');
	await withConfig('local', { findDayBudget: () => ({ tokens: 0 }) }, (scheduler) => scheduler.handleAlarm());
	expect(await readInputs(id)).toEqual([]);
	expect(await list(id)).toMatchObject([
		{
			nextAt: '2030-03-04T07:00:00.000Z',
			last: { outcome: 'skipped', reason: 'the budget of the day is spent', at: '2030-03-04T06:30:00.000Z' },
		},
	]);
	play('Looked.');
	await passTo('2030-03-04T07:00:00.000Z');
	await waitForRuns(id, 1);
});

test('skips a wake-up and records the reason if its session’s budget is spent', async () => {
	const id = await createSession('woken');
	await request(`/v1/sessions/${id}`, { budget: { tokens: 1 } }, {}, 'PATCH');
	play('never');
	await allEvents(await send(id, 'go'));
	await put(id);
	await passTo('2030-03-04T06:30:00.000Z');
	expect(await readInputs(id)).toEqual(['go']);
	expect(await list(id)).toMatchObject([{ last: { outcome: 'skipped', reason: 'the budget is spent' } }]);
});

test('retries an unreachable session with pauses, then records a failure and waits for the next time', async () => {
	const owner = 'unreached';
	const target = { kind: 'session', session: env.SESSIONS.newUniqueId().toString() } as const;
	const sessions = {
		...readConfig(environment).sessions,
		idFromString: () => env.SESSIONS.newUniqueId(),
		get: failing,
	};
	await withConfig(owner, { sessions }, async (scheduler) => {
		takeValue(await scheduler.putSchedule({ owner, target, name: 'look', time: { every: '1d' }, text: 'Look.' }));
		let at = Date.parse('2030-03-05T06:00:00Z');
		for (const pause of [10, 60, 360, 1_800, 0]) {
			setClock(new Date(at).toISOString());
			await scheduler.handleAlarm();
			at += pause * 1_000;
		}
		expect(takeValue(await scheduler.listSchedules())).toMatchObject([
			{
				dueAt: Date.parse('2030-03-06T06:00:00Z'),
				last: { outcome: 'failed', at: '2030-03-05T06:00:00.000Z', reason: 'the session could not be reached' },
			},
		]);
	});
});

test('wakes 50 sessions at once, and a slow session holds up no other', async () => {
	const owner = 'many-at-once';
	const someId = env.SESSIONS.newUniqueId();
	const held = Promise.withResolvers<void>();
	let [open, most, sent, asked] = [0, 0, 0, 0];
	const stub = {
		send: async () => {
			const isSlow = sent++ === 0;
			most = Math.max(most, ++open);
			await (isSlow ? held.promise : Promise.resolve());
			open--;
			return { ok: true, value: { kind: 'accepted', runId: 'r' } };
		},
	};
	const read = readConfig(environment);
	const sessions = { ...read.sessions, idFromString: () => someId, get: () => stub };
	const ledgers = {
		...read.ledgers,
		idFromName: (name: string) => read.ledgers.idFromName(name),
		get: (id: DurableObjectId) => {
			asked++;
			return read.ledgers.get(id);
		},
	};
	const config = { sessions, ledgers, findDayBudget: () => ({ tokens: 1_000 }) };
	// @ts-expect-error A session with one method is enough here.
	await withConfig(owner, config, async (scheduler) => {
		const put = (n: number) => {
			const target = { kind: 'session', session: String(n).padStart(64, '0') } as const;
			return scheduler.putSchedule({
				owner,
				target,
				name: 'look',
				time: { at: '2030-03-04T07:00:00Z' },
				text: 'Look.',
			});
		};
		for (let n = 0; n < 320; n++) takeValue(await put(n));
		setClock('2030-03-04T07:00:00Z');
		const woken = scheduler.handleAlarm();
		await expect.poll(() => sent).toBe(320);
		expect([most, open]).toEqual([50, 1]);
		held.resolve();
		await woken;
		const outcomes = takeValue(await scheduler.listSchedules()).map(({ last }) => last?.outcome);
		expect(outcomes).toEqual(Array(320).fill('ran'));
		expect(asked).toBe(1);
	});
});

function failing(): never {
	throw new Error('The network is gone.');
}

test('runs 10,000 schedules of 1,000 owners once each, and leaves no alarm', async () => {
	const sent = new Map<string, number>();
	const stub = {
		send: async (caller: { owner: string }, _: unknown, { once }: { once?: { key: string } }) => {
			const key = `${caller.owner} ${once?.key}`;
			sent.set(key, (sent.get(key) ?? 0) + 1);
			return { ok: true, value: { kind: 'accepted', runId: 'r' } };
		},
	};
	const sessions = { ...readConfig(environment).sessions, get: () => stub };
	const hours = Array.from({ length: 10 }, (_, hour) => hour);
	const schedules = hours.map((hour) => ({ name: `n${hour}`, every: '1d', text: 'Now.' }));
	const agents = [defineAgent({ name: 'crowd', description: 'Is woken ten times a day.', schedules })];
	const target = { kind: 'agent', agent: 'crowd' } as const;
	for (let n = 0; n < 1_000; n++) {
		const owner = `crowd-${n}`;
		const config = () => ({ ...readConfig(environment), sessions, scheduleOwner: owner });
		await runInDurableObject(findDirectory(owner), async (_, { storage }) => {
			expect(await storage.getAlarm()).toBeNull();
			let at = Date.parse('2030-03-05T00:00:00Z') - 1;
			// @ts-expect-error A session with one method is enough here.
			const scheduler = new OwnerScheduler({ storage, agents, config, now: () => at });
			const all = hours.map((hour) => ({
				owner,
				target,
				name: `n${hour}`,
				time: { at: `2030-03-05T0${hour}:00:00Z` },
			}));
			takeValue(await scheduler.setAgentSchedules(all));
			for (const hour of [0, 3, 6, 10]) {
				at = Date.parse(`2030-03-05T${String(hour).padStart(2, '0')}:00:30Z`);
				await scheduler.handleAlarm();
			}
			takeValue(await scheduler.setAgentSchedules([]));
			expect(await storage.getAlarm()).toBeNull();
		});
	}
	expect(sent.size).toBe(10_000);
	expect(new Set(sent.values())).toEqual(new Set([1]));
});
