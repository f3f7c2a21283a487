import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { askUser, chat, halt, type Message, type ToolCall } from '../../../src/core/index.ts';
import { byHand, endings, only, play, readText, readTool, type Script } from './support.ts';

const outcomes = ['ok', 'throw', 'ask', 'halt', 'by_hand', 'unknown'] as const;
const tools = [
	readTool('ok', () => 'ok'),
	readTool('throw', () => {
		throw new Error('broken');
	}),
	readTool('ask', () => askUser('Why?')),
	readTool('halt', () => halt('enough', 'stopped')),
	byHand,
];

const call = fc.record({
	id: fc.constantFrom('a', 'b', 'a_2', 'c'),
	name: fc.constantFrom(...outcomes),
	input: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, fc.constantFrom('{"cut', '', null)),
});
const turn = fc.record({
	text: fc.string({ maxLength: 40, unit: 'grapheme' }),
	toolCalls: fc.array(call, { maxLength: 4 }),
	stopReason: fc.oneof(
		{ weight: 5, arbitrary: fc.constant('tool_use') },
		fc.constantFrom('end_turn', 'max_tokens', 'refusal', 'pause_turn', 'stop_sequence'),
	),
	cuts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
	streamed: fc.boolean(),
});

interface RandomTurn {
	readonly text: string;
	readonly toolCalls: readonly ToolCall[];
	readonly stopReason: string;
	readonly cuts: readonly number[];
	readonly streamed: boolean;
}

/** Splits a text into pieces of these lengths. After the last length the first length follows again. */
function* pieces(text: string, cuts: readonly number[]): Generator<string> {
	for (let at = 0, n = 0; at < text.length; n++) {
		const length = cuts[n % cuts.length] ?? 1;
		yield text.slice(at, at + length);
		at += length;
	}
}

/** Converts the turns to a script with an answer at the end. */
function readScript(turns: readonly RandomTurn[]): Script {
	const script = turns.map(({ text, toolCalls, stopReason, cuts, streamed }) => {
		const reply = { text, toolCalls, stopReason, usage: { inputTokens: 1 } };
		if (!streamed) return { ...reply, deltas: [] };
		const deltas = [
			...[...pieces(text, cuts)].map((piece) => ({ type: 'text', text: piece })),
			...toolCalls.flatMap(({ id, name, input }) => [
				{ type: 'tool_use_start', id, name },
				...[...pieces(JSON.stringify(input), cuts)].map((partialInputJson) => ({
					type: 'tool_use_input',
					id,
					partialInputJson,
				})),
				{ type: 'tool_use_end', id },
			]),
			{ type: 'stop', reason: stopReason, usage: reply.usage },
		];
		return { ...reply, deltas };
	});
	return [...script, 'The end.'];
}

/** Lists the mistakes in the calls of a history: several results, a wrong place or, with `closed`, a missing result. */
function faults(messages: readonly Message[], closed: boolean): string[] {
	const found: string[] = [];
	let open = new Set<string>();
	const close = (): void => {
		if (closed) for (const id of open) found.push(`${id} dangles`);
	};
	for (const message of messages) {
		if (message.role === 'tool') {
			if (!open.delete(message.toolCallId)) found.push(`${message.toolCallId} answers nothing`);
			continue;
		}
		close();
		const ids = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : [];
		open = new Set(ids);
		if (open.size !== ids.length) found.push(`one id twice: ${ids.join()}`);
	}
	close();
	return found;
}

const runs = { numRuns: 300 };

test('the loop ends any conversation with one terminal event that agrees with the result', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(turn, { maxLength: 6 }), async (turns) => {
			const { events, result, error } = await play(readScript(turns), { tools, maxIterations: 5 });
			const [ending, ...more] = endings(events);
			expect(more).toEqual([]);
			expect(events.at(-1)).toBe(ending);
			if (ending?.type === 'done')
				expect(result).toMatchObject({ status: 'completed', text: ending.text, usage: ending.usage });
			else if (ending?.type === 'awaiting') {
				expect(result?.status).toBe(ending.status);
				expect(result?.metadata.question).toEqual(ending.question);
				expect(result?.metadata.manualToolCalls).toEqual(ending.toolCalls);
			} else if (ending?.type === 'halted')
				expect(result).toMatchObject({ status: 'halted', haltedReason: ending.reason });
			else expect(error).toMatchObject({ code: ending?.type === 'error' ? ending.code : 'cancelled' });
		}),
		runs,
	);
});

test('any final history has at most one result for each call, directly after the message with the call', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(turn, { maxLength: 6 }), async (turns) => {
			const stored: Message[] = [];
			const { result } = await play(readScript(turns), {
				tools,
				maxIterations: 5,
				onMessage: (message) => void stored.push(message),
			});
			if (result === undefined) return;
			expect(faults(result.messages, false)).toEqual([]);
			expect(new Set(stored)).toEqual(new Set(result.messages.slice(1)));
		}),
		runs,
	);
});

