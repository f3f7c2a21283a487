import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import {
	allEvents,
	createSession,
	follow,
	querySession,
	readHistory,
	readNextAlarm,
	readObject,
	readState,
	readText,
	request,
	restart,
	send,
} from '../../client.ts';
import { play } from '../../script.ts';
import { forever, post, readHalf, readTo } from './stage.ts';

const call = (id: string, name: string, input: unknown = {}) => ({ id, name, input });

/** Sends a message and reads the run until an event of this type. */
const until = async (id: string, type: string) => readTo(await send(id, 'go'), { type });

const results = (messages: readonly { role: string }[] = []) => messages.filter(({ role }) => role === 'tool');

describe('a run whose object died', () => {
	test('is resumed by the alarm, which restarts the interrupted turn', async () => {
		const id = await createSession();
		const woken = Promise.withResolvers<string>();
		const { requests } = play(readHalf('Half of'), () => woken.promise);
		await until(id, 'text');
		await restart(id);
		expect(await runDurableObjectAlarm(readObject(id))).toBe(true);
		expect(requests).toHaveLength(2);
		woken.resolve('The whole answer.');
		const events = await allEvents(await follow(id));
		expect(events.at(-1)).toMatchObject({ type: 'done', data: { text: 'The whole answer.' } });
		expect(await readHistory(id)).toMatchObject([
			{ role: 'user' },
			{ role: 'assistant', content: 'The whole answer.' },
		]);
	});

	test('shows a returning reader the restart before the new turn', async () => {
		const id = await createSession();
		play({ text: 'First.', toolCalls: [call('a', 'echo', { text: 'hi' })] }, readHalf('Half'), 'Second.');
		const seen = await readTo(await send(id, 'go'), { text: 'Half' });
		await restart(id);
		const rest = await allEvents(await follow(id, seen.at(-1)?.id));
		expect(rest.map(({ type }) => type)).toEqual(['turn.restarted', 'text', 'stop', 'step', 'done']);
		expect(rest[0]?.data).toMatchObject({ iteration: 2 });
		expect(readText(rest)).toBe('Second.');
		const later = await allEvents(await follow(id));
		expect(later.map(({ type }) => type)).toEqual([
			...['run.started', 'text', 'tool_use_start', 'tool_use_input', 'tool_use_end', 'stop', 'tool_result', 'step'],
			...['turn.restarted', 'text', 'stop', 'step', 'done'],
		]);
		await restart(id);
		expect(await allEvents(await follow(id))).toEqual(later);
		for (const [at, event] of later.entries())
			expect(await allEvents(await follow(id, event.id)), `behind ${event.id}`).toEqual(later.slice(at + 1));
	});

	test('gives a later reader the turn’s stored drafts before `turn.restarted`', async () => {
		const id = await createSession();
		const followed = Promise.withResolvers<string>();
		play(readHalf('Half'), () => followed.promise);
		await until(id, 'text');
		await expect.poll(() => readDraft(id), { timeout: 30_000 }).toContain('Half');
		await restart(id);
		const response = await follow(id);
		followed.resolve('Whole.');
		const events = await allEvents(response);
		expect(events.map(({ type }) => type)).toEqual([
			'run.started',
			'text',
			'turn.restarted',
			'text',
			'stop',
			'step',
			'done',
		]);
	});

	test('repeats a safe tool with the same call id, and other begun calls get an unknown outcome', async () => {
		const id = await createSession();
		const { requests } = play({ toolCalls: [call('u', 'unsafe'), call('s', 'safe')] }, 'I will look first.');
		await until(id, 'stop');
		await restart(id);
		const events = await allEvents(await follow(id));
		expect(readText(events)).toBe('I will look first.');
		expect(events.some(({ type }) => type === 'turn.restarted')).toBe(false);
		expect(results(requests[1]?.messages)).toMatchObject([
			{ toolCallId: 'u', isError: true, content: expect.stringContaining('not known') },
			{ toolCallId: 's', isError: false, content: 'run 2' },
		]);
		expect(events.filter(({ type }) => type === 'step')[0]?.data).toMatchObject({
			iteration: 1,
			toolCalls: [{ id: 'u' }, { id: 's' }],
			toolResults: [{ id: 'u' }, { id: 's' }],
		});
	});

	test('runs a call that had not begun because it waited for an interrupted call', async () => {
		const id = await createSession();
		const { requests } = play({ toolCalls: [call('u', 'unsafe'), call('l', 'last', { text: 'now' })] }, 'Done.');
		await until(id, 'stop');
		await restart(id);
		expect(readText(await allEvents(await follow(id)))).toBe('Done.');
		expect(results(requests[1]?.messages)).toMatchObject([
			{ toolCallId: 'u', isError: true },
			{ toolCallId: 'l', isError: false, content: 'now' },
		]);
	});

	test('asks for missing approvals, and does not repeat a call that may have run', async () => {
		const id = await createSession();
		const pay = call('p', 'pay', { amount: 5 });
		play({ toolCalls: [pay, call('n', 'cheap', { amount: 1 })] });
		await until(id, 'stop');
		await restart(id);
		expect((await allEvents(await follow(id))).at(-1)).toMatchObject({
			type: 'awaiting',
			data: { toolCalls: [{ id: 'p', kind: 'approval' }] },
		});
		expect(results(await readHistory(id))).toMatchObject([{ toolCallId: 'n', isError: true }]);
	});

	test('ends as done without a further request if the last message was stored', async () => {
		const id = await createSession();
		const { requests } = play('Complete.');
		await allEvents(await send(id, 'go'));
		await reopen(id);
		expect((await allEvents(await follow(id))).at(-1)).toMatchObject({ type: 'done', data: { text: 'Complete.' } });
		expect(requests).toHaveLength(1);
	});

	test('stays halted if the halting result was stored', async () => {
		const id = await createSession();
		const { requests } = play({ toolCalls: [call('h', 'stop')] });
		await allEvents(await send(id, 'go'));
		await reopen(id);
		expect((await allEvents(await follow(id))).at(-1)).toMatchObject({ type: 'halted', data: { reason: 'stopped' } });
		expect(requests).toHaveLength(1);
	});

	test('repeats a stored question without running its tool again', async () => {
		const id = await createSession();
		play({ toolCalls: [call('q', 'ask', { question: 'Which?' })] });
		await allEvents(await send(id, 'go'));
		await runInDurableObject(readObject(id), (_, { storage }) => storage.sql.exec('UPDATE call SET created_at = 1'));
		await reopen(id);
		expect((await allEvents(await follow(id))).at(-1)).toMatchObject({
			type: 'awaiting',
			data: { question: { callId: 'q', question: 'Which?' } },
		});
		expect(
			await runInDurableObject(readObject(id), (_, { storage }) =>
				storage.sql.exec('SELECT created_at FROM call WHERE state = ?', 'begun').one(),
			),
		).toEqual({ created_at: 1 });
	});

	test('stops at its limit of turns, counted over all attempts', async () => {
		const id = await createSession();
		play(Object.assign(new Error('no'), { status: 401 }));
		await allEvents(await send(id, 'go'));
		play({ toolCalls: [call('s', 'unsafe')] }, 'Too much.');
		const response = await request(`/v1/sessions/${id}/step`, {}, { accept: 'text/event-stream' });
		await readTo(response, { type: 'stop' });
		await restart(id);
		expect((await allEvents(await follow(id))).at(-1)).toMatchObject({ type: 'awaiting', data: { toolCalls: [] } });
	});

	test('ends as interrupted after three attempts without progress, and can be continued', async () => {
		const id = await createSession();
		const { requests } = play(forever, forever, forever, forever);
		await until(id, 'run.started');
		for (const _ of [1, 2, 3]) {
			await expect.poll(() => requests.length).toBe(_);
			await restart(id);
			await readState(id);
		}
		expect(await readState(id)).toMatchObject({ status: 'error', error: { code: 'interrupted' } });
		const events = await allEvents(await follow(id));
		expect(events.map(({ type }) => type)).toEqual(['run.started', 'turn.restarted', 'turn.restarted', 'error']);
		expect(requests).toHaveLength(3);
		play('Back.');
		const continued = await request(`/v1/sessions/${id}/continue`, {}, { accept: 'text/event-stream' });
		expect(readText(await allEvents(continued))).toBe('Back.');
	});

	test('is followed by the run of a queued message, whose model reads which outcomes are unknown', async () => {
		const id = await createSession();
		const { requests } = play({ toolCalls: [call('u', 'unsafe')] }, 'I will look.');
		await until(id, 'stop');
		await post(id, { text: 'next' });
		await querySession(id, 'UPDATE run SET attempt = 10');
		await restart(id);
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
		expect(results(requests[1]?.messages)).toMatchObject([
			{ toolCallId: 'u', isError: true, content: expect.stringContaining('not known') },
		]);
	});

	test('has at most ten attempts, even with progress', async () => {
		const id = await createSession();
		const turn = (n: number) => ({ toolCalls: [call(`e${n}`, 'echo', { text: String(n) }), call(`u${n}`, 'unsafe')] });
		play(...Array.from({ length: 12 }, (_, n) => turn(n)));
		await until(id, 'stop');
		for (let life = 1; life <= 10; life++) {
			await restart(id);
			await expect
				.poll(async () => (await readState(id)).status === 'error' || (await readHistory(id)).length >= 3 * life)
				.toBe(true);
		}
		expect(await readState(id)).toMatchObject({ status: 'error', error: { code: 'interrupted' } });
	});

	test('fails with the reason if its agent no longer exists', async () => {
		const id = await createSession();
		play(forever);
		await until(id, 'run.started');
		await runInDurableObject(readObject(id), (_, { storage }) => storage.sql.exec("UPDATE session SET agent = 'gone'"));
		await restart(id);
		expect((await allEvents(await follow(id))).at(-1)).toMatchObject({ type: 'error', data: { code: 'not_found' } });
	});
});

test('the alarm is set again during a run, but not after the run', async () => {
	const end = Promise.withResolvers<void>();
	play(async () => {
		await end.promise;
		return 'done';
	});
	const id = await createSession();
	const response = await send(id, 'go');
	const alarm = () => runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm());
	expect(await alarm()).not.toBeNull();
	await runDurableObjectAlarm(readObject(id));
	expect(await alarm()).not.toBeNull();
	end.resolve();
	expect(readText(await allEvents(response))).toBe('done');
	// Wait until its owner's ledger got its report.
	await expect.poll(() => readNextAlarm(id)).toBeNull();
});

async function readDraft(id: string): Promise<string> {
	const [run] = await querySession<{ draft: string | null }>(id, 'SELECT draft FROM run');
	return String(run?.draft);
}

/** A crash between a run's last message and its end. */
async function reopen(id: string): Promise<void> {
	await runInDurableObject(readObject(id), (_, { storage }) =>
		storage.sql.exec("UPDATE run SET status = 'running', tail = NULL, ended_at = NULL"),
	);
	await restart(id);
}
