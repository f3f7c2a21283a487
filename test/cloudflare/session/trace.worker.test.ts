import { runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { traceStream } from '../../../src/cloudflare/session/ui/trace.ts';
import type { TraceSpan } from '../../../src/cloudflare/wire/trace.ts';
import type { ScriptedFn } from '../../../src/core/providers/scripted.ts';
import {
	createSession,
	querySession,
	readEvents,
	readHistory,
	readObject,
	readState,
	request,
	restart,
	send,
} from '../../client.ts';
import { counted } from '../../rows.ts';
import { play } from '../../script.ts';
import { cast, createEditor, give, readChildren, usage } from './family.ts';

type Json = string | number | readonly string[];

interface Span extends Pick<TraceSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'kind' | 'links' | 'status'> {
	/** Milliseconds since 1970. */
	readonly begin: number;
	readonly end: number;
	readonly about: Readonly<Record<string, Json>>;
}

const call = (id: string, name: string, input: object) => ({ id, name, input: { ...input } });
const readTrace = (id: string, query = '') => request(`/v1/sessions/${id}/trace${query}`);

async function readSpans(id: string, query = ''): Promise<Span[]> {
	const response = await readTrace(id, query);
	expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
	const { resourceSpans } = await response.json<{ resourceSpans: { resource: object; scopeSpans: object[] }[] }>();
	expect(resourceSpans).toMatchObject([
		{ resource: { attributes: [{ key: 'service.name', value: { stringValue: 'runlet' } }] } },
	]);
	const spans: TraceSpan[] = Object(resourceSpans[0]?.scopeSpans[0]).spans;
	return spans.map(({ startTimeUnixNano, endTimeUnixNano, attributes, ...span }) => {
		expect([startTimeUnixNano, endTimeUnixNano].join()).toMatch(/^\d{13}000000,\d{13}000000$/);
		const about = Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]));
		return { ...span, begin: Number(startTimeUnixNano) / 1e6, end: Number(endTimeUnixNano) / 1e6, about };
	});
}

function readValue(value: TraceSpan['attributes'][number]['value']): Json {
	if ('stringValue' in value) return value.stringValue;
	if ('intValue' in value) return Number(value.intValue);
	return 'doubleValue' in value ? value.doubleValue : value.arrayValue.values.map((one) => one.stringValue);
}

const say = async (id: string, text: string): Promise<Record<string, unknown>> =>
	(await request(`/v1/sessions/${id}/messages`, { text })).json();
const decide = async (id: string, ...answers: object[]) =>
	(await request(`/v1/sessions/${id}/tool-results`, answers)).json<Record<string, unknown>>();
const namesOf = (spans: readonly Span[]) => spans.map(({ name }) => name);
const findSpan = (spans: readonly Span[], name: string): Span => {
	const found = spans.filter((span) => span.name === name);
	expect([name, found.length]).toEqual([name, 1]);
	return found[0] ?? expect.fail(name);
};

/** Answers with a part of a text, and never ends. */
const hang: ScriptedFn = (_, onDelta) => {
	void onDelta({ type: 'text', text: 'Half of' });
	return new Promise(() => {});
};
async function readUntilText(response: Response) {
	const events = readEvents(response);
	for await (const { type } of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) })
		if (type === 'text') break;
	return events;
}

let now = Date.UTC(2030, 0, 7);
const pass = (milliseconds: number): void => {
	now += milliseconds;
};
beforeEach(() => {
	vi.spyOn(Date, 'now').mockImplementation(() => now);
});
afterEach(() => {
	vi.restoreAllMocks();
});
/** A wait in milliseconds, short enough for the time limits of calls between objects. */
const wait = 2_000;

