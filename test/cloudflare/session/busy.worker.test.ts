import { describe, expect, test } from 'vitest';
import type { ScriptedTurn } from '../../../src/core/providers/index.ts';
import {
	allEvents,
	createSession,
	follow,
	readEvents,
	readHistory,
	readState,
	readText,
	request,
	restart,
} from '../../client.ts';
import { play } from '../../script.ts';

const stream = { accept: 'text/event-stream' };
const async = { prefer: 'respond-async' };
const say = (id: string, text: string, more: object = {}, headers: Record<string, string> = stream) =>
	request(`/v1/sessions/${id}/messages`, { text, ...more }, headers);
const texts = async (id: string): Promise<string[]> =>
	(await readHistory(id)).map(({ role, content }) => `${role}: ${content}`);

/** A session whose run waits until `end` is called. */
async function busy(...then: readonly ScriptedTurn[]) {
	const gate = Promise.withResolvers<void>();
	const script = play(
		async () => {
			await gate.promise;
			return 'one';
		},
		...then,
	);
	const id = await createSession();
	const first = await say(id, 'first');
	return { id, first, end: gate.resolve, requests: script.requests };
}

describe('a message during a run', () => {
	test('begins its own run after the current run, in order', async () => {
		const { id, first, end } = await busy('two', 'three');
		const second = await say(id, 'second');
		const third = await say(id, 'third');
		expect(await readState(id)).toMatchObject({ status: 'running', waiting: 2 });
		end();
		expect(readText(await allEvents(first))).toBe('one');
		expect(readText(await allEvents(second))).toBe('two');
		expect(readText(await allEvents(third))).toBe('three');
		expect(await texts(id)).toEqual([
			...['user: first', 'assistant: one', 'user: second', 'assistant: two', 'user: third', 'assistant: three'],
		]);
		expect(await readState(id)).not.toHaveProperty('waiting');
	});

	test('is answered with the result of its own run, or with the id of this run', async () => {
		const { id, end } = await busy('two', 'three');
		const second = say(id, 'second', {}, {});
		await expect.poll(() => readState(id)).toMatchObject({ waiting: 1 });
		const { runId } = await (await say(id, 'third', { whenBusy: 'queue' }, async)).json<{ runId: string }>();
		end();
		expect(await (await second).json()).toMatchObject({ status: 'completed', text: 'two' });
		const events = await allEvents(await follow(id));
		expect(events[0]?.data).toMatchObject({ runId });
	});

	test('survives a restart of the object', async () => {
		const id = await createSession();
		play(() => new Promise(() => {}), 'one', 'two');
		await say(id, 'first', {}, async);
		await say(id, 'second', {}, async);
		await restart(id);
		await expect.poll(() => texts(id)).toEqual(['user: first', 'assistant: one', 'user: second', 'assistant: two']);
	});

	test('is stored once if it is sent again with its key, before or after its run begins', async () => {
		const { id, end } = await busy('two');
		const key = { ...async, 'idempotency-key': 'k' };
		const runIds = [await say(id, 'second', {}, key), await say(id, 'second', {}, key)];
		const waiting = say(id, 'second', {}, { ...stream, 'idempotency-key': 'k' });
		end();
		expect(readText(await allEvents(await waiting))).toBe('two');
		const after = await say(id, 'second', {}, key);
		const ids = await Promise.all([...runIds, after].map((one) => one.json<{ runId: string }>()));
		expect(new Set(ids.map(({ runId }) => runId)).size).toBe(1);
		expect(await texts(id)).toHaveLength(4);
	});

	test('is dropped when the current run is cancelled, and its readers get a cancelled run', async () => {
		const { id, first } = await busy('never');
		const second = await say(id, 'second');
		await request(`/v1/sessions/${id}/cancel`, {});
		expect((await allEvents(first)).at(-1)?.type).toBe('cancelled');
		expect((await allEvents(second)).at(-1)?.type).toBe('cancelled');
		expect(await texts(id)).toEqual(['user: first']);
		expect(await readState(id)).toMatchObject({ status: 'idle' });
	});

	test('gets no run if it is sent again with its key after it was dropped', async () => {
		const { id } = await busy(() => new Promise(() => {}));
		const key = { ...async, 'idempotency-key': 'dropped' };
		await say(id, 'dropped', {}, key);
		await request(`/v1/sessions/${id}/cancel`, {});
		await say(id, 'second', {}, async);
		const third = await (await say(id, 'third', {}, async)).json<{ runId: string }>();
		const again = await (await say(id, 'dropped', {}, key)).json<{ runId?: string }>();
		expect(again.runId).not.toBe(third.runId);
	});

	test('is listed while it waits, and its readers get a cancelled run if it is removed', async () => {
		const { id, first, end } = await busy('three');
		const listed = async () =>
			(await (await request(`/v1/sessions/${id}/waiting`)).json<{ waiting: object[] }>()).waiting;
		const remove = (runId = '') => request(`/v1/sessions/${id}/waiting/${runId}`, undefined, {}, 'DELETE');
		const file = { name: 'a.csv', type: 'text/csv', size: 3, contentText: 'a,b' };
		const key = { ...async, 'idempotency-key': 'removed' };
		const { runId } = await (await say(id, 'second', {}, key)).json<{ runId: string }>();
		const second = await say(id, 'second', {}, { ...stream, 'idempotency-key': 'removed' });
		await say(id, 'third', { attachments: [file] }, async);
		expect(await listed()).toEqual([
			{ id: runId, content: 'second' },
			{
				id: expect.any(String),
				content: expect.stringContaining('third'),
				parts: [{ kind: 'text', text: 'third' }, expect.anything()],
				attachments: [{ name: 'a.csv', type: 'text/csv', size: 3 }],
			},
		]);
		expect((await remove(runId)).status).toBe(204);
		expect((await allEvents(second)).at(-1)?.type).toBe('cancelled');
		expect((await remove(runId)).status).toBe(404);
		expect(await listed()).toHaveLength(1);
		expect(await (await say(id, 'second', {}, key)).json()).not.toHaveProperty('runId');
		end();
		expect(readText(await allEvents(first))).toBe('one');
		await expect.poll(() => texts(id)).toHaveLength(4);
		expect((await texts(id)).join()).not.toContain('second');
		expect(await listed()).toEqual([]);
	});

	test('with `whenBusy: steer` is listed until the current run gets it', async () => {
		const { id, first, end } = await busy('two');
		const listed = async () => (await request(`/v1/sessions/${id}/waiting`)).json();
		await say(id, 'and now?', { whenBusy: 'steer' }, async);
		expect(await listed()).toEqual({ waiting: [{ id: expect.any(String), content: 'and now?', steers: true }] });
		end();
		expect(readText(await allEvents(first))).toBe('onetwo');
		expect(await listed()).toEqual({ waiting: [] });
	});

	test('waits if the current run asks a question, and is not used as the answer', async () => {
		const gate = Promise.withResolvers<void>();
		const id = await createSession();
		play(
			async () => {
				await gate.promise;
				return { toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which?' } }] };
			},
			'Red it is.',
			'two',
		);
		const first = await say(id, 'first');
		const second = await say(id, 'second');
		gate.resolve();
		expect((await allEvents(first)).at(-1)?.type).toBe('awaiting');
		expect(await readState(id)).toMatchObject({ status: 'awaiting_user', waiting: 1 });
		expect(readText(await allEvents(await say(id, 'red')))).toBe('Red it is.');
		expect(readText(await allEvents(second))).toBe('two');
	});

	test('is refused if too many messages wait', async () => {
		const { id, end } = await busy(...Array.from({ length: 16 }, () => 'next'));
		for (let n = 0; n < 16; n++) expect((await say(id, `${n}`, {}, async)).status).toBe(202);
		const refused = await say(id, 'one too many', {}, async);
		expect(refused.status).toBe(409);
		expect(await refused.json()).toMatchObject({ error: { code: 'conflict', data: { field: 'whenBusy' } } });
		end();
		await expect.poll(async () => (await texts(id)).length).toBe(34);
	});
});

test('after a cancelled tool call, the model reads that the outcome of the call is not known', async () => {
	const id = await createSession();
	const { requests } = play({ toolCalls: [{ id: 'u', name: 'unsafe', input: {} }] }, 'I will look.');
	for await (const event of readEvents(await say(id, 'go'))) if (event.type === 'stop') break;
	await request(`/v1/sessions/${id}/cancel`, {});
	expect(readText(await allEvents(await say(id, 'and?')))).toBe('I will look.');
	expect(requests[1]?.messages.at(-2)).toMatchObject({ role: 'tool', content: expect.stringContaining('not known') });
});

describe('a steering message', () => {
	test('reaches the current run before its next turn', async () => {
		const gate = Promise.withResolvers<void>();
		const id = await createSession();
		const { requests } = play(async () => {
			await gate.promise;
			return { text: 'Let me see.', toolCalls: [{ id: 'a', name: 'echo', input: { text: 'hi' } }] };
		}, 'In French: bonjour.');
		const first = await say(id, 'first');
		const steering = await say(id, 'in French', { whenBusy: 'steer' });
		gate.resolve();
		expect((await allEvents(first)).at(-1)).toMatchObject({ type: 'done', data: { text: 'In French: bonjour.' } });
		expect((await allEvents(steering)).at(-1)?.type).toBe('done');
		expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
		const live = await allEvents(await follow(id));
		await restart(id);
		expect(await allEvents(await follow(id))).toEqual(live);
	});

	test('makes the current run continue with another turn', async () => {
		const { id, first, end, requests } = await busy('two');
		await say(id, 'and now?', { whenBusy: 'steer' }, async);
		end();
		const events = await allEvents(first);
		expect(readText(events)).toBe('onetwo');
		expect(events.filter(({ type }) => type === 'step')).toHaveLength(2);
		expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
		await restart(id);
		expect(readText(await allEvents(await follow(id)))).toBe('onetwo');
	});

	test('begins its own run when the current run fails', async () => {
		const gate = Promise.withResolvers<void>();
		const id = await createSession();
		play(async () => {
			await gate.promise;
			return Object.assign(new Error('no'), { status: 401 });
		}, 'two');
		const first = await say(id, 'first');
		const second = say(id, 'second', { whenBusy: 'steer' }, {});
		await expect.poll(() => readState(id)).toMatchObject({ waiting: 1 });
		gate.resolve();
		expect((await allEvents(first)).at(-1)?.type).toBe('error');
		expect(await (await second).json()).toMatchObject({ text: 'two' });
		await expect.poll(() => texts(id)).toEqual(['user: first', 'user: second', 'assistant: two']);
	});
});

test('refuses an unknown whenBusy', async () => {
	const refused = await say(await createSession(), 'hi', { whenBusy: 'never' });
	expect(refused.status).toBe(400);
	expect(await refused.json()).toMatchObject({ error: { data: { field: 'whenBusy' } } });
});

test('a queued message gets its run even if its reader leaves', async () => {
	const { id, end } = await busy('two');
	const second = await say(id, 'second');
	await readEvents(second).return();
	await second.body?.cancel().catch(() => {});
	end();
	await expect.poll(() => texts(id)).toHaveLength(4);
});
