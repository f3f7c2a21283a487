/** Runs that wait for replies in the background: the requests, the timers, the rows and the cost. */
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import {
	allEvents,
	createSession,
	follow,
	querySession,
	readHistory,
	readObject,
	readState,
	request,
	restart,
} from '../../client.ts';
import { die } from '../../crash.ts';
import { network } from '../../script.ts';
import { breakStorage, mendStorage } from '../../storage.ts';
import { post, readTurns } from './stage.ts';

const { fetch: unexpected } = network;
afterEach(() => {
	network.fetch = unexpected;
	mendStorage();
	vi.restoreAllMocks();
});

type Json = Readonly<Record<string, unknown>>;
const patient = { timeout: 8_000 };
const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const text = (words: string) => [
	{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: words }] },
];
const call = [{ type: 'function_call', call_id: 'c', name: 'echo', arguments: '{"text":"hi"}' }];
const completed = (output: readonly Json[]) => ({ status: 'completed', output, usage });
const working = { status: 'in_progress', output: [] };

/** OpenAI in the background. It answers requests for a response in this order, and then says that it works. */
function openai(...answers: readonly Json[]) {
	const left = [...answers];
	const sent: string[] = [];
	const bodies: Json[] = [];
	const fake = { sent, bodies, onCreate: async () => {} };
	network.fetch = async (body, url) => {
		const { pathname } = new URL(url);
		const [, id, action] = pathname.split('/').slice(2);
		const about = { id: id ?? `resp_${bodies.length + 1}`, model: 'gpt-5.4', background: true };
		sent.push(action ?? (id === undefined ? 'create' : 'get'));
		if (action !== undefined) return Response.json({ ...about, status: 'cancelled', output: [] });
		if (id === undefined) {
			bodies.push(body);
			await fake.onCreate();
			return Response.json({ ...about, status: 'queued', output: [] });
		}
		const answer = left.shift() ?? working;
		const { httpStatus = 200, ...fields }: Json = { ...about, ...answer };
		return Response.json(fields, { status: Number(httpStatus) });
	};
	return fake;
}

/** Returns the time of the object's next alarm. */
const readAlarm = (id: string) => runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm());

/** Waits until the newest run has stored the reply that it waits for. */
const untilParked = (id: string) =>
	expect
		.poll(() => querySession(id, "SELECT draft ->> '$.begun.id' AS begun FROM run ORDER BY n DESC LIMIT 1"), patient)
		.toEqual([{ begun: expect.any(String) }]);

/** Rings the object's alarm until it has made so many requests. The run may not be parked yet when the alarm rings. */
const ring = ({ sent }: { readonly sent: readonly string[] }, id: string, requests: number) =>
	expect
		.poll(async () => {
			await runDurableObjectAlarm(readObject(id));
			return sent.length;
		}, patient)
		.toBeGreaterThanOrEqual(requests);

const untilEnd = (id: string, status: string) =>
	expect.poll(async () => (await readState(id)).status, patient).toBe(status);

/** The requests to models that are charged, and the tokens of each. */
const readCharges = (id: string) =>
	querySession<{ call: number; tokens: number; settled: number }>(
		id,
		`SELECT call, COALESCE(cost ->> 'tokens', spending.tokens) AS tokens, settled OR cost IS NOT NULL AS settled
		FROM spending LEFT JOIN message ON cost ->> 'call' = call ORDER BY call`,
	);

async function park(...answers: readonly Json[]) {
	const fake = openai(...answers);
	const id = await createSession('unwatched');
	expect((await post(id)).status).toBe(202);
	await untilParked(id);
	expect(fake.sent).toEqual(['create']);
	return { fake, id };
}

