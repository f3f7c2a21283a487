/** The promises of all adapters, tested with servers that check requests like the real APIs. */

import { afterAll, afterEach, describe, expect, test } from 'vitest';
import {
	type ChatReply,
	type ChatUsage,
	chat,
	type Message,
	providers,
	type Tool,
	tool,
} from '../../../src/core/index.ts';
import {
	type CallOptions,
	type Delta,
	hello,
	joinedText,
	type Question,
	ran,
	readCalls,
	readError,
	readReply,
	streamed,
	whole,
} from './wire/call.ts';
import {
	citySchema,
	type Dialect,
	type Memory,
	type NeutralReply,
	type Variant,
	type WireMedia,
	type WirePart,
	type WireRequest,
} from './wire/dialect.ts';
import { dialects } from './wire/dialects.ts';
import { readEvents as geminiEvents, readBody as toGeminiBody } from './wire/gemini.ts';
import { startServer } from './wire/server.ts';
import { plainBody, plainEvents } from './wire/workers-ai.ts';

const server = await startServer();
afterAll(() => server.close());
afterEach(() => server.check());

const look: Tool = { name: 'look', description: 'Looks at a city.', inputSchema: citySchema };
const add: Tool = {
	name: 'myapp/add',
	description: 'Adds two integers.',
	inputSchema: {
		type: 'object',
		properties: { x: { type: 'integer' }, y: { type: 'integer' } },
		required: ['x', 'y'],
		additionalProperties: false,
	},
};
const addAlias = tool.providerName(add.name);

/** Requests a reply streamed and whole. The server sends the form that each request asks for. */
async function both(
	dialect: Dialect,
	{ events, body }: Pick<Variant, 'events' | 'body'>,
	question: Partial<Question> = {},
	provider = dialect.provider(server.url),
) {
	const asked: Question = { model: dialect.model, tools: [look, add], ...question };
	server.play(
		async (exchange) => {
			await exchange.write(events.join(''));
			exchange.end();
		},
		(exchange) => exchange.json(200, body),
	);
	const { reply, deltas, error } = await streamed.ask(provider, asked);
	if (reply === undefined) throw error;
	return { streamedReply: reply, deltas, wholeReply: readReply(await whole.ask(provider, asked)) };
}

/** A reply without the fields that may differ between a streamed and a whole reply. */
function comparable({ raw: _, usage, ...rest }: ChatReply) {
	return { ...rest, ...(usage !== undefined && { usage: timeless(usage) }) };
}

function timeless({ latencyMs: _, ...usage }: ChatUsage): ChatUsage {
	return usage;
}

/** Checks that the deltas of a reply add up to it, in order and with one `stop` at the end. */
function expectDeltas(
	{ text = '', reasoning = '', toolCalls = [], stopReason, usage = {} }: ChatReply,
	deltas: readonly Delta[],
) {
	expect(joinedText(deltas, 'text')).toBe(text);
	expect(joinedText(deltas, 'reasoning')).toBe(reasoning);
	expect(deltas.filter(({ type }) => type === 'stop')).toHaveLength(1);
	const last = deltas.at(-1);
	expect(last).toMatchObject({ type: 'stop', reason: stopReason, usage: timeless(usage) });
	expect(deltas.filter((delta) => delta.type === 'text' && delta.text === '')).toEqual([]);
	expect(deltas.filter(({ type }) => type === 'tool_use_start')).toEqual(
		toolCalls.map(({ id, name }) => ({ type: 'tool_use_start', id, name })),
	);
	for (const { id, input } of toolCalls) {
		const own = deltas.filter((delta) => 'id' in delta && delta.id === id);
		expect(own[0]?.type).toBe('tool_use_start');
		expect(own.at(-1)?.type).toBe('tool_use_end');
		const pieces = own.flatMap((delta) => (delta.type === 'tool_use_input' ? [delta.partialInputJson] : []));
		expect(own).toHaveLength(pieces.length + 2);
		const json = pieces.join('');
		expect(json === '' ? {} : JSON.parse(json)).toEqual(input);
	}
}

