import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toRunErrorBody } from '../../../../../src/cloudflare/wire/protocols/anthropic/error.ts';
import {
	type AnswerFormat,
	createWriter,
	toAnswer,
} from '../../../../../src/cloudflare/wire/protocols/anthropic/writer.ts';
import { withoutRestarted } from '../../../../../src/cloudflare/wire/protocols/pieces.ts';
import { RunletError } from '../../../../../src/core/base/errors.ts';
import { joinDeltas, toSse } from '../../../../../src/core/chat/event.ts';
import type { RunEvent, TerminalEvent } from '../../../../../src/core/chat/index.ts';

const format: AnswerFormat = { model: 'agent', tools: ['mine', 'other'], stop: ['###'], showsThinking: true };
const usage = { inputTokens: 30, outputTokens: 2, cachedInputTokens: 10, costUsd: 0.5 };
const started: RunEvent = { type: 'run.started', runId: 'run_1', attempt: 1 };
const stop: RunEvent = { type: 'stop', reason: 'end_turn', usage };
const done: RunEvent = { type: 'done', text: '', usage };
const restarted: RunEvent = { type: 'turn.restarted', iteration: 1 };
const step: RunEvent = {
	type: 'step',
	...{ iteration: 1, model: 'm', text: '', toolCalls: [], toolResults: [], stopReason: 'end_turn', usage },
};
const say = (text: string): RunEvent => ({ type: 'text', text });
const think = (text: string): RunEvent => ({ type: 'reasoning', text });

function stream(events: readonly RunEvent[], of = format): string {
	const written = events.flatMap(createWriter(of));
	return written.map((one) => toSse(one instanceof RunletError ? toRunErrorBody(one, 'req_1') : one)).join('');
}

/** Reads a stream as the package does. */
function fold(body: string): Promise<Anthropic.Message> {
	const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
	const client = new Anthropic({ apiKey: 'any', fetch });
	return client.messages.stream({ model: 'agent', max_tokens: 1, messages: [] }).finalMessage();
}

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const turn = fc
	.array(
		fc.oneof(
			text.map(say),
			text.map(think),
			fc.constantFrom(say('a##'), say('#')),
			fc.record({ type: fc.constant('source' as const), id: text, url: fc.webUrl(), title: text }),
		),
		{ maxLength: 6 },
	)
	.map((deltas): RunEvent[] => [...deltas, stop, step]);
const call = fc.record({
	id: fc.uuid(),
	name: fc.constantFrom('mine', 'other'),
	input: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
});
const ending = fc.oneof(
	fc.constant<TerminalEvent>({ type: 'done', text: '', usage }),
	fc.array(call, { minLength: 1, maxLength: 3 }).map((toolCalls): TerminalEvent => {
		return { type: 'awaiting', status: 'awaiting_tools', toolCalls };
	}),
	text.map((question): TerminalEvent => {
		return { type: 'awaiting', status: 'awaiting_user', question: { callId: 'q', question } };
	}),
);
const run = fc.tuple(fc.array(turn, { minLength: 1, maxLength: 3 }), ending).map(([turns, last]): RunEvent[] => {
	return [started, ...turns.flat(), last];
});

test('a streamed message has the same content and usage as a whole one, also from stored events', async () => {
	await fc.assert(
		fc.asyncProperty(run, fc.boolean(), async (events, showsThinking) => {
			const of = { ...format, showsThinking };
			const whole = toAnswer(of, events);
			const folded = await fold(stream(events, of));
			expect(JSON.parse(JSON.stringify(folded))).toMatchObject(JSON.parse(JSON.stringify({ ...whole, usage: {} })));
			const { input_tokens, output_tokens, cache_read_input_tokens } = whole.usage;
			expect(folded.usage).toMatchObject({ input_tokens, output_tokens, cache_read_input_tokens });
			expect(toAnswer(of, joinDeltas(events))).toEqual(whole);
		}),
	);
});

test('every block of a stream is closed before the next begins, and its numbers have no gap', () => {
	fc.assert(
		fc.property(run, (events) => {
			const written = events.flatMap(createWriter(format));
			let open: number | undefined;
			let next = 0;
			for (const one of written) {
				if (one instanceof RunletError) throw one;
				if (one.type === 'content_block_start') {
					expect([open, one.index]).toEqual([undefined, next++]);
					open = one.index;
				} else if (one.type === 'content_block_delta') expect(one.index).toBe(open);
				else if (one.type === 'content_block_stop') {
					expect(one.index).toBe(open);
					open = undefined;
				} else expect(open).toBeUndefined();
			}
			expect(written.at(-1)).toEqual({ type: 'message_stop' });
		}),
	);
});

test('a restarted turn that repeats its text shows the text once, and any other text is an error', async () => {
	const cut = [started, say('It is '), restarted, say('It is 42.'), stop, step, done];
	expect((await fold(stream(cut))).content).toMatchObject([{ type: 'text', text: 'It is 42.' }]);
	expect(toAnswer(format, withoutRestarted(cut)).content).toMatchObject([{ type: 'text', text: 'It is 42.' }]);
	const other = [started, say('It is '), restarted, say('No.'), stop, step, done];
	await expect(fold(stream(other))).rejects.toMatchObject({ error: { error: { code: 'interrupted' } } });
	expect(toAnswer(format, other).content).toMatchObject([{ type: 'text', text: 'No.' }]);
});

test('the stop word that ended the text is the stop sequence, even if two pieces split it', () => {
	const answer = toAnswer(format, [started, say('one #'), say('## two'), stop, step, done]);
	expect(answer).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: '###', content: [{ text: 'one ' }] });
});

test.each([
	['max_tokens', 'max_tokens'],
	['refusal', 'refusal'],
	['acme_special', 'end_turn'],
])('a model that ended with %s gives the stop reason %s', (reason, expected) => {
	const answer = toAnswer(format, [started, say('So'), { type: 'stop', reason, usage }, step, done]);
	expect(answer).toMatchObject({ stop_reason: expected, stop_sequence: null });
});

test('input from a cache counts apart from other input', () => {
	expect(toAnswer(format, [started, say('So'), stop, step, done]).usage).toEqual({
		...{ input_tokens: 20, cache_read_input_tokens: 10, cache_creation_input_tokens: 0, output_tokens: 2, cost: 0.5 },
	});
});

test('no error of a run has a type or a status that clients repeat', () => {
	for (const code of ['overloaded', 'rate_limited', 'timeout', 'internal', 'provider_error', 'auth', 'conflict']) {
		const { error } = toRunErrorBody(new RunletError(code, 'no'), 'req_1');
		expect(['api_error', 'invalid_request_error'], code).toContain(error.type);
	}
});