test('a run with a tool is one trace: its replies and its calls are below the agent', async () => {
	const id = await createSession();
	const [first, second] = [
		{ toolCalls: [call('c', 'echo', { text: 'hi' })], usage: { ...usage(200, 10), provider: 'mistral' } },
		'It says hi.',
	];
	play(
		() => {
			pass(1_500);
			return first;
		},
		() => {
			pass(500);
			return second;
		},
	);
	const begun = now;
	const { runId } = await say(id, 'Go');
	const spans = await readSpans(id);
	expect(namesOf(spans)).toEqual(['invoke_agent scripted', 'chat scripted', 'execute_tool echo', 'chat scripted']);
	const [root, asks, calls, says] = spans;
	expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
	expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
	for (const { traceId, spanId } of spans)
		expect([traceId, spanId]).toEqual([
			expect.stringMatching(/^[0-9a-f]{32}$/),
			expect.stringMatching(/^[0-9a-f]{16}$/),
		]);
	expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, ...Array(3).fill(root?.spanId)]);
	expect(spans.map(({ kind }) => kind)).toEqual([1, 3, 1, 3]);
	expect(spans.map(({ begin, end }) => [begin - begun, end - begun])).toEqual([
		[0, 2_000],
		[0, 1_500],
		[1_500, 1_500],
		[1_500, 2_000],
	]);
	expect(root?.about).toEqual({
		'gen_ai.operation.name': 'invoke_agent',
		'gen_ai.provider.name': 'unknown',
		'gen_ai.request.model': 'scripted',
		'gen_ai.agent.name': 'scripted',
		'gen_ai.conversation.id': id,
		'runlet.run.ids': [runId],
		'runlet.run.status': 'completed',
	});
	expect(asks?.about).toMatchObject({
		'gen_ai.operation.name': 'chat',
		'gen_ai.request.model': 'scripted',
		'gen_ai.provider.name': 'mistral_ai',
		'gen_ai.response.finish_reasons': ['tool_use'],
		'gen_ai.usage.input_tokens': 200,
		'gen_ai.usage.output_tokens': 10,
		'runlet.cost.usd': 0.21,
	});
	expect(calls?.about).toEqual({
		'gen_ai.operation.name': 'execute_tool',
		'gen_ai.conversation.id': id,
		'gen_ai.tool.name': 'echo',
		'gen_ai.tool.call.id': 'c',
	});
	expect(says?.about['gen_ai.response.finish_reasons']).toEqual(['end_turn']);
});

test('the dollars of the replies are the dollars of the ledger', async () => {
	const id = await createSession();
	play({ toolCalls: [call('c', 'echo', { text: 'hi' })], usage: usage(200, 10) }, { text: 'Hi.', usage: usage(30, 5) });
	await say(id, 'Go');
	const spans = await readSpans(id);
	const costs = spans.flatMap(({ about }) => Number(about['runlet.cost.usd'] ?? []));
	expect(costs.reduce((sum, usd) => sum + usd, 0)).toBeCloseTo(Object(await readState(id)).budget.spent.usd, 9);
	const requests = await querySession<{ usd: number }>(id, 'SELECT usd FROM spending WHERE settled = 1');
	expect(costs).toEqual(expect.arrayContaining(requests.map(({ usd }) => usd)));
});

