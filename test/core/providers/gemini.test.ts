import * as v from 'valibot';
import { expect, test } from 'vitest';
import { type ChatReply, chat, type Message, type Tool } from '../../../src/core/index.ts';
import { type GeminiSettings, gemini } from '../../../src/core/providers/index.ts';

interface Sent {
	readonly url: string;
	readonly headers: Headers;
	readonly body: v.InferOutput<typeof sentBody>;
}

const sentBody = v.looseObject({
	contents: v.optional(v.array(v.looseObject({ role: v.string(), parts: v.array(v.looseObject({})) })), []),
	generationConfig: v.optional(v.looseObject({})),
	systemInstruction: v.optional(v.looseObject({})),
	tools: v.optional(v.array(v.looseObject({}))),
});

/** Gemini with a server that answers with these bodies. A list of events is a stream. */
function server(answers: readonly unknown[], settings: Partial<GeminiSettings> = {}) {
	const sent: Sent[] = [];
	const provider = gemini({
		apiKey: 'the-key',
		...settings,
		fetch: async (url, init) => {
			const body = v.parse(sentBody, JSON.parse(String(init?.body)));
			const answer =
				answers[
					Math.min(sent.push({ url: String(url), headers: new Headers(init?.headers), body }), answers.length) - 1
				];
			if (answer instanceof Response) return answer;
			if (!Array.isArray(answer)) return Response.json(answer);
			const events = answer.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('');
			return new Response(events, { headers: { 'content-type': 'text/event-stream' } });
		},
	});
	const { chatFn, chatStreamFn } = provider;
	if (chatFn === undefined || chatStreamFn === undefined) throw new Error('it cannot talk');
	return { provider, sent, chatFn, chatStreamFn };
}

function says(parts: readonly unknown[], finishReason?: string) {
	return { candidates: [{ content: { role: 'model', parts }, finishReason }] };
}

const fine = says([{ text: 'Fine.' }], 'STOP');
const hi: readonly Message[] = [chat.userMessage('Hi')];
const look: Tool = { name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } };

/** Returns the request that is sent for a conversation. */
async function asked(
	messages: readonly Message[],
	{ model = 'gemini-3-pro-preview', ...more }: { model?: string } & Partial<GeminiSettings> = {},
): Promise<Sent['body']> {
	const { chatFn, sent } = server([fine], more);
	await chatFn(model, messages);
	const [request] = sent;
	if (request === undefined) throw new Error('nothing was sent');
	return request.body;
}

async function streamed(events: readonly unknown[]): Promise<ChatReply> {
	const reply = await server([events]).chatStreamFn('gemini-3-pro-preview', hi, undefined, [look], () => undefined);
	if (reply === undefined) throw new Error('no reply');
	return reply;
}

function call(id: string, input: unknown = {}, name = 'look') {
	return { id, name, input };
}

test('sends the key in a header and not in the URL', async () => {
	const { sent, chatFn, chatStreamFn } = server([fine, [fine]]);
	await chatFn('models/gemini-2.5-flash', hi);
	await chatStreamFn('gemini-2.5-flash', hi, undefined, undefined, () => undefined);
	expect(sent.map(({ url }) => url)).toEqual([
		'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
		'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
	]);
	expect(sent.every(({ headers }) => headers.get('x-goog-api-key') === 'the-key')).toBe(true);
});

test('reads a stream that is one JSON list', async () => {
	const list = [says([{ text: 'Fi' }]), { ...says([{ text: 'ne.' }], 'STOP'), usageMetadata: { promptTokenCount: 3 } }];
	const cut = JSON.stringify(list).slice(0, -1);
	const json = { headers: { 'content-type': 'application/json' } };
	const { chatStreamFn } = server([Response.json(list), Response.json(list.slice(0, 1)), new Response(cut, json)]);
	const deltas: unknown[] = [];
	const ask = () => chatStreamFn('gemini-2.5-flash', hi, undefined, [], (delta) => void deltas.push(delta));
	expect(await ask()).toMatchObject({ text: 'Fine.', stopReason: 'end_turn', usage: { inputTokens: 3 } });
	expect(deltas).toMatchObject([{ text: 'Fi' }, { text: 'ne.' }, { type: 'stop' }]);
	await expect(ask()).rejects.toMatchObject({ code: 'interrupted' });
	await expect(ask()).rejects.toMatchObject({ code: 'interrupted' });
});

