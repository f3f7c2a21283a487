import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import * as v from 'valibot';
import { describe, expect, inject, test } from 'vitest';
import { retryDelay } from '../../src/webhooks/callback.ts';
import { allEvents, follow, objectOf, request, restart } from '../client.ts';
import { play } from '../script.ts';
import { deliver } from '../webhooks/deliver.ts';
import { callbackSecret } from '../webhooks/senders.ts';

const received = v.array(v.object({ headers: v.record(v.string(), v.string()), body: v.string() }));
const takenBody = v.object({ sessionId: v.string(), runId: v.string() });

/** A place of its own at the receiver, which answers with these statuses first. */
async function place(...statuses: readonly number[]) {
	const url = `${inject('receiver')}/${crypto.randomUUID()}`;
	await fetch(url, { method: 'PUT', body: JSON.stringify(statuses) });
	return { url, received: async () => v.parse(received, await (await fetch(url)).json()) };
}

async function begin(message: object): Promise<v.InferOutput<typeof takenBody>> {
	const response = await deliver({ message });
	expect(response.status).toBe(202);
	return v.parse(takenBody, await response.json());
}

/** What is not delivered yet. */
const pending = (id: string) =>
	runInDurableObject(objectOf(id), (_, { storage }) =>
		storage.sql.exec<{ failed: number; due_at: number }>('SELECT failed, due_at FROM callback').toArray(),
	);
const alarmOf = (id: string) => runInDurableObject(objectOf(id), (_, { storage }) => storage.getAlarm());

/** The time of the next attempt comes. */
async function laterAt(id: string): Promise<void> {
	await runInDurableObject(objectOf(id), (_, { storage }) =>
		storage.sql.exec('UPDATE callback SET due_at = 0').toArray(),
	);
	await runDurableObjectAlarm(objectOf(id));
}

describe('the end of a run that a webhook began', () => {
	test('is told to its callback, signed as Standard Webhooks has it', async () => {
		play('All done.');
		const { url, received } = await place();
		const { sessionId, runId } = await begin({ text: 'go', callback: url, metadata: { issue: '7' } });
		await expect.poll(async () => (await received()).length).toBe(1);
		const [{ headers, body } = { headers: {}, body: '' }] = await received();
		expect(new Webhook(callbackSecret).verify(body, headers)).toMatchObject({
			type: 'run.completed',
			timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
			data: { sessionId, runId, agent: 'hooked', status: 'completed', text: 'All done.', metadata: { issue: '7' } },
		});
		expect(JSON.parse(body)).toHaveProperty('data.usage');
		expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': expect.stringMatching(/^msg_/) });
		await expect.poll(() => pending(sessionId)).toEqual([]);
		expect(await alarmOf(sessionId)).toBeNull();
	});

	test.each([
		['run.failed', Object.assign(new Error('no key'), { status: 401 }), { code: 'auth' }],
		[
			'run.awaiting',
			{ toolCalls: [{ id: 'a', name: 'by_hand', input: {} }] },
			{ status: 'awaiting_tools', toolCalls: [{ id: 'a' }] },
		],
		[
			'run.awaiting',
			{ toolCalls: [{ id: 'a', name: 'ask', input: { question: 'Which?' } }] },
			{ question: { question: 'Which?' } },
		],
		['run.halted', { toolCalls: [{ id: 'a', name: 'stop', input: {} }] }, { status: 'halted', reason: 'stopped' }],
	])('is told as %s', async (type, turn, data) => {
		play(turn);
		const { url, received } = await place();
		await begin({ text: 'go', callback: url });
		await expect.poll(async () => (await received()).length).toBe(1);
		expect(JSON.parse((await received())[0]?.body ?? '')).toMatchObject({ type, data });
	});

	test('is told where it was cancelled: the run, and what waited for it', async () => {
		play(() => new Promise(() => {}));
		const [one, two] = [await place(), await place()];
		const session = crypto.randomUUID();
		const { sessionId, runId } = await begin({ text: 'go', session, callback: one.url });
		const waiting = await begin({ text: 'more', session, callback: two.url });
		await request(`/v1/sessions/${sessionId}/cancel`, {});
		for (const [place, id] of [
			[one, runId],
			[two, waiting.runId],
		] as const) {
			await expect.poll(async () => (await place.received()).length).toBe(1);
			const body: unknown = JSON.parse((await place.received())[0]?.body ?? '');
			expect(body).toMatchObject({ type: 'run.cancelled', data: { runId: id } });
		}
	});

	test('is told of each run of a session, to whoever asked for it', async () => {
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => 'One.'), 'Two.');
		const [one, two] = [await place(), await place()];
		const session = crypto.randomUUID();
		await begin({ text: 'a', session, callback: one.url });
		await begin({ text: 'b', session, callback: two.url });
		gate.resolve();
		for (const [place, text] of [
			[one, 'One.'],
			[two, 'Two.'],
		] as const) {
			await expect.poll(async () => (await place.received()).length).toBe(1);
			expect(JSON.parse((await place.received())[0]?.body ?? '')).toMatchObject({ data: { text } });
		}
	});

	test('is told to who steered a run as well', async () => {
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => ({ toolCalls: [{ id: 'a', name: 'nothing', input: {} }] })), 'Both.');
		const [one, two] = [await place(), await place()];
		const session = crypto.randomUUID();
		const { runId } = await begin({ text: 'a', session, callback: one.url });
		await begin({ text: 'b', session, callback: two.url, whenBusy: 'steer' });
		gate.resolve();
		for (const place of [one, two]) {
			await expect.poll(async () => (await place.received()).length).toBe(1);
			expect(JSON.parse((await place.received())[0]?.body ?? '')).toMatchObject({ data: { runId, text: 'Both.' } });
		}
	});
});