describe('a run that waits for a person', () => {
	test.each([false, true])('is one trace with the wait as a span (the object dies meanwhile: %s)', async (dies) => {
		const id = await createSession();
		play({ toolCalls: [call('p', 'pay', { amount: 5 })] });
		const asked = await say(id, 'Pay 5');
		expect(asked).toMatchObject({ status: 'awaiting_tools' });
		const waiting = await readSpans(id);
		expect(namesOf(waiting)).toEqual(['invoke_agent scripted', 'chat scripted']);
		const begun = now;
		pass(2 * wait);
		if (dies) await restart(id);
		play(() => {
			pass(500);
			return 'Paid.';
		});
		const done = await decide(id, { id: 'p', approve: true });
		expect(done).toMatchObject({ status: 'completed' });
		const spans = await readSpans(id);
		expect(namesOf(spans).sort()).toEqual(
			['approval pay', 'chat scripted', 'chat scripted', 'execute_tool pay', 'invoke_agent scripted'].sort(),
		);
		const root = findSpan(spans, 'invoke_agent scripted');
		expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([waiting[0]?.traceId]));
		expect(root.about['runlet.run.ids']).toEqual([asked.runId, done.runId]);
		expect([root.spanId, root.end - begun]).toEqual([waiting[0]?.spanId, 2 * wait + 500]);
		const approval = findSpan(spans, 'approval pay');
		expect([approval.begin, approval.end, approval.parentSpanId]).toEqual([begun, begun + 2 * wait, root.spanId]);
		expect(approval.about).toMatchObject({ 'gen_ai.tool.call.id': 'p', 'gen_ai.tool.name': 'pay' });
		// A tool does not work while its call waits for the approval.
		expect(findSpan(spans, 'execute_tool pay').begin).toBe(begun + 2 * wait);
	});

	test('has a span for each question, which ends with its answer', async () => {
		const id = await createSession('ordering');
		play({ toolCalls: [call('o', 'order', { thing: 'a shirt' })] }, 'Ordered.');
		await say(id, 'Order');
		pass(wait);
		await say(id, 'M');
		pass(2 * wait);
		await say(id, 'red');
		const spans = await readSpans(id);
		const waits = spans.filter(({ name }) => name === 'question order');
		expect(waits.map(({ begin, end }) => end - begin)).toEqual([wait, 2 * wait]);
		expect(new Set(waits.map(({ spanId }) => spanId)).size).toBe(2);
		expect(spans.filter(({ name }) => name.startsWith('invoke_agent'))).toHaveLength(1);
		const ordered = findSpan(spans, 'execute_tool order');
		expect(ordered.end - ordered.begin).toBe(3 * wait);
	});

	test('ends the approval of a denied call with the denial, and the call has the error', async () => {
		const id = await createSession();
		play({ toolCalls: [call('a', 'pay', { amount: 1 }), call('b', 'pay', { amount: 2 })] }, 'One is paid.');
		await say(id, 'Pay');
		const begun = now;
		pass(wait);
		await decide(id, { id: 'a', approve: false });
		const during = await readSpans(id);
		expect(findSpan(during, 'execute_tool pay')).toMatchObject({
			about: { 'error.type': 'denied' },
			status: { code: 2 },
		});
		expect(namesOf(during)).not.toContain('approval pay');
		pass(wait);
		await decide(id, { id: 'b', approve: true });
		const waits = (await readSpans(id)).filter(({ name }) => name === 'approval pay');
		expect(waits.map(({ about, end }) => [about['gen_ai.tool.call.id'], end - begun])).toEqual([
			['a', wait],
			['b', 2 * wait],
		]);
	});

	test('has no span for a wait that a cancellation ends', async () => {
		const id = await createSession();
		play({ toolCalls: [call('p', 'pay', { amount: 5 })] }, 'New.');
		await say(id, 'Pay 5');
		pass(wait);
		await request(`/v1/sessions/${id}/cancel`, {});
		await say(id, 'Something else');
		const spans = await readSpans(id);
		expect(namesOf(spans)).not.toContain('approval pay');
		const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
		expect(roots.map(({ about }) => about['runlet.run.status'])).toEqual(['cancelled', 'completed']);
	});
});

/** Makes a session of several runs: with a tool, with a wait, cancelled, failed, continued, and with a replaced answer. */
async function createBusy(): Promise<string> {
	const id = await createSession();
	play({ toolCalls: [call('c', 'echo', { text: 'a' }), call('d', 'echo', { text: 'b' })] }, 'One.', {
		toolCalls: [call('c', 'pay', { amount: 5 })],
	});
	await say(id, 'One');
	await say(id, 'Two');
	play({ toolCalls: [call('q', 'ask', { question: 'Sure?' }), call('e', 'echo', { text: 'c' })] });
	await decide(id, { id: 'c', approve: true });
	play('Good.');
	await say(id, 'Yes');
	play(hang);
	const events = await readUntilText(await send(id, 'Three'));
	await request(`/v1/sessions/${id}/cancel`, {});
	await Array.fromAsync(events);
	play({ toolCalls: [call('c', 'echo', { text: 'd' })] }, () => Promise.reject(new Error('Out of order.')));
	await say(id, 'Four');
	play('Better.');
	await (await request(`/v1/sessions/${id}/continue`, {})).text();
	return id;
}