interface Case {
	readonly name: string;
	readonly sent: NeutralReply;
	readonly expected: Partial<ChatReply>;
	readonly needs?: keyof Dialect['can'];
}

const cases: readonly Case[] = [
	{
		name: 'a text',
		sent: { text: 'Grüße ✓ from the model 🦊.', stop: 'end_turn' },
		expected: { text: 'Grüße ✓ from the model 🦊.', toolCalls: [], stopReason: 'end_turn' },
	},
	{
		name: 'a text and a call',
		sent: {
			text: 'Let me look.',
			calls: [{ id: 'call_1', name: 'look', argumentsJson: '{"city":"Köln ✓"}' }],
			stop: 'tool_use',
		},
		expected: {
			text: 'Let me look.',
			toolCalls: [{ id: 'call_1', name: 'look', input: { city: 'Köln ✓' } }],
			stopReason: 'tool_use',
		},
	},
	{
		name: 'two calls at once, one of them by its alias',
		sent: {
			calls: [
				{ id: 'call_1', name: 'look', argumentsJson: '{"city":"Ulm"}' },
				{ id: 'call_2', name: addAlias, argumentsJson: '{"x":1,"y":2}' },
			],
			stop: 'tool_use',
		},
		expected: {
			toolCalls: [
				{ id: 'call_1', name: 'look', input: { city: 'Ulm' } },
				{ id: 'call_2', name: 'myapp/add', input: { x: 1, y: 2 } },
			],
			stopReason: 'tool_use',
		},
	},
	{
		name: 'a call with empty arguments',
		sent: { calls: [{ id: 'call_1', name: 'look', argumentsJson: '' }], stop: 'tool_use' },
		expected: { toolCalls: [{ id: 'call_1', name: 'look', input: {} }], stopReason: 'tool_use' },
	},
	{
		name: 'reasoning and a text',
		sent: { reasoning: 'Let me think about it.', text: 'Done.', stop: 'end_turn' },
		expected: { reasoning: 'Let me think about it.', text: 'Done.', toolCalls: [], stopReason: 'end_turn' },
		needs: 'reasoning',
	},
	{
		name: 'a text that max_tokens cut',
		sent: { text: 'Once upon a', stop: 'max_tokens' },
		expected: { text: 'Once upon a', toolCalls: [], stopReason: 'max_tokens' },
	},
	{
		name: 'a text that a stop sequence ended',
		sent: { text: 'Once upon a', stop: 'stop_sequence' },
		expected: { text: 'Once upon a', toolCalls: [], stopReason: 'stop_sequence' },
		needs: 'stopSequence',
	},
	{
		name: 'a refusal',
		sent: { text: 'I will not.', stop: 'refusal' },
		expected: { toolCalls: [], stopReason: 'refusal' },
	},
];