describe('a callback that is not delivered', () => {
	test.each([[500], [404], [302], [0]])(
		'because of a %i is sent again under its id, at the time that the schedule says',
		async (status) => {
			play('Done.');
			const { url, received } = await place(...Array<number>(3).fill(status));
			const { sessionId } = await begin({ text: 'go', callback: url });
			await expect.poll(() => pending(sessionId)).toMatchObject([{ failed: 1 }]);
			const inMs = async () => ((await alarmOf(sessionId)) ?? 0) - Date.now();
			expect(await inMs()).toBeLessThanOrEqual(5_500);
			await laterAt(sessionId);
			expect(await pending(sessionId)).toMatchObject([{ failed: 2 }]);
			expect(await inMs()).toBeGreaterThan(290_000);
			expect(await inMs()).toBeLessThanOrEqual(330_000);
			await laterAt(sessionId);
			expect(await inMs()).toBeGreaterThan(1_790_000);
			await laterAt(sessionId);
			expect(await pending(sessionId)).toEqual([]);
			expect(await alarmOf(sessionId)).toBeNull();
			const all = await received();
			expect(all).toHaveLength(4);
			expect(new Set(all.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
			expect(new Set(all.map(({ body }) => body)).size).toBe(1);
			for (const { headers, body } of all) new Webhook(callbackSecret).verify(body, headers);
			await expect(fetch(`${inject('receiver')}/redirected`).then((response) => response.json())).resolves.toEqual([]);
		},
	);

	test('is given up after ten attempts, or at once where its receiver is gone', async () => {
		play('Done.', 'Done.');
		const never = await place(...Array<number>(20).fill(503));
		const { sessionId } = await begin({ text: 'go', callback: never.url });
		await expect.poll(() => pending(sessionId)).toMatchObject([{ failed: 1 }]);
		for (let n = 0; n < 12; n++) await laterAt(sessionId);
		expect(await never.received()).toHaveLength(10);
		expect(await alarmOf(sessionId)).toBeNull();
		const gone = await place(410);
		const other = await begin({ text: 'go', callback: gone.url });
		await expect.poll(async () => (await gone.received()).length).toBe(1);
		await expect.poll(() => pending(other.sessionId)).toEqual([]);
		expect(await alarmOf(other.sessionId)).toBeNull();
	});

	test('outlives restarts: while it is sent, and between attempts', async () => {
		play('Done.');
		const { url, received } = await place(-1, 500);
		const { sessionId } = await begin({ text: 'go', callback: url });
		await expect.poll(async () => (await received()).length).toBe(1);
		await restart(sessionId);
		// The alarm of the attempt that was cut off comes again.
		await runDurableObjectAlarm(objectOf(sessionId));
		await expect.poll(() => pending(sessionId)).toMatchObject([{ failed: 1 }]);
		await restart(sessionId);
		expect(await pending(sessionId)).toMatchObject([{ failed: 1 }]);
		expect(await alarmOf(sessionId)).not.toBeNull();
		await laterAt(sessionId);
		expect(await received()).toHaveLength(3);
	});

	test('of a run that died with its object is sent when the run ends in its next life', async () => {
		const first = play(() => new Promise(() => {}));
		const { url, received } = await place();
		const { sessionId, runId } = await begin({ text: 'go', callback: url });
		await expect.poll(() => first.requests.length).toBe(1);
		play('After all.');
		await restart(sessionId);
		await runDurableObjectAlarm(objectOf(sessionId));
		await expect.poll(async () => (await received()).length).toBe(1);
		expect(JSON.parse((await received())[0]?.body ?? '')).toMatchObject({ data: { runId, text: 'After all.' } });
	});

	test('is told where its message still waits when the session expires', async () => {
		play({ toolCalls: [{ id: 'a', name: 'by_hand', input: {} }] }, 'never');
		const { url, received } = await place();
		const session = crypto.randomUUID();
		const { sessionId } = await begin({ text: 'go', session });
		await allEvents(await follow(sessionId));
		const { runId } = await begin({ text: 'more', session, callback: url });
		await runInDurableObject(objectOf(sessionId), (_, { storage }) => {
			storage.sql.exec('UPDATE session SET expires_after = 1000');
			storage.sql.exec('UPDATE run SET ended_at = ended_at - 1000');
			storage.sql.exec('UPDATE queue SET created_at = created_at - 1000');
			return storage.setAlarm(Date.now());
		});
		await expect.poll(async () => (await received()).length).toBe(1);
		expect(JSON.parse((await received())[0]?.body ?? '')).toMatchObject({ type: 'run.cancelled', data: { runId } });
		await expect.poll(async () => (await request(`/v1/sessions/${sessionId}`)).status).toBe(404);
	});

	test('keeps its session from expiring', async () => {
		play('Done.');
		const { url } = await place(500);
		const { sessionId } = await begin({ text: 'go', callback: url });
		await expect.poll(() => pending(sessionId)).toMatchObject([{ failed: 1 }]);
		await runInDurableObject(objectOf(sessionId), (_, { storage }) =>
			storage.sql.exec('UPDATE session SET expires_after = 1').toArray(),
		);
		await runDurableObjectAlarm(objectOf(sessionId));
		expect((await request(`/v1/sessions/${sessionId}`)).status).toBe(200);
		await laterAt(sessionId);
		await expect.poll(async () => (await request(`/v1/sessions/${sessionId}`)).status).toBe(404);
	});
});

test('a callback goes to the public, and on a laptop to the laptop; where nothing signs it no run begins', async () => {
	play();
	for (const callback of [
		'http://example.com/',
		'https://192.168.0.1/',
		'https://user:word@example.com/',
		'https://[::ffff:7f00:1]/',
		'data:,',
		'x',
	])
		expect((await deliver({ message: { text: 'go', callback } })).status, callback).toBe(500);
	const response = await deliver(
		{ message: { text: 'go', callback: inject('receiver') } },
		{ without: ['CALLBACK_SECRET'] },
	);
	expect(response.status).toBe(503);
	expect(await response.json()).toMatchObject({
		error: { code: 'not_configured', message: expect.stringContaining('npx wrangler secret put CALLBACK_SECRET') },
	});
});

test('a callback is signed with every secret, and the schedule spans three days', async () => {
	const { signedHeaders } = await import('../../src/webhooks/callback.ts');
	const secrets = [callbackSecret, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];
	const headers = await signedHeaders('{"test": 2432232314}', { id: 'msg_1', secrets, now: Date.now() });
	for (const secret of secrets) new Webhook(secret).verify('{"test": 2432232314}', headers);
	const delays = Array.from({ length: 10 }, (_, n) => retryDelay(n + 1));
	expect(delays[9]).toBeUndefined();
	const total = delays.reduce<number>((sum, delay = 0) => sum + delay, 0) / 3_600_000;
	expect(total).toBeGreaterThan(75);
	expect(total).toBeLessThan(84);
});

test('a run that nobody wants to be told of sends nothing and keeps no alarm', async () => {
	play('Done.');
	const { sessionId } = await begin({ text: 'go' });
	await allEvents(await follow(sessionId));
	expect(await pending(sessionId)).toEqual([]);
	await expect.poll(() => alarmOf(sessionId)).toBeNull();
});