const counts = (spans: readonly Span[]) =>
	['invoke_agent', 'chat', 'execute_tool', 'approval', 'question'].map(
		(kind) => spans.filter(({ name }) => name.startsWith(`${kind} `)).length,
	);

describe('the spans of a session with several runs', () => {
	test('are exactly the steps of its journal', async () => {
		const id = await createBusy();
		const spans = await readSpans(id);
		const history = await readHistory(id);
		const count = (role: string) => history.filter((message) => message.role === role).length;
		expect(counts(spans)).toEqual([5, count('assistant'), count('tool'), 1, 1]);
		const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
		expect(roots.map(({ about }) => [about['runlet.run.status'], about['error.type']])).toEqual([
			['completed', undefined],
			['completed', undefined],
			['cancelled', undefined],
			['error', expect.any(String)],
			['completed', undefined],
		]);
		expect(roots.map(({ status }) => status?.code)).toEqual([undefined, undefined, undefined, 2, undefined]);
		const runs = await querySession<{ id: string }>(id, 'SELECT id FROM run ORDER BY n');
		expect(roots.flatMap(({ about }) => about['runlet.run.ids'])).toEqual(runs.map((run) => run.id));
		const byId = new Map(roots.map((root) => [root.spanId, root]));
		for (const { parentSpanId = '', begin, end, traceId } of spans.filter((span) => !roots.includes(span))) {
			const root = byId.get(parentSpanId);
			expect([traceId, begin >= (root?.begin ?? 0), end <= (root?.end ?? 0)]).toEqual([root?.traceId, true, true]);
		}
		expect(new Set(spans.map(({ traceId, spanId }) => traceId + spanId)).size).toBe(spans.length);
	});

	test('are the same bytes in each request, also after a restart', async () => {
		const id = await createBusy();
		const before = await (await readTrace(id)).text();
		expect(await (await readTrace(id)).text()).toBe(before);
		await restart(id);
		expect(await (await readTrace(id)).text()).toBe(before);
	});

	test('are made without writing a row', async () => {
		const id = await createBusy();
		const whole = await (await readTrace(id)).text();
		await runInDurableObject(readObject(id), async (_, ctx) => {
			const { storage, rows } = counted(ctx.storage);
			const store = new SessionStore(storage);
			rows();
			const words = { inside: new Set(['echo', 'pay', 'ask']), private: new Set<string>(), hasServers: false };
			for (const hasContent of [false, true]) {
				const sources = { store, words, authorization: { isThere: true }, hasContent } as const;
				const made = await new Response(traceStream(sources)).text();
				expect(made === whole).toBe(!hasContent);
			}
			expect(rows()).toEqual({ read: expect.any(Number), written: 0 });
		});
	});

	test('are those of one trace with `run`, for any run of it', async () => {
		const id = await createBusy();
		const all = await readSpans(id);
		for (const root of all.filter(({ parentSpanId }) => parentSpanId === undefined)) {
			const own = all.filter(({ traceId }) => traceId === root.traceId);
			const ids = root.about['runlet.run.ids'];
			for (const run of Array.isArray(ids) ? ids : []) expect(await readSpans(id, `?run=${run}`)).toEqual(own);
		}
	});

	test('count a replaced answer once, and no copy of a replaced turn', async () => {
		const id = await createSession();
		play({ toolCalls: [call('q', 'ask', { question: 'Which?' }), call('e', 'echo', { text: 'x' })] }, 'First.');
		await say(id, 'Go');
		await say(id, 'this');
		const messages = await (await request(`/v1/sessions/${id}/messages`)).json<{
			messages: { id: string; toolCallId?: string }[];
		}>();
		const replaces = messages.messages.find(({ toolCallId }) => toolCallId === 'q')?.id;
		play('Second.');
		const again = await request(`/v1/sessions/${id}/messages`, { text: 'that', replaces });
		expect(await again.json()).toMatchObject({ text: 'Second.' });
		// The first result and its replacement are both steps.
		expect(counts(await readSpans(id))).toEqual([2, 3, 3, 0, 1]);
	});
});

test('a session without a run has no spans', async () => {
	expect(await readSpans(await createSession())).toEqual([]);
});