test('reads the finish reason FUNCTION_CALL of a gateway as tool_use', async () => {
	const reply = await streamed([says([{ functionCall: { name: 'look', args: {} } }], 'FUNCTION_CALL')]);
	expect(reply).toMatchObject({ stopReason: 'tool_use', toolCalls: [{ name: 'look', input: {} }] });
});

test('joins the arguments of a call if they arrive one value at a time', async () => {
	const piece = (fields: object, willContinue = true) =>
		says([{ functionCall: { partialArgs: [fields], ...(willContinue && { willContinue }) } }]);
	const reply = await streamed([
		says([{ functionCall: { name: 'look', willContinue: true }, thoughtSignature: 'sig' }]),
		piece({ jsonPath: '$.list[0].name', stringValue: 'Ul', willContinue: true }),
		piece({ jsonPath: '$.list[0].name', stringValue: 'm' }),
		piece({ jsonPath: '$.list[0].size', numberValue: 0 }),
		piece({ jsonPath: "$.list[1]['a b']", boolValue: false }),
		piece({ jsonPath: '$.__proto__.none', nullValue: 'NULL_VALUE' }),
		says([{ functionCall: {} }]),
		says([{ functionCall: { name: 'look', willContinue: true } }]),
		piece({ jsonPath: '$.last', numberValue: 1 }, false),
		says([{ text: '' }], 'STOP'),
	]);
	expect(reply.toolCalls?.map(({ input }) => JSON.stringify(input))).toEqual([
		'{"list":[{"name":"Ulm","size":0},{"a b":false}],"__proto__":{"none":null}}',
		'{"last":1}',
	]);
	expect(reply.stopReason).toBe('tool_use');
});

test('keeps an unfinished call if the model stopped normally, and drops that call after max_tokens', async () => {
	const open = (finish: string) => [
		says([{ functionCall: { name: 'look', args: {} } }]),
		says([{ functionCall: { name: 'look', willContinue: true } }]),
		says([{ functionCall: { partialArgs: [{ jsonPath: '$.city', stringValue: 'Ulm' }], willContinue: true } }]),
		says([{ text: '' }], finish),
	];
	expect((await streamed(open('STOP'))).toolCalls?.map(({ input }) => input)).toEqual([{}, { city: 'Ulm' }]);
	const cut = await streamed(open('MAX_TOKENS'));
	expect(cut.toolCalls?.map(({ input }) => input)).toEqual([{}]);
	expect(cut.stopReason).toBe('max_tokens');
});

test('treats a reply with a malformed call as interrupted, so the request is retried', async () => {
	const { chatFn, sent } = server([says([], 'MALFORMED_FUNCTION_CALL'), fine]);
	await expect(chatFn('gemini-2.5-flash', hi)).rejects.toMatchObject({ code: 'interrupted' });
	expect((await chatFn('gemini-2.5-flash', hi, undefined, undefined, { maxRetries: 1 }))?.text).toBe('Fine.');
	expect(sent).toHaveLength(2);
});

test('fails for an answer without a candidate', async () => {
	const nothing = { usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 } };
	await expect(server([nothing]).chatFn('gemini-2.5-flash', hi)).rejects.toMatchObject({
		code: 'interrupted',
		data: { usage: { inputTokens: 7, outputTokens: 0 } },
	});
});

test('recognizes an error that is bare JSON within a stream', async () => {
	const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } };
	const text = `data: ${JSON.stringify(says([{ text: 'Fi' }]))}\r\n\r\n${JSON.stringify(error, null, 2)}`;
	const { chatStreamFn } = server([new Response(text, { headers: { 'content-type': 'text/event-stream' } })]);
	const reply = chatStreamFn('gemini-2.5-flash', hi, undefined, undefined, () => undefined);
	await expect(reply).rejects.toMatchObject({ code: 'overloaded', message: expect.stringContaining('is overloaded') });
});