test('the events have the same texts and call ids as the messages', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(turn, { maxLength: 6 }), async (turns) => {
			const { events, result } = await play(readScript(turns), { tools, maxIterations: 5 });
			if (result === undefined) return;
			const said = result.messages.filter((message) => message.role === 'assistant');
			expect(readText(events)).toBe(said.map(({ content }) => content).join(''));
			expect(only(events, 'stop')).toHaveLength(said.length);
			const ended = said.at(-1)?.content === 'The end.' && said.length > turns.length;
			expect(result.usage.inputTokens ?? 0).toBe(said.length - (ended ? 1 : 0));
			const kept = said.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
			const shown = only(events, 'tool_use_start').map(({ id }) => id);
			const cut = turns.some(({ stopReason }) => stopReason === 'max_tokens' || stopReason === 'refusal');
			if (cut) expect(shown).toEqual(expect.arrayContaining(kept));
			else expect(shown).toEqual(kept);
		}),
		runs,
	);
});

test('each request has a result for each call, for any history', async () => {
	const unique = fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id });
	const message: fc.Arbitrary<Message> = fc.oneof(
		fc.constant(chat.userMessage('Go on')),
		unique.map((calls) => chat.assistantMessage('', calls)),
		fc.constantFrom('a', 'b', 'a_2', 'c').map((id) => chat.toolResultMessage({ id, output: 1, isError: false })),
	);
	await fc.assert(
		fc.asyncProperty(fc.array(message, { maxLength: 12 }), fc.array(turn, { maxLength: 3 }), async (history, turns) => {
			const { requests } = await play(readScript(turns), { tools, maxIterations: 5 }, history);
			for (const { messages } of requests) expect(behind(messages)).toEqual([]);
		}),
		runs,
	);
});

test('a shortened conversation fits the limit and begins with a user message, and the history keeps all messages', async () => {
	const unique = fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id });
	const words = fc.string({ maxLength: 400 });
	const message: fc.Arbitrary<Message> = fc.oneof(
		{ weight: 3, arbitrary: words.map((text) => chat.userMessage(text)) },
		{ weight: 3, arbitrary: fc.tuple(words, unique).map(([text, calls]) => chat.assistantMessage(text, calls)) },
		{
			weight: 3,
			arbitrary: fc
				.tuple(fc.constantFrom('a', 'b', 'a_2', 'c'), words)
				.map(([id, output]) => chat.toolResultMessage({ id, output, isError: false })),
		},
		fc.tuple(words, fc.boolean()).map(([content, summary]): Message => ({ role: 'system', content, summary })),
	);
	const histories = fc
		.tuple(fc.array(message, { maxLength: 24 }), words, fc.array(message, { maxLength: 6 }))
		.map(([before, text, after]) => [...before, chat.userMessage(text), ...after]);
	const modes = fc.constantFrom('truncate' as const, 'compact' as const);
	const answer: Script[number] = ({ system }) => (system?.includes('summary') ? 'In short.' : 'The end.');
	await fc.assert(
		fc.asyncProperty(histories, modes, fc.integer({ min: 40, max: 1_200 }), async (history, contextFull, limit) => {
			const asked = { contextFull, maxContextTokens: limit };
			const { requests, result, error, events } = await play(Array(12).fill(answer), asked, history);
			if (error !== undefined) {
				expect(error.code).toBe('context_overflow');
				return;
			}
			const sent = requests.at(-1)?.messages ?? [];
			expect(behind(sent)).toEqual([]);
			expect(chat.countTokensHeuristic(sent)).toBeLessThanOrEqual(limit);
			expect(sent).toContainEqual(history.findLast(({ role }) => role === 'user'));
			const spoken = sent.filter(({ role }) => role !== 'system');
			if (only(events, 'warning').some(({ code }) => code !== 'context_budget')) expect(spoken[0]?.role).toBe('user');
			const staying = history.filter((one) => one.role === 'system' && one.summary !== true);
			expect(missingFrom(sent, staying)).toEqual([]);
			expect(missingFrom(result?.messages ?? [], history)).toEqual([]);
		}),
		runs,
	);
});

/** Returns the wanted messages that are not in the list in order. */
function missingFrom(list: readonly Message[], wanted: readonly Message[]): readonly Message[] {
	let found = 0;
	for (const message of list) if (JSON.stringify(message) === JSON.stringify(wanted[found])) found++;
	return wanted.slice(found);
}

/** Lists the mistakes of `faults`, and results that do not follow their assistant message. */
function behind(messages: readonly Message[]): string[] {
	return [
		...faults(messages, true),
		...messages.flatMap(({ role }, at) => {
			const before = messages[at - 1]?.role;
			return role === 'tool' && before !== 'tool' && before !== 'assistant' ? [`a result behind ${before}`] : [];
		}),
	];
}
