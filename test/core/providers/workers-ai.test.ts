import { expect, test } from 'vitest';
import type { CallOptions } from '../../../src/core/chat/index.ts';
import { chat, type Message, providers } from '../../../src/core/index.ts';
import type { AiBinding } from '../../../src/core/providers/index.ts';

const model = 'workers-ai/@cf/meta/llama-3.3-70b-instruct-fp8-fast';
const newer = 'workers-ai/@cf/zai-org/glm-5.2';
const hi: readonly Message[] = [chat.userMessage('Hi')];

interface Run {
	readonly model: string;
	readonly inputs: Readonly<Record<string, unknown>>;
	readonly options: Readonly<Record<string, unknown>>;
}

/** A binding that returns this answer, or throws it if it is an error. */
function binding(answer: unknown): { readonly binding: AiBinding; readonly runs: Run[] } {
	const runs: Run[] = [];
	const run = async (name: string, inputs: Record<string, unknown>, options: object = {}): Promise<unknown> => {
		runs.push({ model: name, inputs, options: { ...options } });
		if (answer instanceof Error) throw answer;
		return typeof answer === 'function' ? answer() : answer;
	};
	return { binding: { run }, runs };
}

function stream(...events: readonly unknown[]): ReadableStream<Uint8Array> {
	const lines = events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
	return new Blob(lines).stream();
}

async function ask(
	answer: unknown,
	{
		model: name = model,
		stream: streamed = false,
		...options
	}: CallOptions & { model?: string; stream?: boolean } = {},
) {
	const given = binding(answer);
	const provider = providers.workersAi(given);
	const reply = streamed
		? await provider.chatStreamFn?.(name, hi, undefined, undefined, () => undefined, options)
		: await provider.chatFn?.(name, hi, undefined, undefined, options);
	if (reply === undefined) throw new Error('no reply');
	return { reply, run: given.runs[0] };
}

test('recognizes its models, and reports a missing binding', () => {
	const provider = providers.workersAi({ binding: undefined });
	expect(provider.detect(model)).toBe(true);
	expect(provider.needs).toContain('AI');
	expect(provider.chatFn).toBeUndefined();
	expect(() => Reflect.apply(providers.workersAi, undefined, [{ binding: 'AI' }])).toThrow(/binding/);
});

test('accepts a stream, an object or a response of a binding', async () => {
	const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
	const events = [{ response: 'Good', p: 'ab' }, { response: ' day', p: 'a' }, { response: '', usage }, '[DONE]'];
	const whole = { response: 'Good day', usage };
	const answers = [
		await ask(stream(...events), { stream: true }),
		await ask(whole),
		await ask(Response.json(whole)),
		// The answer of a model that cannot stream.
		await ask(Response.json(whole), { stream: true }),
		await ask(new Response(stream(...events), { headers: { 'content-type': 'text/event-stream' } }), { stream: true }),
	];
	for (const { reply } of answers) {
		expect(reply).toMatchObject({ text: 'Good day', stopReason: 'end_turn' });
		expect(reply.usage).toMatchObject({ inputTokens: 3, outputTokens: 2, totalTokens: 5, provider: 'workers-ai' });
	}
	expect(answers[0]?.run).toMatchObject({
		model: '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
		inputs: { stream: true, messages: [{ role: 'user', content: 'Hi' }] },
	});
});

test('fails if a stream has no end event', async () => {
	await expect(ask(stream({ response: 'Good' }), { stream: true })).rejects.toMatchObject({ code: 'interrupted' });
});

test('sets a limit for older models, and detects a cut at that limit', async () => {
	const cut = { response: 'Good', usage: { prompt_tokens: 1, completion_tokens: 20 } };
	expect((await ask(cut)).run?.inputs.max_tokens).toBe(2_048);
	expect((await ask(cut, { model: newer })).run?.inputs.max_tokens).toBeUndefined();
	expect((await ask(cut)).reply.stopReason).toBe('end_turn');
	const limited = { maxOutputTokens: 20 };
	expect((await ask(cut, limited)).reply.stopReason).toBe('max_tokens');
	const streamed = await ask(stream(cut, '[DONE]'), { ...limited, stream: true });
	expect(streamed.reply.stopReason).toBe('max_tokens');
	expect(streamed.run?.inputs.max_tokens).toBe(20);
});

