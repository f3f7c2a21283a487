import { runDurableObjectAlarm } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { TraceSpan } from '../../../src/cloudflare/wire/trace.ts';
import { createSession, readObject, request, restart } from '../../client.ts';
import { countWork } from '../../rows.ts';
import { play } from '../../script.ts';
import { collector } from '../../worker.ts';
import { call, collect, pass, passAlarms, readSpans, readTrace, stopClock, toSession } from './collector.ts';

const say = async (id: string, text: string) =>
	(await request(`/v1/sessions/${id}/messages`, { text })).json<Record<string, unknown>>();
const toRuns = ({ attributes }: TraceSpan): unknown[] => {
	const ids = Object(attributes.find(({ key }) => key === 'runlet.run.ids')?.value).arrayValue?.values ?? [];
	return ids.map(({ stringValue }: { stringValue: string }) => stringValue);
};
beforeEach(stopClock);
afterEach(() => {
	vi.restoreAllMocks();
	collector.url = undefined;
});

test('the trace of a run is exported when the run has ended, with the spans of the route', async () => {
	const { requests, spans } = await collect();
	const id = await createSession();
	play({ toolCalls: [call('c', 'echo', { text: 'secret' })] }, 'Done.');
	await say(id, 'Go');
	await passAlarms(id);
	expect(await spans(id)).toHaveLength(4);
	expect(await spans(id)).toEqual(await readTrace(id));
	const [{ headers, body } = { headers: {}, body: '' }, ...more] = await requests();
	expect(more).toEqual([]);
	expect(headers).toMatchObject({ 'content-type': 'application/json', authorization: 'Bearer collector' });
	expect(body).not.toContain('secret');
});

test('each run is exported once, also by later instances of its object', async () => {
	const { spans } = await collect();
	const id = await createSession();
	for (const text of ['One', 'Two', 'Three', 'Four']) {
		play(text);
		await say(id, text);
		await passAlarms(id);
		await restart(id);
	}
	const all = await spans(id);
	expect(all).toHaveLength(8);
	expect(new Set(all.map(({ traceId }) => traceId)).size).toBe(4);
});

test('a run that waits for a person is exported when it is over, as one trace', async () => {
	const { spans } = await collect();
	const id = await createSession();
	play({ toolCalls: [call('p', 'pay', { amount: 5 })] });
	await say(id, 'Pay 5');
	await passAlarms(id);
	await restart(id);
	pass(3 * 86_400_000);
	play('Paid.');
	await request(`/v1/sessions/${id}/tool-results`, [{ id: 'p', approve: true }]);
	await passAlarms(id);
	const all = await spans(id);
	expect(all).toEqual(await readTrace(id));
	const [root] = all;
	const approval = all.find(({ name }) => name === 'approval pay');
	const last = (span: TraceSpan | undefined) =>
		Number(BigInt(span?.endTimeUnixNano ?? 0) - BigInt(span?.startTimeUnixNano ?? 0)) / 1e6;
	expect([last(root), last(approval)]).toEqual([expect.any(Number), expect.any(Number)]);
	expect(last(approval)).toBeGreaterThanOrEqual(3 * 86_400_000);
	expect(all.every(({ traceId }) => traceId === root?.traceId)).toBe(true);
});

describe('while the target', () => {
	test.each([0, 401, 404, 429, 500, 503])('answers %i, nothing is lost', async (status) => {
		const { requests, spans } = await collect(...Array(6).fill(status));
		const id = await createSession();
		for (const text of ['One', 'Two', 'Three']) {
			play(text);
			expect(await say(id, text)).toMatchObject({ status: 'completed' });
		}
		await restart(id);
		const pauses = await passAlarms(id);
		expect((await requests()).length).toBeLessThanOrEqual(9);
		// All that is due goes in one request.
		expect(readSpans((await requests()).at(-1)?.body ?? '').filter((span) => toSession(span) === id)).toHaveLength(6);
		expect(new Set((await spans(id)).map(({ spanId }) => spanId)).size).toBe(6);
		if (status === 429) expect(Math.max(...pauses)).toBeGreaterThanOrEqual(590_000);
	});

	test('is down for three days, a trace is given up with a line in the log', async () => {
		const warn = vi.spyOn(console, 'warn');
		const { requests } = await collect(...Array(500).fill(503));
		const id = await createSession();
		play('One');
		const { runId } = await say(id, 'One');
		const pauses = await passAlarms(id);
		expect(Math.max(...pauses)).toBeLessThanOrEqual(3_600_000);
		const days = pauses.reduce((sum, pause) => sum + pause, 0) / 86_400_000;
		expect([days >= 3, days < 3.1]).toEqual([true, true]);
		expect((await requests()).length).toBeLessThan(120);
		const dropped = warn.mock.calls.map(([line]) => JSON.parse(line)).filter(({ event }) => event === 'trace.dropped');
		expect(dropped).toEqual([expect.objectContaining({ 'runlet.run.id': runId })]);
	});

	test('refuses a trace, the trace is dropped with a line in the log', async () => {
		const warn = vi.spyOn(console, 'warn');
		const { requests } = await collect(400);
		const id = await createSession();
		play('One');
		await say(id, 'One');
		await passAlarms(id);
		expect(await requests()).toHaveLength(1);
		const dropped = warn.mock.calls.map(([line]) => JSON.parse(line)).filter(({ event }) => event === 'trace.dropped');
		expect(dropped).toEqual([expect.objectContaining({ 'http.response.status_code': 400 })]);
	});

	test('refuses one of several traces, only the refused trace is dropped', async () => {
		const warn = vi.spyOn(console, 'warn');
		const { requests } = await collect(503, 400, 200, 400);
		const id = await createSession();
		const runs: unknown[] = [];
		for (const text of ['One', 'Two', 'Three']) {
			play(text);
			runs.push((await say(id, text)).runId);
		}
		await passAlarms(id);
		const sent = (await requests()).map(({ body }) => readSpans(body).flatMap(toRuns));
		expect(sent).toEqual([runs, runs, [runs[0]], [runs[1]], [runs[2]]]);
		const dropped = warn.mock.calls.map(([line]) => JSON.parse(line)).filter(({ event }) => event === 'trace.dropped');
		expect(dropped).toEqual([expect.objectContaining({ 'runlet.run.id': runs[1], 'http.response.status_code': 400 })]);
	});

	test('does not answer, the next run begins and ends as always', async () => {
		const { spans } = await collect(-1);
		const id = await createSession();
		for (const text of ['One', 'Two']) {
			play(text);
			expect(await say(id, text)).toMatchObject({ status: 'completed', text });
		}
		await restart(id);
		await passAlarms(id);
		expect(new Set((await spans(id)).map(({ spanId }) => spanId)).size).toBe(4);
	});
});

