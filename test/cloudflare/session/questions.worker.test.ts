import { beforeEach, describe, expect, test } from 'vitest';
import type { CrashPointName } from '../../../src/cloudflare/agent/runtime.ts';
import {
	allEvents,
	createSession,
	follow,
	readHistory,
	readState,
	readStatusUnlessDead,
	request,
	restart,
	send,
} from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { ordering } from '../../worker.ts';
import { forever } from './stage.ts';

beforeEach(() => {
	atCrashPoint();
	ordering.taken.length = 0;
	ordering.hold = async () => {};
});

const calls = { toolCalls: [{ id: 'o', name: 'order', input: { thing: 'hat' } }] };
const answer = (id: string, text: string, headers = {}) => request(`/v1/sessions/${id}/answer`, { text }, headers);
const patient = { prefer: 'respond-async' };
const unknown = expect.stringContaining('it is not known whether this call was carried out');

async function readResult(id: string) {
	return (await readHistory(id)).find(({ role }) => role === 'tool');
}

/** Lets the tool ask for a size, and sends the answer. */
async function answerSize(id: string): Promise<void> {
	await allEvents(await send(id, 'A hat, please.'));
	expect(await readState(id)).toMatchObject({ status: 'awaiting_user', question: { question: 'Which size of hat?' } });
	await (await answer(id, 'M')).text();
	expect(await readState(id)).toMatchObject({ status: 'awaiting_user', question: { question: 'Which colour?' } });
}

describe('a question whose tool takes the answer', () => {
	test('is answered over HTTP, and its tool returns the result of the call', async () => {
		const id = await createSession('ordering');
		const { requests } = play(calls, 'Ordered.');
		await answerSize(id);
		expect(await (await answer(id, 'red')).json()).toMatchObject({ status: 'completed', text: 'Ordered.' });
		expect(await readResult(id)).toMatchObject({ content: 'hat, M, red', isError: false });
		expect(requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
	});

	test('is answered by the next message, also after an eviction of the object', async () => {
		const id = await createSession('ordering');
		play(calls, 'Ordered.');
		await allEvents(await send(id, 'A hat, please.'));
		await restart(id);
		await allEvents(await send(id, 'M'));
		await restart(id);
		const events = await allEvents(await send(id, 'red'));
		expect(events.at(-1)).toMatchObject({ type: 'done', data: { text: 'Ordered.' } });
		expect(events.filter(({ type }) => type === 'note').map(({ data }) => [data.label, data.detail])).toEqual([
			['Answer', 'red'],
		]);
	});

	test('keeps the data of its tool private', async () => {
		const id = await createSession('ordering');
		play(calls, 'Ordered.');
		await answerSize(id);
		const shown = [
			await (await request(`/v1/sessions/${id}`)).text(),
			await (await request(`/v1/sessions/${id}/messages`)).text(),
			await (await request(`/v1/sessions/${id}/export`)).text(),
			JSON.stringify(await allEvents(await follow(id))),
		];
		expect(shown.join('')).not.toContain('kept for the tool');
	});

	test('accepts an answer once, and the repeated request gets the same run', async () => {
		const id = await createSession('ordering');
		play(calls, 'Ordered.');
		await answerSize(id);
		const headers = { 'idempotency-key': 'once' };
		await (await answer(id, 'red', headers)).text();
		await (await answer(id, 'red', headers)).text();
		expect(ordering.taken).toEqual(['red']);
		expect((await answer(id, 'blue')).status).toBe(409);
	});
});

test('an answer can have a file and another model, and an answer without content is refused', async () => {
	const id = await createSession('scripted');
	const { requests } = play({ toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which day?' } }] }, 'Noted.');
	await allEvents(await send(id, 'Go'));
	expect((await request(`/v1/sessions/${id}/answer`, { callId: 'q' })).status).toBe(400);
	const attachments = [{ name: 'days.txt', type: 'text/plain', size: 7, contentText: 'Fridays' }];
	const given = { text: 'See there.', attachments, model: 'scripted-unpriced', callId: 'q' };
	expect(await (await request(`/v1/sessions/${id}/answer`, given)).json()).toMatchObject({ status: 'completed' });
	expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toMatch(/See there\..*Fridays/);
	expect(await readState(id)).toMatchObject({ model: 'scripted-unpriced' });
});

describe('an answered call', () => {
	const points: readonly CrashPointName[] = ['accepted', 'tool-begin', 'tool-end', 'ended'];
	test.each(points)('runs at most once and the session’s run ends if the object dies at %s', async (point) => {
		const id = await createSession('ordering');
		play(calls, 'Over.', 'Over.');
		await answerSize(id);
		let deaths = 0;
		atCrashPoint((name) => (name === point && deaths++ === 0 ? die(id, { isDurable: true }) : undefined));
		await answer(id, 'red', patient).catch(() => {});
		await expect.poll(() => readStatusUnlessDead(id), { timeout: 30_000 }).toBe('completed');
		expect(deaths).toBeGreaterThan(0);
		const { content } = (await readResult(id)) ?? {};
		if (content === 'hat, M, red') expect(ordering.taken).toEqual(['red']);
		else expect([content, ordering.taken]).toEqual([unknown, []]);
	});

	test('does not run again if the object dies during its tool, because the outcome is unknown', async () => {
		const id = await createSession('ordering');
		play(calls, 'I do not know.');
		await answerSize(id);
		ordering.hold = forever;
		await answer(id, 'red', patient);
		await expect.poll(() => ordering.taken).toEqual(['red']);
		ordering.hold = async () => {};
		await restart(id);
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
		expect(ordering.taken).toEqual(['red']);
		expect(await readResult(id)).toMatchObject({ isError: true, content: unknown });
	});
});
