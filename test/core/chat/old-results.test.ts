/** Older results of tools are sent as references, which `read_result` opens (docs/costs.md). */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PromptRecord } from '../../../src/core/chat/prompt-record.ts';
import { type ChatOptions, chat, type Message } from '../../../src/core/index.ts';
import { calling, echo, finish, only, play, readTool } from './support.ts';

const long = (name: string, characters: number) => `${name} `.padEnd(characters, '0123456789');

/** Creates exchanges of a question, a call, a result of `characters` characters, and an answer. */
const exchanges = (count: number, characters: number, call = 'look'): Message[] =>
	Array.from({ length: count }, (_, n) => [
		chat.userMessage(`question ${n}`),
		chat.assistantMessage('', [{ id: `call${n}`, name: call, input: { name: `${n}` } }]),
		chat.toolResultMessage({ id: `call${n}`, output: long(`result ${n}`, characters), isError: false }),
		chat.assistantMessage(`answer ${n}`),
	]).flat();

const look = readTool('look', () => 'fine');
const now = chat.userMessage('And now?');
/** Lists the ids of the results that a request has only as references. */
const listReferences = (messages: readonly Message[] = []): string[] =>
	messages.flatMap((one) => (one.role === 'tool' && `${one.content}`.includes('read_result') ? [one.toolCallId] : []));
const stepped = (events: readonly { readonly type: string; readonly code?: string }[]) =>
	events.filter(({ code }) => code === 'results_referred').length;

/** Continues a conversation some minutes later. */
async function goOn(messages: readonly Message[], minutes: number, options: Partial<ChatOptions> = {}) {
	const prompts: (PromptRecord | undefined)[] = [];
	const onMessage: ChatOptions['onMessage'] = (_, { prompt }) => void prompts.push(prompt);
	const lastPrompt: PromptRecord = {
		model: 'scripted',
		tools: [0, ''],
		system: '',
		start: ['', false],
		fronts: [0, ''],
		inputTokens: 1_000,
		at: Date.now() - minutes * 60_000,
	};
	const script = [{ text: 'Done', usage: { inputTokens: 900, cachedInputTokens: 0, outputTokens: 1 } }];
	const played = await finish(script, { tools: [look], onMessage, lastPrompt, ...options }, [...messages, now]);
	return { ...played, prompt: prompts.at(-1), sent: played.requests[0]?.messages ?? [] };
}

