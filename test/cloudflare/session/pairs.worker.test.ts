import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
	allEvents,
	createSession,
	follow,
	readHistory,
	readNextAlarm,
	readObject,
	readState,
	request,
	restart,
} from '../../client.ts';
import { play } from '../../script.ts';
import { breakStorage, mendStorage } from '../../storage.ts';
import { forever, post } from './stage.ts';

/** A temporary failure of the disk, and a statement that fails each time. */
const faults = ['SQLITE_IOERR', 'SQLITE_TOOBIG'] as const;

beforeEach(() => {
	for (const level of ['warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {});
});
afterEach(() => {
	mendStorage();
	vi.restoreAllMocks();
});

/** Lets the first attempts to store the end of a session's run fail with these errors. */
function breakEnd(session: string, ...given: readonly string[]): void {
	const left = [...given];
	const fails = (_: number, statement: string) =>
		/^INSERT OR REPLACE INTO run\b/.test(statement) ? (left.shift() ?? false) : false;
	breakStorage(fails, session);
}

const alarmOf = (id: string) => runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm());

/** Lets the object's alarm fail, and also the setting of the next alarm. Then the platform drops the alarm. */
async function loseAlarm(id: string): Promise<void> {
	breakStorage();
	const error = await runInDurableObject(readObject(id), async (object) => {
		try {
			await object.alarm?.();
			return undefined;
		} catch (thrown) {
			return String(thrown);
		}
	});
	expect(error).toMatch(/could not be stored/);
	mendStorage();
	await runInDurableObject(readObject(id), (_, { storage }) => storage.deleteAlarm());
}

describe('a request that waits for the result of a run', () => {
	for (const first of faults)
		for (const second of faults)
			test(`gets only the stored end if a write fails with ${first} and then with ${second}`, async () => {
				const id = await createSession();
				const { requests } = play('Whole.', 'Never.');
				breakEnd(id, first, second);
				const ask = () => request(`/v1/sessions/${id}/messages`, { text: 'go' }, { 'idempotency-key': 'k' });
				const answer = await ask();
				const isStored = first === 'SQLITE_IOERR' || second === 'SQLITE_IOERR';
				if (!isStored) {
					expect(answer.status).toBe(503);
					expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
					expect(await answer.json()).toMatchObject({ error: { code: 'storage_unavailable' } });
				}
				const told = isStored ? answer : await ask();
				const [last] = (await allEvents(await follow(id))).slice(-1);
				const { status } = await readState(id);
				if (told.status === 200) {
					expect(await told.json()).toMatchObject({ text: 'Whole.', status: 'completed' });
					expect([last?.type, status]).toEqual(['done', 'completed']);
				} else {
					const { error } = await told.json<{ error: { code: string } }>();
					expect([last?.type, last?.data.code, status]).toEqual(['error', error.code, 'error']);
				}
				expect((await readHistory(id)).filter(({ role }) => role === 'user')).toHaveLength(1);
				expect(requests).toHaveLength(1);
			});
});

test('a client does not repeat a keyless chat completion whose end is not stored, and the run continues', async () => {
	const agent = { model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] };
	const named = { 'runlet-session': 'unstored' };
	play('One.', 'Whole.');
	const begun = await request('/v1/chat/completions', agent, named);
	await begun.text();
	const id = begun.headers.get('runlet-session') ?? '';
	breakEnd(id, 'SQLITE_TOOBIG', 'SQLITE_TOOBIG');
	const messages = [...agent.messages, { role: 'assistant', content: 'One.' }, { role: 'user', content: 'And?' }];
	const answer = await request('/v1/chat/completions', { ...agent, messages }, named);
	expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([406, 'false']);
	expect(await answer.json()).toMatchObject({ error: { code: 'interrupted' } });
	await expect.poll(async () => (await readState(id)).status).not.toBe('running');
});

describe('a session without an alarm after two failures', () => {
	test('resumes its interrupted run at the next request', async () => {
		const id = await createSession();
		const { requests } = play(forever, 'Whole.');
		await post(id);
		await expect.poll(() => requests.length).toBe(1);
		breakStorage();
		await restart(id);
		await loseAlarm(id);
		expect(await alarmOf(id)).toBeNull();
		await readState(id);
		await expect.poll(() => alarmOf(id)).not.toBeNull();
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
	});

	test.each([
		['the same instance of its object', async () => {}],
		['a new instance of its object', restart],
	])('expires, because the next request to %s sets the alarm', async (_, before) => {
		const id = await createSession('fleeting');
		await expect.poll(async () => (await readNextAlarm(id)) ?? 0).toBeGreaterThan(Date.now() + 60_000);
		await runInDurableObject(readObject(id), (__, { storage }) => {
			storage.sql
				.exec('UPDATE session SET created_at = created_at - 3600001, listed_at = listed_at - 3600001')
				.toArray();
		});
		// The object reads its session again after it wrote its row.
		await request(`/v1/sessions/${id}`, { budget: { tokens: 1_000 } }, {}, 'PATCH');
		await loseAlarm(id);
		await before(id);
		expect((await readState(id)).status).toBe('idle');
		await expect.poll(async () => (await request(`/v1/sessions/${id}`)).status).toBe(404);
	});
});

test('after a removal that failed half-way, the session still exists or its object has an alarm', async () => {
	for (let from = 1, isOver = false; !isOver; from++) {
		const id = await createSession();
		await expect.poll(() => readNextAlarm(id)).toBeNull();
		breakStorage((n) => n >= from, id);
		const { status } = await request(`/v1/sessions/${id}`, {}, {}, 'DELETE');
		mendStorage();
		isOver = status === 204;
		if (!isOver) expect(status, `write ${from}`).toBe(503);
		const stands = (await request(`/v1/sessions/${id}`)).status === 200;
		if (!stands && !isOver) expect(await alarmOf(id), `write ${from}`).not.toBeNull();
		await request(`/v1/sessions/${id}`, {}, {}, 'DELETE');
		await runDurableObjectAlarm(readObject(id));
		const { sessions } = await (await request('/v1/sessions?limit=100')).json<{ sessions: { id: string }[] }>();
		expect(
			sessions.map((one) => one.id),
			`write ${from}`,
		).not.toContain(id);
	}
});
