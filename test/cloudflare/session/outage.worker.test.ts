import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, test } from 'vitest';
import {
	allEvents,
	createSession,
	follow,
	querySession,
	readEvents,
	readHistory,
	readObject,
	readState,
	readText,
	request,
	restart,
	send,
	type WireEvent,
} from '../../client.ts';
import { play } from '../../script.ts';
import { breakStorage, countWrites, mendStorage } from '../../storage.ts';
import { forever, isEnd, post } from './stage.ts';

afterEach(mendStorage);

const echo = { id: 'e', name: 'echo', input: { text: 'hi' } };
const unavailable = { error: { code: 'storage_unavailable' } };

const patient = { timeout: 30_000 };

/** Waits until there were this many attempts to write. */
const untilWrites = (n: number) => expect.poll(countWrites, patient).toBeGreaterThanOrEqual(n);

describe('a storage that refuses writes for a while', () => {
	test('lets a run end once and stores the end, whichever write fails', {
		timeout: 300_000,
	}, async () => {
		const run = async (from: number): Promise<number> => {
			const id = await createSession();
			play({ text: 'First.', toolCalls: [echo] }, 'Second.');
			breakStorage((n) => n >= from);
			const sent = await send(id, 'go');
			const writes = countWrites();
			if (sent.status !== 200) {
				expect(await sent.json(), `write ${from}`).toMatchObject(unavailable);
				mendStorage();
			} else {
				const seen: WireEvent[] = [];
				const reading = (async () => {
					for await (const event of readEvents(sent)) seen.push(event);
				})();
				const isOver = reading.then(() => true);
				// Either the run ended before that write, or the write is tried again and again.
				await expect
					.poll(async () => countWrites() > from + 1 || (await Promise.race([isOver, false])), patient)
					.toBe(true);
				const isOpen = (await querySession(id, "SELECT 1 FROM run WHERE status <> 'running'")).length === 0;
				if (isOpen) expect(seen.filter(isEnd), `write ${from}`).toEqual([]);
				mendStorage();
				await reading;
				expect(seen.filter(isEnd), `write ${from}`).toHaveLength(1);
				const { status } = await readState(id);
				expect(status, `write ${from}`).toBe(seen.at(-1)?.type === 'done' ? 'completed' : 'error');
				if (status === 'error') expect(seen.at(-1)?.data.code, `write ${from}`).toBe('storage_unavailable');
				expect((await allEvents(await follow(id))).filter(isEnd)).toEqual([seen.at(-1)]);
			}
			play('Again.');
			expect(readText(await allEvents(await send(id, 'and now?'))), `write ${from}`).toBe('Again.');
			return writes;
		};
		for (let from = 1; from <= 24; from++) await run(from);
	});

	test('makes a message fail with 503 and Retry-After, and nothing of the message is stored', async () => {
		const id = await createSession();
		breakStorage();
		const refused = await post(id, { key: 'k' });
		expect(refused.status).toBe(503);
		expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
		expect(await refused.json()).toMatchObject(unavailable);
		mendStorage();
		expect(await readHistory(id)).toEqual([]);
		play('Well.');
		expect((await post(id, { key: 'k' })).status).toBe(202);
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
	});

	test('does not delay the abort of a model request, but the cancel gets 503 until it can be stored', async () => {
		const id = await createSession();
		let isStopped = false;
		const { requests } = play(({ options }) => {
			options?.signal?.addEventListener('abort', () => {
				isStopped = true;
			});
			return forever();
		});
		await post(id, { key: 'k' });
		await expect.poll(() => requests.length).toBe(1);
		breakStorage();
		const refused = await request(`/v1/sessions/${id}/cancel`, {});
		expect(refused.status).toBe(503);
		expect(await refused.json()).toMatchObject(unavailable);
		expect(isStopped).toBe(true);
		mendStorage();
		expect((await request(`/v1/sessions/${id}/cancel`, {})).status).toBe(200);
		expect((await readState(id)).status).toBe('idle');
		expect((await allEvents(await follow(id))).filter(isEnd)).toMatchObject([{ type: 'cancelled' }]);
	});

	test('delays a cancel until the storage recovers, and the run ends as cancelled', async () => {
		const id = await createSession();
		const { requests } = play(forever);
		await post(id, { key: 'k' });
		await expect.poll(() => requests.length).toBe(1);
		// No message is queued, so the first write is the end of the run.
		breakStorage((n) => n < 4);
		const cancelled = await request(`/v1/sessions/${id}/cancel`, {});
		expect(await cancelled.json()).toMatchObject({ status: 'idle', run: { status: 'cancelled' } });
	});

	test('delays the next attempt of an interrupted run until the storage recovers', async () => {
		const id = await createSession();
		const { requests } = play(forever, 'Whole.');
		await post(id, { key: 'k' });
		await expect.poll(() => requests.length).toBe(1);
		breakStorage();
		await restart(id);
		const refused = await request(`/v1/sessions/${id}`);
		expect(refused.status).toBe(503);
		expect(await refused.json()).toMatchObject(unavailable);
		expect((await request(`/v1/sessions/${id}/cancel`, {})).status).toBe(503);
		mendStorage();
		expect(readText(await allEvents(await follow(id)))).toBe('Whole.');
		expect(requests).toHaveLength(2);
	});

	test('keeps the alarm of an interrupted run, which is resumed without a request', async () => {
		const id = await createSession();
		const { requests } = play(forever, 'Whole.');
		await post(id, { key: 'k' });
		await expect.poll(() => requests.length).toBe(1);
		breakStorage();
		await restart(id);
		await runDurableObjectAlarm(readObject(id)).catch(() => {});
		expect(requests).toHaveLength(1);
		mendStorage();
		await runInDurableObject(readObject(id), (object) => object.alarm?.());
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
		expect(requests).toHaveLength(2);
	});

	test('makes readers see a restarted turn if the end of its run was never stored', async () => {
		const id = await createSession();
		play(async (_, onDelta) => {
			await onDelta({ type: 'text', text: 'Half' });
			breakStorage();
			return Object.assign(new Error('no'), { status: 400 });
		}, 'Whole.');
		const seen: WireEvent[] = [];
		const reading = (async () => {
			for await (const event of readEvents(await send(id, 'go'))) seen.push(event);
		})().catch(() => {});
		await untilWrites(3);
		expect(seen.filter(isEnd)).toEqual([]);
		mendStorage();
		breakStorage();
		await restart(id);
		await reading;
		mendStorage();
		const rest = await allEvents(await follow(id, seen.at(-1)?.id));
		expect(rest[0]?.type).toBe('turn.restarted');
		expect(readText(rest)).toBe('Whole.');
	});
});

describe('a session that is created with its first message', () => {
	const create = () =>
		request('/v1/sessions', { agent: 'scripted', text: 'go' }, { prefer: 'respond-async', 'idempotency-key': key });
	let key = '';

	test('exists completely or not at all, and the same key works after any failed write', async () => {
		for (let from = 1; from <= 20; from++) {
			key = `half-way-${from}`;
			play('Done.', 'Never.');
			breakStorage((n) => n >= from);
			const first = await create();
			if (first.status >= 400) {
				expect(first.status, `write ${from}`).toBe(503);
				expect(await first.json()).toMatchObject(unavailable);
			}
			mendStorage();
			const again = await create();
			const { id } = await again.json<{ id: string }>();
			expect(again.status, `write ${from}`).toBe(202);
			await expect.poll(async () => (await readState(id)).status, patient).toMatch(/completed|error/);
			const inputs = (await readHistory(id)).filter(({ role }) => role === 'user');
			expect(inputs, `write ${from}`).toHaveLength(1);
		}
	});
});