describe('older results', () => {
	test('are sent as references after the cache has expired, but stay whole in the messages', async () => {
		const given = exchanges(6, 8_000);
		const { sent, events, result, requests } = await goOn(given, 6);
		expect(listReferences(sent)).toEqual(['call0', 'call1', 'call2', 'call3']);
		expect(chat.messageText(sent[2] ?? now)).toMatch(/8000 characters.*"call0".*\nresult 0 0123/s);
		expect(result.messages.slice(0, given.length)).toEqual(given);
		expect(stepped(events)).toBe(1);
		expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(['look', 'read_result']);
		expect(requests[0]?.options?.foundBy).toEqual(new Map([['read_result', 'call0']]));
	});

	test.each([
		['the conversation is cached, and references would save too little', exchanges(6, 8_000), 4, {}],
		['all results are short', exchanges(60, 1_000), 6, {}],
		['few results are old', exchanges(3, 8_000), 6, {}],
		['oldResults is keep', exchanges(6, 8_000), 6, { oldResults: 'keep' }],
		['the mode is manual', exchanges(6, 8_000), 6, { mode: 'manual' }],
		['the one-hour cache has not expired', exchanges(6, 8_000), 59, { cache: '1h' }],
		['the run has its own read_result', exchanges(6, 8_000), 6, { tools: [readTool('read_result', () => '')] }],
		['they are results of read_skill', exchanges(6, 8_000, 'read_skill'), 6, {}],
	] as const)('stay whole if %s', async (_, given, minutes, options) => {
		const { sent, events, requests } = await goOn(given, minutes, options);
		expect(listReferences(sent)).toEqual([]);
		expect(stepped(events)).toBe(0);
		const own: ChatOptions['tools'] = 'tools' in options ? options.tools : [look];
		expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(
			Array.isArray(own) ? own.map(({ name }: { name: string }) => name) : [],
		);
	});

	test('are sent as references despite a warm cache if the conversation has enough requests', async () => {
		const counts: number[] = [];
		for (const count of [5, 6, 8, 16])
			counts.push(listReferences((await goOn(exchanges(count, 8_000), 1)).sent).length);
		expect(counts).toEqual([0, 0, 6, 14]);
	});

	test('stay whole with a warm cache if many messages follow them', async () => {
		const much = Array.from({ length: 5 }, (_, n) => [
			chat.userMessage(`long ${n} `.padEnd(30_000)),
			chat.assistantMessage('Read.'),
		]).flat();
		const given = [...exchanges(1, 40_000), ...much];
		expect(listReferences((await goOn(given, 1)).sent)).toEqual([]);
		expect(listReferences((await goOn(given, 6)).sent)).toEqual(['call0']);
	});

	test('stay references after a summary', async () => {
		const told = Array.from({ length: 10 }, (_, n) => [
			chat.userMessage(`long ${n} `.padEnd(4_000)),
			chat.assistantMessage('Read.'),
		]).flat();
		const turns = exchanges(8, 8_000).filter(({ role }) => role !== 'user' && role !== 'assistant');
		const worked = turns.flatMap((result, n): Message[] => [
			chat.assistantMessage('', [{ id: `call${n}`, name: 'look', input: {} }]),
			result,
		]);
		const given = [...told, chat.userMessage('Work'), ...worked, chat.assistantMessage('Done'), now];
		const options = { tools: [look], contextFull: 'compact', maxContextTokens: 9_000 } as const;
		const { requests, events } = await finish(['In short.', 'In short.', 'Yes'], options, given);
		expect(only(events, 'warning').map(({ code }) => code)).toEqual([
			'results_referred',
			'results_referred',
			'context_compacted',
		]);
		expect(listReferences(requests.at(-1)?.messages)).toHaveLength(8);
	});

	test('stay references in the next run, whose request begins with the same bytes', async () => {
		const first = await goOn(exchanges(6, 8_000), 6);
		const stored: Message[] = JSON.parse(JSON.stringify(first.result.messages));
		const next = await goOn(stored, 1, { lastPrompt: first.prompt });
		expect(next.sent.slice(0, first.sent.length)).toEqual(first.sent);
		expect(stepped(next.events)).toBe(0);
		expect(next.requests[0]?.tools?.map(({ name }) => name)).toEqual(['look', 'read_result']);
	});

	test('stay references if the provider reports no usage', async () => {
		const prompts: (PromptRecord | undefined)[] = [];
		const onMessage: ChatOptions['onMessage'] = (_, { prompt }) => void prompts.push(prompt);
		const first = await finish(['Done'], { tools: [look], onMessage }, [...exchanges(6, 8_000), now]);
		expect(listReferences(first.requests[0]?.messages)).toHaveLength(4);
		const next = await goOn(first.result.messages, 1, { lastPrompt: prompts[0] });
		expect(listReferences(next.sent)).toEqual(listReferences(first.requests[0]?.messages));
		expect(stepped(next.events)).toBe(0);
	});

	test('are named in the step as the reason for a cache miss', async () => {
		const { prompt, result } = await goOn(exchanges(20, 8_000), 1, { oldResults: 'keep' });
		const lastPrompt = prompt && { ...prompt, inputTokens: 40_000 };
		const usage = { inputTokens: 9_000, cachedInputTokens: 0, outputTokens: 1 };
		const given = [...result.messages, now];
		const { events } = await finish([{ text: 'Done', usage }], { tools: [look], lastPrompt }, given);
		expect(only(events, 'step').map(({ cacheMiss }) => cacheMiss)).toEqual(['old results']);
	});

	test('stay whole if they repeat the id of an earlier result, which becomes a reference instead', async () => {
		const given = [...exchanges(2, 20_000), ...exchanges(2, 20_000), ...exchanges(3, 10)];
		expect(listReferences((await goOn(given, 6)).sent)).toEqual(['call0', 'call1']);
	});

	test('stay whole if they contain an image', async () => {
		const given = exchanges(6, 8_000).map((message) =>
			message.role === 'tool'
				? { ...message, parts: [chat.textPart(`${message.content}`), chat.imagePart('https://example.com/a.png')] }
				: message,
		);
		expect(listReferences((await goOn(given, 6)).sent)).toEqual([]);
	});
});