test('counts the thoughts as the whole output if max_tokens ended the reply before its text', async () => {
	const usageMetadata = { promptTokenCount: 5, totalTokenCount: 105, thoughtsTokenCount: 100 };
	const reply = await server([{ ...says([], 'MAX_TOKENS'), usageMetadata }]).chatFn('gemini-2.5-flash', hi);
	expect(reply?.usage).toMatchObject({ inputTokens: 5, outputTokens: 100, reasoningTokens: 100, totalTokens: 105 });
});

test('sends back each signature with its part, but no thoughts without a signature', async () => {
	const { chatFn, sent } = server([
		says(
			[
				{ text: 'I think.', thought: true },
				{ text: 'I look.' },
				{ functionCall: { id: 'own1', name: 'look', args: { city: 'Ulm' } }, thoughtSignature: 'sig-1' },
				{ functionCall: { name: 'look', args: { city: 'Bonn' } } },
				{ functionCall: { name: 'look', args: { city: 'Kiel' } } },
				{ text: '', thoughtSignature: 'sig-2' },
			],
			'STOP',
		),
		fine,
	]);
	const reply = await chatFn('gemini-3-pro-preview', hi, undefined, [look]);
	if (reply === undefined) throw new Error('no reply');
	const [ulm, bonn] = reply.toolCalls ?? [];
	if (ulm === undefined || bonn === undefined) throw new Error('no calls');
	const { text, ...rest } = reply;
	const kept: Message = { role: 'assistant', content: text ?? '', ...rest, toolCalls: [ulm, bonn] };
	const results = [bonn, ulm].map(({ id }) => chat.toolResultMessage({ id, output: id, isError: false }));
	await chatFn('gemini-3-pro-preview', [...hi, JSON.parse(JSON.stringify(kept)), ...results]);
	expect(sent[1]?.body.contents.slice(1)).toEqual([
		{
			role: 'model',
			parts: [
				{ text: 'I look.' },
				{ functionCall: { id: 'own1', name: 'look', args: { city: 'Ulm' } }, thoughtSignature: 'sig-1' },
				{ functionCall: { name: 'look', args: { city: 'Bonn' } } },
				{ text: '', thoughtSignature: 'sig-2' },
			],
		},
		{
			role: 'user',
			parts: [
				{ functionResponse: { id: 'own1', name: 'look', response: { result: 'own1' } } },
				{ functionResponse: { name: 'look', response: { result: bonn.id } } },
			],
		},
	]);
});

test("adds a placeholder signature to the first call of another model's turn, but only for version 3", async () => {
	const history = [
		...hi,
		chat.assistantMessage('', [call('a'), call('b', 'no JSON')]),
		chat.toolResultMessage({ id: 'a', output: { ok: true }, isError: false }),
		chat.toolResultMessage({ id: 'b', output: 'It is no JSON.', isError: true }),
	];
	const signature = { thoughtSignature: 'skip_thought_signature_validator' };
	const [first, second] = [{ functionCall: { name: 'look', args: {} } }, { functionCall: { name: 'look', args: {} } }];
	expect((await asked(history)).contents[1]?.parts).toEqual([{ ...first, ...signature }, second]);
	const older = await asked(history, { model: 'gemini-2.5-pro' });
	expect(older.contents[1]?.parts).toEqual([first, second]);
	expect(older.contents[2]?.parts).toEqual([
		{ functionResponse: { name: 'look', response: { ok: true } } },
		{ functionResponse: { name: 'look', response: { error: 'It is no JSON.' } } },
	]);
});