test('a run that has not ended reaches to its newest step', async () => {
	const id = await createSession();
	play({ toolCalls: [call('c', 'echo', { text: 'a' })] }, (...asked) => {
		pass(1_000);
		return hang(...asked);
	});
	const at = now;
	const events = await readUntilText(await send(id, 'Go'));
	const spans = await readSpans(id);
	expect(counts(spans)).toEqual([1, 1, 1, 0, 0]);
	expect(spans[0]).toMatchObject({ end: at, about: { 'runlet.run.status': 'running' } });
	await request(`/v1/sessions/${id}/cancel`, {});
	await Array.fromAsync(events);
});

test('an unknown run is refused with what to do', async () => {
	const response = await readTrace(await createSession(), '?run=run_none');
	expect([response.status, await response.json()]).toEqual([
		404,
		{ error: { code: 'not_found', message: expect.stringMatching(/^run: .*runId/), data: { field: 'run' } } },
	]);
});

test('texts, arguments and results are there only if asked for', async () => {
	const id = await createSession();
	play({ toolCalls: [call('c', 'echo', { text: 'secret-a' })], text: 'secret-b' }, 'secret-c');
	await say(id, 'secret-d');
	expect(await (await readTrace(id)).text()).not.toContain('secret');
	expect(await (await readTrace(id, '?content=false')).text()).not.toContain('secret');
	const spans = await readSpans(id, '?content=true');
	const [, asks, calls, says] = spans.map(({ about }) =>
		Object.fromEntries(
			Object.entries(about).flatMap(([key, value]) =>
				/messages|arguments|result$/.test(key) ? [[key, JSON.parse(String(value))]] : [],
			),
		),
	);
	const called = { type: 'tool_call', id: 'c', name: 'echo', arguments: { text: 'secret-a' } };
	expect(asks).toEqual({
		'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'secret-d' }] }],
		'gen_ai.output.messages': [
			{ role: 'assistant', parts: [{ type: 'text', content: 'secret-b' }, called], finish_reason: 'tool_use' },
		],
	});
	expect(calls).toEqual({
		'gen_ai.tool.call.arguments': { text: 'secret-a' },
		'gen_ai.tool.call.result': 'secret-a',
	});
	expect(says).toEqual({
		'gen_ai.input.messages': [{ role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: 'secret-a' }] }],
		'gen_ai.output.messages': [
			{ role: 'assistant', parts: [{ type: 'text', content: 'secret-c' }], finish_reason: 'end_turn' },
		],
	});
});

test('a call of an agent links to the trace of its child session', async () => {
	const id = await createEditor();
	cast({ editor: [{ toolCalls: [give('a', 'A poem.')] }, 'There.'], writer: () => 'A poem.' });
	await say(id, 'go');
	const [child] = await readChildren(id);
	const [root] = await readSpans(child?.id ?? '');
	const called = findSpan(await readSpans(id), 'execute_tool writer');
	expect(called.about['runlet.child.session.id']).toBe(child?.id);
	expect(called.links).toMatchObject([{ traceId: root?.traceId, spanId: root?.spanId }]);
	expect(root).toMatchObject({ name: 'invoke_agent writer', about: { 'gen_ai.conversation.id': child?.id } });
});

test('a copy of a session has the replies and calls of its history, with ids of its own and without dollars', async () => {
	const id = await createBusy();
	const { id: copy } = await (await request(`/v1/sessions/${id}/fork`, {})).json<{ id: string }>();
	const [spans, copied] = [await readSpans(id), await readSpans(copy)];
	const [, replies, calls] = counts(spans);
	// A copy brings no authority, so its runs that waited count as cancelled: each is a trace of its own.
	expect(counts(copied)).toEqual([7, replies, calls, 0, 0]);
	const traces = new Set(spans.map(({ traceId }) => traceId));
	expect(copied.filter(({ traceId, about }) => traces.has(traceId) || 'runlet.cost.usd' in about)).toEqual([]);
});

test('a removed session has no trace', async () => {
	const id = await createSession();
	play('Hi.');
	await say(id, 'Hi');
	await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE');
	expect((await readTrace(id)).status).toBe(404);
});