test('each request of a random session begins with the previous request, unless a warning reports new references', async () => {
	const run = fc.record({
		sizes: fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 4 }),
		minutes: fc.constantFrom(0, 1, 7, 70),
	});
	let steps = 0;
	await fc.assert(
		fc.asyncProperty(fc.array(run, { minLength: 3, maxLength: 14 }), async (runs) => {
			let messages: readonly Message[] = [];
			let lastPrompt: PromptRecord | undefined;
			let sent: readonly Message[] = [];
			let calls = 0;
			for (const { sizes, minutes } of runs) {
				const usage = { inputTokens: 2_000, cachedInputTokens: 2_000, outputTokens: 1 };
				const script = [
					...sizes.map((size) => ({
						...calling({ id: `c${calls++}`, name: 'make', input: { name: `${size}` } }),
						usage,
					})),
					{ text: 'Done', usage },
				];
				const make = readTool('make', ({ name }) => long('made', Number(name)));
				const { requests, result, events } = await finish(
					script,
					{
						tools: [make],
						lastPrompt: lastPrompt && { ...lastPrompt, at: lastPrompt.at - minutes * 60_000 },
						onMessage: (_, { prompt }) => {
							lastPrompt = prompt ?? lastPrompt;
						},
					},
					[...messages, chat.userMessage('More')],
				);
				let breaks = 0;
				for (const request of requests) {
					if (JSON.stringify(request.messages.slice(0, sent.length)) !== JSON.stringify(sent)) breaks += 1;
					sent = request.messages;
				}
				expect(breaks).toBe(stepped(events));
				steps += breaks;
				messages = JSON.parse(JSON.stringify(result.messages));
			}
		}),
		{ numRuns: 60 },
	);
	expect(steps).toBeGreaterThan(10);
});

describe('a conversation that does not fit', () => {
	test.each(['fail', 'truncate', 'compact'] as const)('uses references before contextFull: %s', async (contextFull) => {
		const { sent, events } = await goOn(exchanges(6, 8_000), 1, { contextFull, maxContextTokens: 5_000 });
		expect(listReferences(sent)).toHaveLength(6);
		expect(only(events, 'warning').map(({ code }) => code)).toEqual(['results_referred']);
	});

	test('applies contextFull if references are not enough', async () => {
		const { error } = await play(['Done'], { tools: [look], maxContextTokens: 500 }, [...exchanges(9, 8_000), now]);
		expect(error?.code).toBe('context_overflow');
	});

	test('uses references after the provider refuses the request as too long', async () => {
		const { requests, events } = await finish(
			[
				() => {
					throw Object.assign(new Error('prompt is too long'), { status: 413 });
				},
				'Done',
			],
			{ tools: [look], lastPrompt: (await goOn(exchanges(3, 1), 1)).prompt },
			[...exchanges(6, 8_000), now],
		);
		expect(requests.map(({ messages }) => listReferences(messages).length)).toEqual([0, 6]);
		expect(stepped(events)).toBe(1);
	});
});

describe('read_result', () => {
	const read = async (input: object) => {
		const script = [calling({ id: 'r', name: 'read_result', input }), 'Done'];
		const { result } = await finish(script, { tools: [echo] }, [...exchanges(6, 30_000), now]);
		const answer = result.messages.findLast(({ role }) => role === 'tool');
		return answer === undefined ? '' : chat.messageText(answer);
	};

	test('returns a result from its beginning, and explains how to continue', async () => {
		const text = await read({ id: 'call1' });
		expect(text).toMatch(/^\[Characters 0 to 20000 of 30000\. Go on with from: 20000\.\]\nresult 1 0123/);
	});

	test('returns a result from a requested position to its end', async () => {
		const text = await read({ id: 'call1', from: 20_000 });
		expect(text.split('\n')[0]).toBe('[Characters 20000 to 30000 of 30000.]');
		expect(text.split('\n')[1]).toBe(long('result 1', 30_000).slice(20_000));
	});

	test('reports an unknown id', async () => {
		expect(await read({ id: 'other' })).toBe('No result has the id "other".');
	});
});