describe.each(dialects)('$name', (dialect) => {
	/** Returns the request that arrived at the server. */
	async function heard(question: Partial<Question>, options: CallOptions = {}): Promise<WireRequest> {
		const { events } = { events: dialect.events({ text: 'Hi', stop: 'end_turn' }) };
		server.play(async (exchange) => {
			await exchange.write(events.join(''));
			exchange.end();
		});
		readReply(await streamed.ask(dialect.provider(server.url), { model: dialect.model, options, ...question }));
		const [exchange] = server.requests;
		return dialect.readRequest(exchange?.body, exchange?.path ?? '');
	}

	describe('a streamed reply equals the whole reply and the sum of its deltas:', () => {
		test.each(cases.filter(({ needs }) => needs === undefined || dialect.can[needs]))(
			'$name',
			async ({ sent, expected }) => {
				const { streamedReply, wholeReply, deltas } = await both(dialect, {
					events: dialect.events(sent),
					body: dialect.body(sent),
				});
				expect(comparable(streamedReply)).toEqual(comparable(wholeReply));
				expect({ ...streamedReply, toolCalls: readCalls(streamedReply) }).toMatchObject(expected);
				expectDeltas(streamedReply, deltas);
			},
		);

		test.each(dialect.refusals)('a refusal: $name', async (variant) => {
			const { streamedReply, wholeReply, deltas } = await both(dialect, variant);
			expect(streamedReply.stopReason).toBe('refusal');
			expect(comparable(streamedReply)).toEqual(comparable(wholeReply));
			expectDeltas(streamedReply, deltas);
		});
	});

	test('counts all input and output, and the cached and reasoning tokens', async () => {
		const reply: NeutralReply = {
			text: 'Hi',
			stop: 'end_turn',
			usage: { input: 1000, output: 300, cached: 250, reasoning: 120 },
		};
		const { streamedReply, wholeReply } = await both(dialect, {
			events: dialect.events(reply),
			body: dialect.body(reply),
		});
		const expected = {
			inputTokens: 1000,
			outputTokens: 300,
			totalTokens: 1300,
			cachedInputTokens: 250,
			...(dialect.can.reasoningUsage && { reasoningTokens: 120 }),
		};
		expect(streamedReply.usage).toMatchObject(expected);
		expect(wholeReply.usage).toMatchObject(expected);
	});

	test('a turn of a run has the content of the streamed reply', async () => {
		const reply: NeutralReply = {
			text: 'Let me add.',
			calls: [{ id: 'call_1', name: addAlias, argumentsJson: '{"x":1,"y":2}' }],
			stop: 'tool_use',
		};
		server.play(async (exchange) => {
			await exchange.write(dialect.events(reply).join(''));
			exchange.end();
		});
		const outcome = await ran.ask(dialect.provider(server.url), { model: dialect.model, tools: [add] });
		expectDeltas(readReply(outcome), outcome.deltas);
		expect(readReply(outcome).toolCalls).toEqual([{ id: 'call_1', name: 'myapp/add', input: { x: 1, y: 2 } }]);
	});

	describe('a request', () => {
		test('is sent to the right address with the key, and states whether to stream', async () => {
			const reply: NeutralReply = { text: 'Hi', stop: 'end_turn' };
			await both(dialect, { events: dialect.events(reply), body: dialect.body(reply) });
			expect(server.requests).toHaveLength(2);
			const [first, second] = server.requests;
			expect(first?.path).toBe(dialect.paths.stream);
			expect(second?.path).toBe(dialect.paths.whole);
			for (const exchange of server.requests) {
				const sent = dialect.keys.filter(([header, value]) => exchange.headers[header] === value);
				expect(sent).toHaveLength(Math.min(1, dialect.keys.length));
				expect(exchange.path).not.toContain('secret');
			}
			expect(dialect.readRequest(first?.body, first?.path ?? '')).toMatchObject({
				stream: true,
				model: dialect.wireModel,
			});
			expect(dialect.readRequest(second?.body, second?.path ?? '')).toMatchObject({
				stream: false,
				model: dialect.wireModel,
			});
		});

		test('has the system prompt separate from the messages', async () => {
			const { system, turns } = await heard({ system: 'Be brief.' });
			expect(system).toBe('Be brief.');
			expect(turns).toEqual([{ role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }]);
		});

		test('has no system prompt if none is set', async () => {
			expect((await heard({})).system).toBeUndefined();
		});

		test('keeps a system message of the history', async () => {
			const messages: Message[] = [{ role: 'system', content: 'Speak Latin.' }, ...hello];
			const { system, turns } = await heard({ system: 'Be brief.', messages });
			expect(`${system} ${JSON.stringify(turns)}`).toContain('Be brief.');
			expect(`${system} ${JSON.stringify(turns)}`).toContain('Speak Latin.');
		});

		test('begins with the summary that the model wrote', async () => {
			const [old, kept] = [0, 1].map((n): Message[] => [
				chat.userMessage(`Question ${n}. ${'x'.repeat(n === 0 ? 26_000 : 12_000)}`),
				chat.assistantMessage('I look.', [{ id: `call_${n}`, name: 'look', input: { city: 'Bern' } }]),
				chat.toolResultMessage({ id: `call_${n}`, output: 'sunny', isError: false }),
				chat.assistantMessage(`Answer ${n}.`),
			]);
			const summed = { text: 'Ada has 3 cats.', stop: 'end_turn' } as const;
			server.play(
				(exchange) => exchange.json(200, dialect.body(summed)),
				async (exchange) => {
					await exchange.write(dialect.events({ text: 'Hi', stop: 'end_turn' }).join(''));
					exchange.end();
				},
			);
			const messages = [...(old ?? []), ...(kept ?? []), chat.userMessage('And now?')];
			const full = { contextFull: 'compact', maxContextTokens: 9_500, tools: [look] } as const;
			const asked = { model: dialect.model, providers: [dialect.provider(server.url)], maxRetries: 0, ...full };
			const { text } = await chat.run(asked, messages).result;
			expect(text).toBe('Hi');
			const [first, second, ...more] = server.requests.map(({ body, path }) => dialect.readRequest(body, path));
			expect(more).toEqual([]);
			expect(first).toMatchObject({ stream: false, tools: [], turns: [{ role: 'user' }] });
			expect(JSON.stringify(first?.turns)).toContain('Question 0.');
			expect(`${second?.system} ${JSON.stringify(second?.turns)}`).toContain('Ada has 3 cats.');
			expect(second?.turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
			expect(JSON.stringify(second?.turns[0])).toContain('Question 1.');
			expect(JSON.stringify(second)).not.toContain('Question 0.');
		});

		test('has the output limit', async () => {
			expect((await heard({}, { maxOutputTokens: 1234 })).maxOutputTokens).toBe(1234);
		});

		test('has the tools with names that the API accepts', async () => {
			const { tools } = await heard({ tools: [look, add] });
			expect(tools.map(({ name }) => name)).toEqual(['look', addAlias]);
			expect(tools.map(({ description }) => description)).toEqual(['Looks at a city.', 'Adds two integers.']);
			expect(tools[0]?.schema).toMatchObject({ properties: { city: { type: 'string' } }, required: ['city'] });
		});

		test('has a tool without parameters', async () => {
			const { tools } = await heard({ tools: [{ name: 'ping', inputSchema: { type: 'object' } }] });
			expect(tools.map(({ name }) => name)).toEqual(['ping']);
		});

		test.each([
			['auto', 'auto'],
			['none', 'none'],
			['required', 'required'],
			[{ name: 'myapp/add' }, { name: addAlias }],
		] as const)('has the tool choice %j', async (toolChoice, expected) => {
			const heardChoice = (await heard({ tools: [look, add] }, { toolChoice })).toolChoice;
			if (toolChoice === 'auto') expect([undefined, 'auto']).toContain(heardChoice);
			else expect(heardChoice).toEqual(expected);
		});

		test.each(['auto', 'none', 'required'] as const)('omits tool choice %j without tools', async (toolChoice) => {
			expect((await heard({}, { toolChoice })).tools).toEqual([]);
		});

		test('has an image by its URL', async () => {
			const parts = [chat.textPart('What is this?'), chat.imagePart('https://example.com/a.png')];
			const { turns } = await heard({ messages: [chat.userMessage(parts)] });
			expectMediaOrText(
				turns[0]?.parts,
				{ kind: 'image', url: 'https://example.com/a.png' },
				'https://example.com/a.png',
			);
			expect(JSON.stringify(turns)).toContain('What is this?');
		});

		test('has an image by its bytes', async () => {
			const { turns } = await heard({ messages: [chat.userMessage([chat.imagePart('aGVsbG8=', 'image/png')])] });
			expect(readMedia(turns[0]?.parts)).toEqual([{ kind: 'image', data: 'aGVsbG8=', mime: 'image/png' }]);
		});

		test('has a PDF by its bytes, or a placeholder', async () => {
			const part = { kind: 'file', data: 'JVBERi0=', mime: 'application/pdf', name: 'plan.pdf' } as const;
			const { turns } = await heard({ messages: [chat.userMessage([part])] });
			const media = { kind: 'file', data: 'JVBERi0=', mime: 'application/pdf' } as const;
			if (dialect.can.files) expect(readMedia(turns[0]?.parts)).toEqual([media]);
			else expectMediaOrText(turns[0]?.parts, media, '[file:plan.pdf]');
		});

		test('has audio by its bytes, or a placeholder', async () => {
			const part = { kind: 'audio', data: 'UklGRg==', mime: 'audio/wav', name: 'memo.wav' } as const;
			const { turns } = await heard({ messages: [chat.userMessage([part])] });
			const media = { kind: 'audio', data: 'UklGRg==', mime: 'audio/wav' } as const;
			if (dialect.can.audio) expect(readMedia(turns[0]?.parts)).toEqual([media]);
			else expectMediaOrText(turns[0]?.parts, media, '[audio:memo.wav]');
		});

		test('has the calls of the history with their results', async () => {
			const { turns } = await heard({ tools: [look, add], messages: twoCalls });
			expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
			const calls = turns[1]?.parts.filter((part) => part.kind === 'call') ?? [];
			expect(calls.map(({ name, input }) => [name, input])).toEqual([
				['look', { city: 'Ulm' }],
				[addAlias, { x: 1, y: 2 }],
			]);
			const results = turns[2]?.parts.filter((part) => part.kind === 'result') ?? [];
			expect(results.map(({ text }) => text)).toEqual(['sunny', '3']);
			for (const [index, { id, name }] of results.entries()) {
				if (id !== undefined) expect(id).toBe(calls[index]?.id);
				if (name !== undefined) expect(name).toBe(calls[index]?.name);
			}
		});

		test('marks a failed result, at least in its text', async () => {
			const messages = [
				...twoCalls.slice(0, 2),
				chat.toolResultMessage({ id: 'call_1', output: 'no such city', isError: true }),
				chat.toolResultMessage({ id: 'call_2', output: { sum: 3 }, isError: false }),
			];
			const { turns } = await heard({ tools: [look, add], messages });
			const results = turns[2]?.parts.filter((part) => part.kind === 'result') ?? [];
			expect(results[0]?.text).toContain('no such city');
			expect(results[1]?.text).toContain('3');
			if (dialect.can.errorResults) expect(results.map(({ isError }) => isError)).toEqual([true, false]);
		});

		test("has the image of a tool's result", async () => {
			const messages: Message[] = [
				...twoCalls.slice(0, 2),
				{
					role: 'tool',
					content: 'a picture',
					toolCallId: 'call_1',
					parts: [chat.textPart('a picture'), chat.imagePart('aGVsbG8=', 'image/png')],
				},
				chat.toolResultMessage({ id: 'call_2', output: 3, isError: false }),
			];
			const { turns } = await heard({ tools: [look, add], messages });
			expect(JSON.stringify(turns)).toContain('a picture');
			expect(turns.flatMap(({ parts }) => readMedia(parts))).toEqual([
				{ kind: 'image', data: 'aGVsbG8=', mime: 'image/png' },
			]);
		});

		test('is valid with a user message after a result', async () => {
			const { turns } = await heard({ tools: [look, add], messages: [...twoCalls, chat.userMessage('And now?')] });
			expect(JSON.stringify(turns.at(-1))).toContain('And now?');
		});

		test('is valid with an empty assistant turn', async () => {
			const messages = [...hello, chat.assistantMessage(''), chat.userMessage('Are you there?')];
			expect(JSON.stringify(await heard({ messages }))).toContain('Are you there?');
		});

		test('is valid with two user messages in a row', async () => {
			const text = JSON.stringify(await heard({ messages: [chat.userMessage('One.'), chat.userMessage('Two.')] }));
			expect(text).toContain('One.');
			expect(text).toContain('Two.');
		});

		test('is valid with call ids of another provider', async () => {
			const ids = ['functions.look:0', `call_${'x'.repeat(90)}|fc_1`];
			const messages: Message[] = [
				...hello,
				chat.assistantMessage(
					'',
					ids.map((id) => ({ id, name: 'look', input: { city: id } })),
				),
				...ids.map((id) => chat.toolResultMessage({ id, output: `about ${id}`, isError: false })),
			];
			const { turns } = await heard({ tools: [look], messages });
			const calls = turns[1]?.parts.filter((part) => part.kind === 'call') ?? [];
			const results = turns[2]?.parts.filter((part) => part.kind === 'result') ?? [];
			expect(calls.map(({ input }) => input)).toEqual(ids.map((city) => ({ city })));
			for (const [index, { id, text }] of results.entries()) {
				expect(text).toBe(`about ${ids[index]}`);
				if (id !== undefined) expect(id).toBe(calls[index]?.id);
			}
		});

		test('is valid with a call whose input is not JSON, and with the error result of that call', async () => {
			const messages: Message[] = [
				...hello,
				chat.assistantMessage('', [{ id: 'call_1', name: 'look', input: '{"city": Ulm' }]),
				chat.toolResultMessage({ id: 'call_1', output: 'that is no JSON', isError: true }),
			];
			expect(JSON.stringify(await heard({ tools: [look], messages }))).toContain('that is no JSON');
		});

		test("never contains the model's thinking as text", async () => {
			const messages: Message[] = [
				...hello,
				{ role: 'assistant', content: 'Hi.', reasoning: 'a-secret-thought' },
				chat.userMessage('Go on.'),
			];
			expect(JSON.stringify(await heard({ messages }))).not.toContain('a-secret-thought');
		});

		test('has the output schema', async () => {
			const { outputSchema } = await heard({}, { outputSchema: citySchema });
			expect(outputSchema).toMatchObject({ properties: { city: { type: 'string' } }, required: ['city'] });
		});

		test.each(['low', 'medium', 'high'] as const)('has the reasoning effort %s', async (reasoningEffort) => {
			const { effort } = await heard({}, { reasoningEffort });
			if (typeof effort === 'number') expect(effort).toBeGreaterThan(0);
			else expect(effort).toMatch(/^(low|medium|high|adaptive)$/i);
		});

		test.each(['none', 'minimal', 'xhigh', 'max'] as const)('is valid with the effort %s', async (reasoningEffort) => {
			const { effort } = await heard({}, { reasoningEffort });
			if (reasoningEffort !== 'none') expect(effort).toBeDefined();
		});

		test('is valid with an effort and a forced tool', async () => {
			const options = { reasoningEffort: 'high', toolChoice: 'required', maxOutputTokens: 2000 } as const;
			expect((await heard({ tools: [look] }, options)).tools).toHaveLength(1);
		});
	});
});

describe.each(dialects.filter(({ memories }) => memories.length > 0))('the metadata of $name', (dialect) => {
	test.each(dialect.memories)('is sent back unchanged: $name', async (memory) => {
		for (const reply of await remembered(dialect, memory)) {
			const exchange = await sendHistory(dialect, readHistory(reply), memory);
			dialect.readRequest(exchange.body, exchange.path);
			expect(memory.sent(exchange.body)).toEqual(memory.expected);
		}
	});

	test.each(dialect.memories)('is not sent to another provider: $name', async (memory) => {
		for (const reply of await remembered(dialect, memory)) {
			for (const other of dialects.filter((one) => one !== dialect || memory.provider !== undefined)) {
				const exchange = await sendHistory(other, readHistory(reply), {});
				const text = JSON.stringify(exchange.body);
				expect(text).toContain('Let me look.');
				for (const secret of memory.secrets) expect(text).not.toContain(secret);
				other.readRequest(exchange.body, exchange.path);
			}
		}
	});
});

const twoCalls: readonly Message[] = [
	...hello,
	chat.assistantMessage('Let me see.', [
		{ id: 'call_1', name: 'look', input: { city: 'Ulm' } },
		{ id: 'call_2', name: 'myapp/add', input: { x: 1, y: 2 } },
	]),
	chat.toolResultMessage({ id: 'call_1', output: 'sunny', isError: false }),
	chat.toolResultMessage({ id: 'call_2', output: 3, isError: false }),
];

function readMedia(parts: readonly WirePart[] = []): WireMedia[] {
	return parts.flatMap((part) => {
		if (part.kind === 'result') return part.media;
		return part.kind === 'image' || part.kind === 'file' || part.kind === 'audio' ? [part] : [];
	});
}

function expectMediaOrText(parts: readonly WirePart[] | undefined, media: WireMedia, text: string): void {
	const found = readMedia(parts);
	if (found.length > 0) expect(found).toEqual([media]);
	else expect(JSON.stringify(parts)).toContain(text);
}

/** Returns the reply of a memory, once streamed and once whole. */
async function remembered(dialect: Dialect, memory: Memory): Promise<readonly ChatReply[]> {
	const provider = memory.provider?.(server.url) ?? dialect.provider(server.url);
	const { streamedReply, wholeReply } = await both(dialect, memory, { model: memory.model ?? dialect.model }, provider);
	return [streamedReply, wholeReply];
}

/** Returns the stored conversation after a reply. */
function readHistory({ text = '', toolCalls = [], reasoning, providerMetadata }: ChatReply): Message[] {
	const answer: Message = {
		...chat.assistantMessage(text, toolCalls),
		reasoning,
		...(providerMetadata !== undefined && { providerMetadata: structuredClone(providerMetadata) }),
	};
	const results = toolCalls.map(({ id }) => chat.toolResultMessage({ id, output: 'sunny', isError: false }));
	const stored: Message[] = JSON.parse(JSON.stringify([...hello, answer, ...results]));
	return results.length > 0 ? stored : [...stored, chat.userMessage('Go on.')];
}

async function sendHistory(
	dialect: Dialect,
	messages: readonly Message[],
	{ provider, model = dialect.model }: Partial<Pick<Memory, 'provider' | 'model'>>,
) {
	server.play((exchange) => exchange.json(200, dialect.body({ text: 'Hi', stop: 'end_turn' })));
	const target = provider?.(server.url) ?? dialect.provider(server.url);
	readReply(await whole.ask(target, { model, messages, tools: [look, add] }));
	const [exchange] = server.requests;
	if (exchange === undefined) throw new Error('nothing was sent');
	return exchange;
}

describe('anthropic, in addition to the contract', () => {
	test('sums the reported counts of several iterations', async () => {
		const iterations = [
			{ type: 'message', input_tokens: 10, output_tokens: 40 },
			{ type: 'fallback_message', input_tokens: 12, output_tokens: 30 },
		];
		const body = { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' };
		server.play((exchange) => exchange.json(200, { ...body, usage: { output_tokens: 30, iterations } }));
		const provider = providers.anthropic({ apiKey: 'key', baseURL: server.url });
		const reply = await provider.chatFn?.('claude-opus-5-5', hello);
		expect(reply?.usage).toMatchObject({ inputTokens: 22, outputTokens: 70 });
		expect(reply?.usage).not.toHaveProperty('cachedInputTokens');
	});
});

describe('gemini, in addition to the contract', () => {
	const dialect = dialects.find(({ name }) => name === 'gemini') ?? dialects[0];
	if (dialect === undefined) throw new Error('there are no dialects');

	test('creates missing call ids', async () => {
		const parts = ['Ulm', 'Bonn'].map((city) => ({ functionCall: { name: 'look', args: { city } } }));
		const { streamedReply, wholeReply } = await both(dialect, {
			events: geminiEvents(parts, { stop: 'tool_use' }),
			body: toGeminiBody(parts, { stop: 'tool_use' }),
		});
		for (const reply of [streamedReply, wholeReply]) {
			const calls = readCalls(reply);
			expect(calls.map(({ input }) => input)).toEqual([{ city: 'Ulm' }, { city: 'Bonn' }]);
			expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
			expect(calls.every(({ id }) => id !== '')).toBe(true);
			expect(reply.stopReason).toBe('tool_use');
		}
	});

	test('sends back the signature of an empty text at the end of a turn', async () => {
		const parts = [{ text: 'Let me look.' }, { text: '', thoughtSignature: 'sig-at-the-end' }];
		const { streamedReply } = await both(dialect, {
			events: geminiEvents(parts, { stop: 'end_turn' }),
			body: toGeminiBody(parts, { stop: 'end_turn' }),
		});
		const exchange = await sendHistory(dialect, readHistory(streamedReply), {});
		expect(JSON.stringify(exchange.body)).toContain('sig-at-the-end');
		expect(JSON.stringify(exchange.body)).toContain('Let me look.');
	});

	test('reads executed code and its result as neither text nor calls', async () => {
		const parts = [
			{ text: 'Let me count.' },
			{ executableCode: { language: 'PYTHON', code: 'print(40 + 2)' } },
			{ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
			{ text: ' It is 42.' },
		];
		const { streamedReply, wholeReply } = await both(dialect, {
			events: geminiEvents(parts, { stop: 'end_turn' }),
			body: toGeminiBody(parts, { stop: 'end_turn' }),
		});
		for (const reply of [streamedReply, wholeReply]) {
			expect(reply.text).toBe('Let me count. It is 42.');
			expect(readCalls(reply)).toEqual([]);
		}
	});
});

describe('workers-ai with an older model, in addition to the contract', () => {
	const dialect = dialects.find(({ name }) => name === 'workers-ai') ?? dialects[0];
	if (dialect === undefined) throw new Error('there are no dialects');

	test('reads a text, streamed and whole', async () => {
		const { streamedReply, wholeReply, deltas } = await both(dialect, {
			events: plainEvents('Grüße from the model.'),
			body: plainBody('Grüße from the model.'),
		});
		expect(comparable(streamedReply)).toEqual(comparable(wholeReply));
		expect(streamedReply).toMatchObject({ text: 'Grüße from the model.', stopReason: 'end_turn' });
		expect(streamedReply.usage).toMatchObject({ inputTokens: 100, outputTokens: 40 });
		expectDeltas(streamedReply, deltas);
	});

	test('reads a call that has an object as its arguments and no id', async () => {
		const calls = [{ name: addAlias, arguments: { x: 1, y: 2 } }];
		const { streamedReply, wholeReply } = await both(dialect, {
			events: plainEvents('', undefined, calls),
			body: plainBody('', undefined, calls),
		});
		for (const reply of [streamedReply, wholeReply]) {
			expect(readCalls(reply)).toMatchObject([{ name: 'myapp/add', input: { x: 1, y: 2 } }]);
			expect(readCalls(reply)[0]?.id).not.toBe('');
			expect(reply.stopReason).toBe('tool_use');
		}
	});
});

describe('openai-chat, in addition to the contract', () => {
	test('recognizes an error with status 200', async () => {
		const dialect = dialects.find(({ name }) => name === 'openai-chat') ?? dialects[0];
		if (dialect === undefined) throw new Error('there are no dialects');
		server.play((exchange) => exchange.json(200, { error: { code: 429, message: 'Provider returned error' } }));
		const error = readError(await whole.ask(dialect.provider(server.url), { model: dialect.model }));
		expect(error.code).toBe('rate_limited');
	});
});