test('a session stays until its traces are exported', async () => {
	const { spans } = await collect(...Array(20).fill(503));
	const id = await createSession('fleeting');
	play('One');
	await say(id, 'One');
	await passAlarms(id);
	expect(new Set((await spans(id)).map(({ spanId }) => spanId)).size).toBe(2);
	expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
});

test('a session that was made again under the id of a deleted one exports its runs', async () => {
	const { spans } = await collect();
	const chat = crypto.randomUUID();
	const post = async (text: string) => {
		play(text);
		const message = { id: text, role: 'user', parts: [{ type: 'text', text }] };
		const chunks = await (await request('/v1/ui/scripted', { id: chat, messages: [message] })).text();
		return /"sessionId":"(\w+)"/.exec(chunks)?.[1] ?? '';
	};
	const target = collector.url ?? '';
	const sent = Promise.withResolvers<void>();
	const held = Promise.withResolvers<void>();
	const ask = globalThis.fetch;
	const fetch = vi.spyOn(globalThis, 'fetch').mockImplementation(async (to, init) => {
		if (String(to) !== target || init?.method !== 'POST') return ask(to, init);
		sent.resolve();
		await held.promise;
		return ask(to, init);
	});
	const id = await post('One');
	const alarm = runDurableObjectAlarm(readObject(id));
	await sent.promise;
	await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE');
	pass(1);
	expect(await post('Two')).toBe(id);
	held.resolve();
	await alarm;
	expect(await spans(id)).toHaveLength(2);
	fetch.mockRestore();
	await passAlarms(id);
	expect(await spans(id)).toHaveLength(4);
});

test('a copy of a session exports none of the copied runs', async () => {
	const { spans } = await collect();
	const id = await createSession();
	play('One');
	await say(id, 'One');
	const { id: copy } = await (await request(`/v1/sessions/${id}/fork`, {})).json<{ id: string }>();
	play('Two');
	await say(copy, 'Two');
	await passAlarms(copy);
	expect(await spans(copy)).toHaveLength(2);
});

test('an export writes no row and sets no alarm', async () => {
	const measure = async (isExporting: boolean) => {
		const { spans } = isExporting ? await collect() : { spans: async () => Array(12) };
		if (!isExporting) collector.url = undefined;
		const id = await createSession();
		const work = countWork(readObject(id).id.toString());
		for (const text of ['One', 'Two', 'Three']) {
			play({ toolCalls: [call('c', 'echo', { text })] }, text);
			await say(id, text);
		}
		await passAlarms(id);
		expect(await spans(id)).toHaveLength(12);
		// A list that is slow gets its report by the outbox, with and without an export.
		return work().filter(({ rows, what }) => rows > 0 && !what.includes('outbox'));
	};
	const toRows = (work: Awaited<ReturnType<typeof measure>>) =>
		work.map(({ what, rows }) => `${what.slice(0, 30)} ${rows}`);
	expect(toRows(await measure(true))).toEqual(toRows(await measure(false)));
});

test('where nothing is exported, a run reads no earlier runs', async () => {
	collector.url = undefined;
	const id = await createSession();
	const work = countWork(readObject(id).id.toString());
	const counts: number[] = [];
	for (const text of ['One', 'Two', 'Three', 'Four', 'Five']) {
		play(text);
		await say(id, text);
		await passAlarms(id);
		counts.push(work().filter(({ what }) => what === 'SELECT * FROM run WHERE n = ?').length);
	}
	expect(counts.slice(2)).toEqual([counts[1], counts[1], counts[1]]);
});

test.each([200, 503])('where the target answers %i, a turn reads no earlier run for the export', async (status) => {
	const measure = async (isExporting: boolean) => {
		if (isExporting) await collect(...Array(20).fill(status));
		else collector.url = undefined;
		const id = await createSession();
		const work = countWork(readObject(id).id.toString());
		for (const text of ['One', 'Two', 'Three', 'Four']) {
			play(text);
			await say(id, text);
			// The alarm waits for the export.
			await runDurableObjectAlarm(readObject(id));
		}
		return work().filter(({ what }) => what === 'SELECT * FROM run WHERE n = ?').length;
	};
	expect(await measure(true)).toBe(await measure(false));
});
