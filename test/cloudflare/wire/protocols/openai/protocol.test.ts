import fc from 'fast-check';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import type { Completion } from '../../../../../src/cloudflare/wire/protocols/openai/completion.ts';
import { refusalResponse, runFailureResponse } from '../../../../../src/cloudflare/wire/protocols/openai/error.ts';
import { chatCompletions } from '../../../../../src/cloudflare/wire/protocols/openai/protocol.ts';
import { RunletError } from '../../../../../src/core/base/errors.ts';
import type { RunEvent, TerminalEvent } from '../../../../../src/core/chat/index.ts';

const protocol = chatCompletions({
	type: 'chat.completions',
	model: 'agent',
	includeUsage: true,
	tools: ['mine', 'other'],
});
const started: RunEvent = { type: 'run.started', runId: 'run_1', attempt: 1 };
const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
const step: RunEvent = {
	type: 'step',
	...{ iteration: 1, model: 'm', text: '', toolCalls: [], toolResults: [], stopReason: 'end_turn', usage },
};
const say = (text: string): RunEvent => ({ type: 'text', text });
const stop: RunEvent = { type: 'stop', reason: 'end_turn', usage };
const restarted: RunEvent = { type: 'turn.restarted', iteration: 1 };
const done: RunEvent = { type: 'done', text: '', usage };

function streamed(events: readonly RunEvent[]): string {
	const writer = protocol.writer(1);
	return events.map((event) => writer.event(event, undefined)).join('') + writer.end();
}

function complete(events: readonly RunEvent[]): Completion {
	const whole = protocol.result?.(events);
	if (whole === undefined || 'error' in whole) throw new Error('There is no answer.');
	return whole.completion;
}

/** The response to a run without an answer. */
function fail(events: readonly RunEvent[]): Response {
	const whole = protocol.result?.(events);
	if (whole === undefined || 'completion' in whole) throw new Error('There is an answer.');
	return runFailureResponse(whole.error);
}