test("sends a tool's file inside its result to version 3 or newer, and sends it after all results to older versions", async () => {
	const history: readonly Message[] = [
		...hi,
		chat.assistantMessage('', [call('a'), call('b')]),
		{
			role: 'tool',
			toolCallId: 'a',
			content: 'x',
			parts: [chat.textPart('A plan.'), chat.imagePart('aGk=', 'image/png')],
		},
		chat.toolResultMessage({ id: 'b', output: null, isError: false }),
	];
	const image = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
	const response = { result: 'A plan.\n\n[image:image]' };
	const second = { functionResponse: { name: 'look', response: { result: null } } };
	expect((await asked(history)).contents[2]?.parts).toEqual([
		{ functionResponse: { name: 'look', response, parts: [image] } },
		second,
	]);
	expect((await asked(history, { model: 'gemini-2.5-flash' })).contents[2]?.parts).toEqual([
		{ functionResponse: { name: 'look', response } },
		second,
		image,
	]);
});

test('sends the media type of a file URL only if the type is known', async () => {
	const parts = [
		chat.imagePart('https://example.com/a.jpg?x=1'),
		chat.imagePart('https://generativelanguage.googleapis.com/v1beta/files/abc'),
		chat.imagePart('data:image/webp;base64,UklG'),
	];
	expect((await asked([chat.userMessage(parts)])).contents[0]?.parts).toEqual([
		{ fileData: { mimeType: 'image/jpeg', fileUri: 'https://example.com/a.jpg?x=1' } },
		{ fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc' } },
		{ inlineData: { mimeType: 'image/webp', data: 'UklG' } },
	]);
});

test('maps a call to the original name of its tool even if that name begins with a digit', async () => {
	const tool: Tool = { ...look, name: '3d/render' };
	const { chatFn, sent } = server([fine]);
	await chatFn('gemini-2.5-flash', hi, undefined, [tool], { toolChoice: { name: tool.name } });
	const wire = v.parse(
		v.looseObject({
			tools: v.tuple([v.object({ functionDeclarations: v.tuple([v.looseObject({ name: v.string() })]) })]),
			toolConfig: v.object({ functionCallingConfig: v.object({ allowedFunctionNames: v.tuple([v.string()]) }) }),
		}),
		sent[0]?.body,
	);
	const [{ name }] = wire.tools[0].functionDeclarations;
	expect(name).toMatch(/^_3d_render_/);
	expect(wire.toolConfig.functionCallingConfig.allowedFunctionNames).toEqual([name]);
	const answer = server([says([{ functionCall: { name, args: {} } }], 'STOP')]);
	expect((await answer.chatFn('gemini-2.5-flash', hi, undefined, [tool]))?.toolCalls?.[0]?.name).toBe('3d/render');
});

test.each([
	['gemini-3-pro-preview', 'none', { thinkingLevel: 'low' }],
	['gemini-3-pro-preview', 'medium', { thinkingLevel: 'high', includeThoughts: true }],
	['gemini-3.1-pro-preview', 'medium', { thinkingLevel: 'medium', includeThoughts: true }],
	['gemini-3-flash-preview', 'minimal', { thinkingLevel: 'minimal', includeThoughts: true }],
	['gemini-flash-latest', 'max', { thinkingLevel: 'high', includeThoughts: true }],
	['gemini-2.5-pro', 'none', { thinkingBudget: 128 }],
	['gemini-2.5-pro', 'max', { thinkingBudget: 32_768, includeThoughts: true }],
	['gemini-2.5-flash', 'none', { thinkingBudget: 0 }],
	['gemini-2.5-flash', 'xhigh', { thinkingBudget: 24_576, includeThoughts: true }],
	['gemini-2.0-flash', 'high', undefined],
] as const)('%s gets the effort %s in its own format', async (model, reasoningEffort, thinkingConfig) => {
	const { chatFn, sent } = server([fine]);
	await chatFn(model, hi, undefined, undefined, { reasoningEffort });
	expect(sent[0]?.body.generationConfig?.thinkingConfig).toEqual(thinkingConfig);
});

test.each([
	['svg+xml', [{ text: '[image:image]' }]],
	['gif', [{ text: '[image:image]' }]],
	['heic', [{ inlineData: { mimeType: 'image/heic', data: 'aGk=' } }]],
	['jpg', [{ inlineData: { mimeType: 'image/jpeg', data: 'aGk=' } }]],
])('sends an image/%s, or only its name if Gemini refuses the type', async (type, parts) => {
	const image = chat.imagePart('aGk=', `image/${type}`);
	expect((await asked([chat.userMessage([image])])).contents).toEqual([{ role: 'user', parts }]);
	const calls = chat.assistantMessage('', [call('c1')]);
	const result: Message = { role: 'tool', toolCallId: 'c1', content: '', parts: [image] };
	const within = (await asked([...hi, calls, result])).contents[2]?.parts[0];
	const named = JSON.stringify(parts).includes('text');
	expect(within).toHaveProperty(['functionResponse', named ? 'name' : 'parts']);
	expect(JSON.stringify(within).includes('inlineData')).toBe(!named);
});

test('sends the output schema in the prompt if the API refuses a schema together with tools', async () => {
	const outputSchema = { type: 'object', properties: { a: { type: 'string' } } };
	const { chatFn, sent } = server([fine]);
	await chatFn('gemini-2.5-flash', hi, undefined, [look], { outputSchema });
	await chatFn('gemini-3-flash-preview', hi, undefined, [look], { outputSchema });
	expect(sent[0]?.body.generationConfig).toBeUndefined();
	expect(JSON.stringify(sent[0]?.body.systemInstruction)).toContain('JSON Schema');
	expect(sent[1]?.body.generationConfig).toEqual({
		responseMimeType: 'application/json',
		responseJsonSchema: outputSchema,
	});
	expect(sent[1]?.body.systemInstruction).toBeUndefined();
});

test('merges the fields of the settings into the request', async () => {
	const { chatFn, sent } = server([fine], {
		body: { generationConfig: { temperature: 0 }, tools: [{ googleSearch: {} }] },
	});
	await chatFn('gemini-2.5-flash', hi, undefined, [look], { maxOutputTokens: 9 });
	expect(sent[0]?.body.generationConfig).toEqual({ maxOutputTokens: 9, temperature: 0 });
	expect(sent[0]?.body.tools?.map((tool) => Object.keys(tool))).toEqual([['functionDeclarations'], ['googleSearch']]);
});

test('returns the vectors of texts, and sends at most a hundred texts in a request', async () => {
	const answer = (count: number) => ({ embeddings: Array.from({ length: count }, () => ({ values: [1, 2] })) });
	const { provider, sent } = server([answer(100), answer(1)]);
	const texts = Array.from({ length: 101 }, (_, index) => `text ${index}`);
	expect(await provider.embedFn?.('gemini-embedding-001', texts)).toHaveLength(101);
	expect(sent).toHaveLength(2);
	expect(sent[1]).toMatchObject({
		url: expect.stringContaining('/models/gemini-embedding-001:batchEmbedContents'),
		body: { requests: [{ model: 'models/gemini-embedding-001', content: { parts: [{ text: 'text 100' }] } }] },
	});
});

test('counts tokens with the API', async () => {
	const { provider, sent } = server([{ totalTokens: 12 }]);
	expect(await provider.countTokens?.([{ role: 'system', content: 'Be short.' }, ...hi], 'gemini-2.5-flash')).toBe(12);
	expect(sent[0]?.body.generateContentRequest).toMatchObject({
		model: 'models/gemini-2.5-flash',
		systemInstruction: { parts: [{ text: 'Be short.' }] },
		contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
	});
});

test('reports a blocked message as content_filtered with its cost, and a blocked answer as a refusal', async () => {
	const blocked = {
		promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
		usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 },
	};
	const expected = {
		code: 'content_filtered',
		message: expect.stringContaining('PROHIBITED_CONTENT'),
		data: { usage: { inputTokens: 7, outputTokens: 0 } },
	};
	await expect(server([blocked]).chatFn('gemini-2.5-flash', hi)).rejects.toMatchObject(expected);
	const streamed = server([[blocked]]).chatStreamFn('gemini-2.5-flash', hi, undefined, undefined, () => undefined);
	await expect(streamed).rejects.toMatchObject(expected);
	const answer = await server([says([{ text: 'I was' }], 'SAFETY')]).chatFn('gemini-2.5-flash', hi);
	expect(answer).toMatchObject({ text: 'I was', stopReason: 'refusal' });
});