test('converts requested JSON and a bare number to text', async () => {
	expect((await ask({ response: { city: 'Ulm' } })).reply.text).toBe('{"city":"Ulm"}');
	expect((await ask({ response: 42 })).reply.text).toBe('42');
});

test('reads calls in both formats, in pieces and whole', async () => {
	const flat = [{ name: 'look', arguments: { city: 'Ulm' } }];
	const events = [
		{ response: '', tool_calls: [{ id: 'c1', type: 'function', index: 0, function: { name: 'look' } }] },
		{ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
		{ tool_calls: [{ index: 0, function: { arguments: '"Ulm"}' } }] },
		{ tool_calls: [{ id: null, type: null, index: 0, function: { name: null, arguments: '' } }] },
		'[DONE]',
	];
	const answers = [
		await ask({ response: null, tool_calls: flat }),
		await ask(stream({ response: '', tool_calls: flat }, '[DONE]'), { stream: true }),
		await ask(stream(...events), { stream: true }),
	];
	for (const { reply } of answers) {
		expect(reply.toolCalls).toMatchObject([{ name: 'look', input: { city: 'Ulm' } }]);
		expect(reply.stopReason).toBe('tool_use');
	}
});

test('sends an image URL to an older model only as text', async () => {
	const messages = [chat.userMessage([chat.textPart('What?'), chat.imagePart('https://example.com/a.png')])];
	for (const [name, part] of [
		[model, { type: 'text', text: '[image:image (https://example.com/a.png)]' }],
		[newer, { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }],
	] as const) {
		const given = binding({ response: 'A cat.' });
		await providers.workersAi(given).chatFn?.(name, messages);
		expect(given.runs[0]?.inputs.messages).toEqual([
			{ role: 'user', content: [{ type: 'text', text: 'What?' }, part] },
		]);
	}
});

test('wraps the schema of a reply for newer models, and does not wrap it for older models', async () => {
	const schema = { type: 'object', properties: { city: { type: 'string' } } };
	const answer = { response: '{}' };
	expect((await ask(answer, { model: newer, outputSchema: schema })).run?.inputs.response_format).toEqual({
		type: 'json_schema',
		json_schema: { name: 'reply', schema, strict: false },
	});
	expect((await ask(answer, { outputSchema: schema })).run?.inputs.response_format).toEqual({
		type: 'json_schema',
		json_schema: schema,
	});
});

test.each([
	['openai/gpt-oss-120b', 'none', { reasoning_effort: 'low' }],
	['openai/gpt-oss-120b', 'max', { reasoning_effort: 'high' }],
	['meta/llama-4-scout-17b-16e-instruct', 'none', { reasoning_effort: 'low' }],
	['moonshotai/kimi-k2.6', 'none', { reasoning_effort: 'none' }],
	['moonshotai/kimi-k2.6', 'low', { reasoning_effort: 'high' }],
	['moonshotai/kimi-k2.7-code', 'none', {}],
	['zai-org/glm-4.7-flash', 'none', { chat_template_kwargs: { enable_thinking: false } }],
	['google/gemma-4-26b-a4b-it', 'low', { chat_template_kwargs: { enable_thinking: true } }],
	['zai-org/glm-5.2', 'medium', { reasoning_effort: 'high' }],
	['zai-org/glm-5.3', 'none', { reasoning_effort: 'low' }],
	['deepseek-ai/deepseek-v4-flash-0731', 'max', { reasoning_effort: 'max' }],
	['qwen/qwen3.8-27b', 'high', { reasoning_effort: 'xhigh' }],
] as const)('%s gets the effort %s in its own format', async (name, reasoningEffort, expected) => {
	const { run } = await ask({ response: 'Hi' }, { model: `workers-ai/@cf/${name}`, reasoningEffort });
	const { reasoning_effort, chat_template_kwargs } = run?.inputs ?? {};
	expect({ reasoning_effort, chat_template_kwargs }).toEqual(expected);
});

test('sends an empty text for a turn that has only calls', async () => {
	const given = binding({ response: 'Fine.' });
	const call = { id: 'c1', name: 'look', input: {} };
	const result = chat.toolResultMessage({ id: 'c1', output: 'Ulm', isError: false });
	await providers.workersAi(given).chatFn?.(model, [...hi, chat.assistantMessage('', [call]), result]);
	expect(given.runs[0]?.inputs.messages).toMatchObject([{ role: 'user' }, { content: '' }, { content: 'Ulm' }]);
});

test.each([
	['5007: No such model @cf/meta/unknown or task', 'invalid_request', false],
	['AiError: 5016: User has not agreed to Llama3.2 model terms', 'auth', false],
	['3040: Capacity temporarily exceeded, please try again.', 'overloaded', true],
	['InferenceUpstreamError: 3036: You have used up your daily free allocation.', 'rate_limited', false],
	['4006: you have used up your daily free allocation of 10,000 neurons', 'rate_limited', false],
	['3007: Request timeout', 'timeout', true],
	['AiError: AiError: Request timeout (a613c7db)', 'timeout', true],
	['3006: Request is too large', 'context_overflow', false],
	[
		'5021: The estimated number of input and maximum output tokens exceeded this model context window limit (32000).',
		'context_overflow',
		false,
	],
	['error code: 1031', 'overloaded', true],
	['{"errors":[{"code":10000,"message":"Authentication error"}]}', 'auth', false],
] as const)('an error “%s” of the binding has the code %s', async (message, code, again) => {
	const error = Object.assign(new Error(message), { name: 'InferenceUpstreamError' });
	const failed = await ask(error).catch((thrown: unknown) => thrown);
	expect(failed).toMatchObject({ code });
	const given = binding(error);
	await Promise.resolve(providers.workersAi({ ...given, maxRetries: 1 }).chatFn?.(model, hi)).catch(() => {});
	expect(given.runs).toHaveLength(again ? 2 : 1);
});

test('fails for an error in a stream', async () => {
	const events = stream({ response: 'Go' }, { errors: [{ code: 3040, message: 'No more data centers' }] });
	await expect(ask(events, { stream: true })).rejects.toMatchObject({ code: 'overloaded' });
});

test('closes a stream that arrives after an abort', async () => {
	const controller = new AbortController();
	let closed: () => void = () => {};
	const left = new Promise<void>((resolve) => {
		closed = resolve;
	});
	const late = () => {
		controller.abort();
		return new ReadableStream({ cancel: () => closed() });
	};
	const reply = ask(late, { stream: true, signal: controller.signal });
	await expect(reply).rejects.toMatchObject({ code: 'cancelled' });
	await left;
});

test('returns the vectors of texts', async () => {
	const given = binding({
		shape: [2, 2],
		data: [
			[1, 2],
			[3, 4],
		],
	});
	const provider = providers.workersAi({ ...given, options: { gateway: { id: 'mine' } } });
	expect(await provider.embedFn?.('workers-ai/@cf/baai/bge-m3', ['a', 'b'])).toEqual([
		[1, 2],
		[3, 4],
	]);
	expect(given.runs[0]).toMatchObject({
		model: '@cf/baai/bge-m3',
		inputs: { text: ['a', 'b'] },
		options: { gateway: { id: 'mine' }, returnRawResponse: true },
	});
});

test("explains in the error how to use the binding on a developer's machine", async () => {
	const run = async () => {
		throw new Error('Binding AI needs to be run remotely');
	};
	const asked = providers.workersAi({ binding: { run } }).chatFn?.(model, hi);
	await expect(asked).rejects.toMatchObject({
		code: 'not_configured',
		message: expect.stringContaining('wrangler login'),
	});
});