function shown(events: readonly RunEvent[]): unknown[] {
	return [...streamed(events).matchAll(/^data: (\{.*)$/gm)].flatMap(([, data = '']) => {
		const { choices, error } = JSON.parse(data);
		if (error !== undefined) return [error.code];
		return (choices[0]?.delta.content ?? '') === '' ? [] : [choices[0].delta.content];
	});
}

function readCompletion(body: string) {
	const response = () => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
	const client = new OpenAI({ apiKey: 'any', fetch: response });
	return client.chat.completions.stream({ model: 'agent', messages: [] }).finalChatCompletion();
}

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
const callOf = fc.record({
	name: fc.constantFrom('mine', 'other'),
	input: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
});

/** The deltas of a turn with reasoning and text, restarted a few times. */
const turn = fc
	.record({
		sources: fc.array(fc.record({ id: text, url: fc.webUrl(), title: text }), { maxLength: 3 }),
		thoughts: fc.array(text, { maxLength: 2 }),
		pieces: fc.array(text, { maxLength: 4 }),
		cuts: fc.array(fc.nat(4), { maxLength: 2 }),
	})
	.map(({ sources, thoughts, pieces, cuts }): RunEvent[] => {
		const said: RunEvent[] = [
			...thoughts.map((one): RunEvent => ({ type: 'reasoning', text: one })),
			...pieces.map(say),
			...sources.map((source): RunEvent => ({ type: 'source', ...source })),
		];
		return [...cuts.flatMap((cut) => [...said.slice(0, cut), restarted]), ...said, stop, step];
	});
const end = fc.oneof(
	fc.constant<TerminalEvent>({ type: 'done', text: '', usage: { inputTokens: 9, outputTokens: 1 } }),
	fc.array(callOf, { minLength: 1, maxLength: 3 }).map(
		(calls): TerminalEvent => ({
			type: 'awaiting',
			status: 'awaiting_tools',
			toolCalls: calls.map((call, index) => ({ id: `c${index}`, ...call })),
		}),
	),
	text.map(
		(question): TerminalEvent => ({ type: 'awaiting', status: 'awaiting_user', question: { callId: 'q', question } }),
	),
	text.map((reason): TerminalEvent => ({ type: 'halted', reason })),
);
const run = fc
	.tuple(fc.array(turn, { minLength: 1, maxLength: 3 }), end)
	.map(([turns, last]) => [started, ...turns.flat(), last]);

test('a stream and a whole answer give the same completion in the client library', async () => {
	await fc.assert(
		fc.asyncProperty(run, async (events) => {
			const whole = complete(events);
			const { choices, usage: cost, ...about } = await readCompletion(streamed(events));
			const [choice] = choices;
			const { content, tool_calls, annotations } = choice?.message ?? {};
			expect({
				content: content === '' && tool_calls ? null : content,
				tool_calls,
				annotations,
				finish: choice?.finish_reason,
			}).toEqual({
				annotations: whole.choices[0]?.message.annotations,
				content: whole.choices[0]?.message.content,
				tool_calls: whole.choices[0]?.message.tool_calls?.map((call: object) => expect.objectContaining(call)),
				finish: whole.choices[0]?.finish_reason,
			});
			expect(cost).toEqual(whole.usage);
			expect(about).toMatchObject({ id: whole.id, model: 'agent' });
		}),
		{ numRuns: 300 },
	);
});

test('annotates each cited page once, and ignores the citations of a discarded turn', async () => {
	const cite = (id: string, url?: string, title?: string): RunEvent => ({
		...{ type: 'source', id },
		...(url && { url }),
		...(title && { title }),
	});
	const [rain, snow] = ['https://rain.example/', 'https://snow.example/'];
	const events: RunEvent[] = [
		...[started, cite('0', 'https://old.example/'), restarted, say('It rains'), cite('1', rain, 'Rain'), stop, step],
		...[cite('2', rain, 'Rain once more'), restarted, say('.'), cite('3', snow), cite('4', 'javascript:alert(1)')],
		...[cite('5', undefined, 'report.pdf'), stop, step, done],
	];
	const indices = { start_index: 0, end_index: 0 };
	const pages = [
		{ type: 'url_citation', url_citation: { url: rain, title: 'Rain', ...indices } },
		{ type: 'url_citation', url_citation: { url: snow, title: snow, ...indices } },
	];
	expect(complete(events).choices[0]?.message.annotations).toEqual(pages);
	expect((await readCompletion(streamed(events))).choices[0]?.message).toMatchObject({ annotations: pages });
});

test('omits a cost that is only partly known', () => {
	const usages = { inputTokens: 9, outputTokens: 1, costUsd: 0.5 };
	const cost = (more: object) => complete([started, stop, { ...done, usage: { ...usages, ...more } }]).usage.cost;
	expect([cost({}), cost({ unpriced: 'web_searches of "x"' })]).toEqual([0.5, undefined]);
});

test('a stream has one end and nothing after it', () => {
	fc.assert(
		fc.property(run, (events) => {
			const body = streamed([...events, say('more'), done]);
			expect(body.match(/"finish_reason":"/g)).toHaveLength(1);
			expect(body.endsWith('data: [DONE]\n\n')).toBe(true);
		}),
	);
});

test('a restarted turn continues the stream if it repeats the text, even in other pieces', () => {
	expect(shown([started, say('The an'), restarted, say('The'), say(' answer'), stop, done])).toEqual([
		'The an',
		'swer',
	]);
});

test('a turn that restarts twice must repeat all shown text', () => {
	const events = [started, say('abc'), restarted, say('a'), restarted, say('abcd'), stop, done];
	expect(shown(events)).toEqual(['abc', 'd']);
});

test('a restarted turn with another or a shorter text ends the stream with an error', () => {
	expect(shown([started, say('One'), restarted, say('Two'), stop, done])).toEqual(['One', 'interrupted']);
	expect(shown([started, say('One'), restarted, say('On'), stop, done])).toEqual(['One', 'interrupted']);
});

test('shows the thinking of a restarted turn once', () => {
	const thinks: RunEvent = { type: 'reasoning', text: 'Hm.' };
	const body = streamed([started, thinks, restarted, thinks, say('a'), stop, step, thinks, say('b'), stop, done]);
	expect(body.match(/"reasoning_content":"Hm\."/g)).toHaveLength(2);
});

test('a whole answer has only the text after the last restart', async () => {
	const events = [started, say('One'), restarted, say('Two'), stop, done];
	const { choices } = complete(events);
	expect(choices[0]?.message.content).toBe('Two');
});

test('a turn that restarts before it has text leaves no trace', () => {
	expect(shown([started, say('a'), stop, step, restarted, say('b'), stop, done])).toEqual(['a', '\n\nb']);
});

test('a provider’s refusal of the Worker’s key is not reported as a refusal of the client’s key', async () => {
	const events: RunEvent[] = [started, { type: 'error', code: 'auth', message: 'OPENAI_API_KEY is wrong.' }];
	expect(await fail(events).json()).toMatchObject({ error: { code: 'provider_error' } });
	expect(shown(events)).toEqual(['provider_error']);
});

test.each(['overloaded', 'rate_limited', 'timeout', 'internal', 'interrupted', 'auth', 'conflict', 'acme'])(
	'a run that failed with %s has status 406, which no client retries, but a refused request has the usual status',
	(code) => {
		const failed = fail([started, { type: 'error', code, message: 'x', data: { retryAfter: 9 } }]);
		expect([failed.status, failed.headers.get('x-should-retry')]).toEqual([406, 'false']);
		expect(failed.headers.has('retry-after')).toBe(false);
		const error = new RunletError(code, 'x', { retryAfter: 9 });
		expect(refusalResponse(error).status).toBe(error.status);
	},
);

test.each([
	['budget_exceeded', 402],
	['context_overflow', 400],
	['content_filtered', 400],
	['invalid_request', 400],
	['model_not_found', 406],
	['too_large', 406],
])('a run that failed with %s gets the status %s', (code, status) => {
	expect(fail([started, { type: 'error', code, message: 'x' }]).status).toBe(status);
});