describe('a reply in the background', () => {
	test('is asked for when the alarm rings, and is charged once', async () => {
		const { fake, id } = await park(working, completed(call), working, completed(text('All of it.')));
		expect(fake.bodies[0]).toMatchObject({ background: true, store: true });
		expect(fake.bodies[0]).not.toHaveProperty('stream');
		const rings = await readAlarm(id);
		for (let n = 0; n < 5; n++) expect((await readState(id)).status).toBe('running');
		// The alarm has not rung.
		if ((await readAlarm(id)) === rings) expect(fake.sent).toEqual(['create']);
		await ring(fake, id, 6);
		await untilEnd(id, 'completed');
		expect(fake.sent).toEqual(['create', 'get', 'get', 'create', 'get', 'get']);
		expect((await readHistory(id)).map(({ role, content }) => [role, content])).toEqual([
			['user', 'go'],
			['assistant', ''],
			['tool', 'hi'],
			['assistant', 'All of it.'],
		]);
		expect(await readCharges(id)).toEqual([1, 2].map((call) => ({ call, tokens: 15, settled: 1 })));
		expect((await readState(id)).budget).toMatchObject({ spent: { tokens: 30 } });
	});

	test('is waited for without a timer', async () => {
		const live = new Map<unknown, unknown>();
		const { setTimeout: set, clearTimeout: clear } = globalThis;
		vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number) => {
			const timer = set(() => {
				live.delete(timer);
				run();
			}, ms);
			// A short timer ends by itself.
			if ((ms ?? 0) > 20_000) live.set(timer, ms);
			return timer;
		}) as typeof setTimeout);
		vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
			live.delete(timer);
			clear(timer);
		});
		const { fake, id } = await park(working, completed(text('Here.')));
		expect([...live.values()]).toEqual([]);
		await ring(fake, id, 3);
		await untilEnd(id, 'completed');
		expect([...live.values()]).toEqual([]);
	});

	test('is not asked for twice if its object leaves the memory, and no life is lost', async () => {
		const { fake, id } = await park();
		for (let lives = 1; lives <= 12; lives++) {
			await restart(id);
			await readState(id);
			await expect.poll(() => fake.sent.length, patient).toBeGreaterThan(lives);
		}
		expect(fake.sent.filter((line) => line !== 'get')).toEqual(['create']);
		const { sent } = openai(completed(text('At last.')));
		await restart(id);
		expect(readTurns(await allEvents(await follow(id)))).toEqual(['At last.']);
		expect(sent).toEqual(['get']);
		expect(await readCharges(id)).toEqual([{ call: 1, tokens: 15, settled: 1 }]);
		expect(await querySession(id, 'SELECT attempt, lost FROM run')).toEqual([{ attempt: 1, lost: 0 }]);
	});

	test('is not asked for twice if its object died when a part of it was stored', async () => {
		const { fake, id } = await park(completed(text('All of it.')));
		await runInDurableObject(readObject(id), (_, { storage }) => {
			const part = { type: 'text', text: 'All' } as const;
			new SessionStore(storage).runs.draft(1, { iteration: 1, restarts: 0, events: [part], call: 1 });
		});
		await restart(id);
		await untilEnd(id, 'completed');
		expect(fake.sent).toEqual(['create', 'get']);
		expect(readTurns(await allEvents(await follow(id)))).toEqual(['All of it.']);
	});

	test('comes before a message that arrived meanwhile', async () => {
		const { fake, id } = await park(working, completed(text('First.')), completed(text('Second.')));
		await request(`/v1/sessions/${id}/messages`, { text: 'And this?', whenBusy: 'steer' }, { prefer: 'respond-async' });
		await restart(id);
		await ring(fake, id, 5);
		await untilEnd(id, 'completed');
		expect(fake.bodies).toHaveLength(2);
		expect((await readHistory(id)).map(({ content }) => content)).toEqual(['go', 'First.', 'And this?', 'Second.']);
	});

	test.each([false, true])('is cancelled at the provider if the run is cancelled (new life: %s)', async (isNew) => {
		const { fake, id } = await park();
		if (isNew) await restart(id);
		await request(`/v1/sessions/${id}/cancel`, {});
		await untilEnd(id, 'idle');
		await expect.poll(() => fake.sent, patient).toContain('cancel');
		expect(fake.sent.filter((line) => line !== 'get')).toEqual(['create', 'cancel']);
		expect(await readCharges(id)).toMatchObject([{ call: 1, settled: 1 }]);
	});

	test('is cancelled at the provider although the storage fails', async () => {
		const { fake, id } = await park();
		breakStorage(() => true, id);
		expect((await request(`/v1/sessions/${id}/cancel`, {})).status).toBe(503);
		expect(fake.sent).toEqual(['create', 'cancel']);
		mendStorage();
		await expect.poll(async () => (await readState(id)).status, patient).not.toBe('running');
		expect(await readCharges(id)).toMatchObject([{ call: 1, settled: 1 }]);
	});

	test('is asked for again, and charged by an estimate, if the object died before its id was stored', async () => {
		const fake = openai(completed(text('Again.')));
		const id = await createSession('unwatched');
		let isFirst = true;
		fake.onCreate = async () => {
			if (!isFirst) return;
			isFirst = false;
			await die(id, { isDurable: true });
		};
		await post(id).catch(() => {});
		await ring(fake, id, 3).catch(() => {});
		await untilEnd(id, 'completed');
		expect(fake.sent).toEqual(['create', 'create', 'get']);
		const [lost, paid] = await readCharges(id);
		expect(lost).toMatchObject({ settled: 1 });
		expect(lost?.tokens).toBeGreaterThan(0);
		expect(paid).toEqual({ call: 2, tokens: 15, settled: 1 });
	});

	test.each([
		['failed', { status: 'failed', output: [], error: { code: 'invalid_prompt', message: 'It broke.' } }, 'It broke.'],
		['cancelled', { status: 'cancelled', output: [] }, 'was cancelled'],
		['gone', { httpStatus: 404, error: { message: 'Not found.' } }, 'has no longer'],
	])('ends the run with an error if it is %s', async (_, answer, message) => {
		const { fake, id } = await park(answer);
		await ring(fake, id, 2);
		await untilEnd(id, 'error');
		expect(await readState(id)).toMatchObject({ error: { message: expect.stringContaining(message) } });
		expect(await readCharges(id)).toMatchObject([{ call: 1, settled: 1 }]);
	});

	test('keeps the part before its limit', async () => {
		const { fake, id } = await park({ ...completed(text('Half of')), status: 'incomplete' });
		await ring(fake, id, 2);
		await untilEnd(id, 'completed');
		expect((await readHistory(id))[1]).toMatchObject({ content: 'Half of' });
	});

	test('ends with the time limit of its run, which counts over all lives of the object', async () => {
		const { fake, id } = await park();
		await querySession(id, 'UPDATE run SET created_at = created_at - 1_800_000');
		await restart(id);
		await untilEnd(id, 'error');
		expect(await readState(id)).toMatchObject({ error: { code: 'timeout' } });
		await expect.poll(() => fake.sent, patient).toContain('cancel');
	});
});
