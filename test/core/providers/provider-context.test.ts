/** On request, a provider shortens a conversation itself (`providerContext`, docs/models.md). */
import { describe, expect, test } from 'vitest';
import { isRecord } from '../../../src/core/base/json.ts';
import { type ChatOptions, chat, type Message, type ProviderRegistration, providers } from '../../../src/core/index.ts';
import { codes } from '../chat/long-conversation.ts';
import { only } from '../chat/support.ts';

type Json = Readonly<Record<string, unknown>>;

/** Creates a provider with these answers, and its requests. */
function create(
	make: (settings: { apiKey: string; fetch: typeof fetch }) => ProviderRegistration,
	answers: readonly (() => Response)[],
) {
	const requests: { readonly body: Json; readonly beta: string | null }[] = [];
	const provider = make({
		apiKey: 'key',
		fetch: async (input, init) => {
			const request = new Request(input, init);
			const body: unknown = JSON.parse(await request.text());
			requests.push({ body: isRecord(body) ? body : {}, beta: request.headers.get('anthropic-beta') });
			return answers[requests.length - 1]?.() ?? Response.json({}, { status: 400 });
		},
	});
	return { provider, requests };
}

const sonnet = 'claude-sonnet-4-6';
const gpt = 'gpt-5.5';
const providerContext = { clearResultsAt: 60_000, compactAt: 100_000 };

/** Runs a conversation. Returns its events and its result. */
async function finish(options: ChatOptions, messages: readonly Message[]) {
	const run = chat.run({ maxRetries: 0, ...options }, messages);
	const events = [];
	for await (const event of run.events) events.push(event);
	return { events, result: await run.result };
}

const block = { type: 'compaction', content: 'They spoke of tea.', encrypted_content: 'sealed' };
const said = { type: 'text', text: 'Tea it is.' };
const compaction = {
	type: 'compaction',
	input_tokens: 100_000,
	output_tokens: 3_000,
	cache_read_input_tokens: 0,
	cache_creation_input_tokens: 4_000,
	cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 4_000 },
};
const message = {
	type: 'message',
	input_tokens: 20_000,
	output_tokens: 1_000,
	cache_read_input_tokens: 0,
	cache_creation_input_tokens: 2_000,
	cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 2_000 },
};
const usage = { ...message, iterations: [compaction, message] };
const answer = { id: 'm', type: 'message', role: 'assistant', model: sonnet, stop_reason: 'end_turn' };
const whole = () => Response.json({ ...answer, content: [block, said], usage });
const frame = (event: { readonly type: string }): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const streamed = () =>
	new Response(
		[
			{ type: 'message_start', message: { ...answer, stop_reason: null, content: [], usage: { input_tokens: 1 } } },
			{ type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: null } },
			{
				type: 'content_block_delta',
				index: 0,
				delta: { type: 'compaction_delta', content: block.content, encrypted_content: 'sealed' },
			},
			{ type: 'content_block_stop', index: 0 },
			{ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
			{ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: said.text } },
			{ type: 'content_block_stop', index: 1 },
			{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
			{ type: 'message_stop' },
		]
			.map(frame)
			.join(''),
		{ headers: { 'content-type': 'text/event-stream' } },
	);
const plain = () => Response.json({ ...answer, content: [said], usage: message });

const older = [chat.userMessage('I like tea.'), chat.assistantMessage('Good.')];
const question = chat.userMessage('Which drink?');
const further = chat.userMessage('How hot?');

describe('the request', () => {
	test('asks Anthropic to clear results and to compact, and names both betas', async () => {
		const { provider, requests } = create(providers.anthropic, [plain]);
		await finish({ model: sonnet, providers: [provider], providerContext }, [question]);
		const [{ body, beta } = { body: {}, beta: null }] = requests;
		expect(body.context_management).toMatchObject({
			edits: [
				{ type: 'clear_tool_uses_20250919', trigger: { type: 'input_tokens', value: 60_000 } },
				{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 100_000 } },
			],
		});
		expect(JSON.stringify(body.context_management)).toContain('"exclude_tools":["list_skills","read_skill"');
		expect(beta).toBe('context-management-2025-06-27,compact-2026-01-12');
	});

	test('adds its betas to the betas of the settings', async () => {
		const headers = { 'Anthropic-Beta': 'other-2026-01-01' };
		const make = (settings: { apiKey: string }) => providers.anthropic({ ...settings, headers });
		const { provider, requests } = create(make, [plain, plain]);
		await finish({ model: sonnet, providers: [provider], providerContext }, [question]);
		await finish({ model: sonnet, providers: [provider] }, [question]);
		expect(requests.map(({ beta }) => beta)).toEqual([
			'other-2026-01-01,context-management-2025-06-27,compact-2026-01-12',
			'other-2026-01-01',
		]);
	});

	test('asks OpenAI to compact', async () => {
		const { provider, requests } = create(providers.openai, []);
		await finish({ model: gpt, providers: [provider], providerContext }, [question]).catch(() => {});
		const wanted = [{ type: 'compaction', compact_threshold: 100_000 }];
		expect(requests.map(({ body }) => body.context_management)).toEqual([wanted]);
	});

	test.each([
		['xAI, which cannot compact', providers.xai, 'grok-4', providerContext],
		['Gemini, which cannot compact', providers.gemini, 'gemini-3-pro', providerContext],
		['Anthropic without providerContext', providers.anthropic, sonnet, undefined],
	] as const)('does not ask for a compaction: %s', async (_, make, model, wanted) => {
		const { provider, requests } = create(make, []);
		await finish({ model, providers: [provider], providerContext: wanted }, [question]).catch(() => {});
		expect(requests).toHaveLength(1);
		expect(JSON.stringify(requests)).not.toMatch(/context_management|compact|clear_tool/);
		expect(requests[0]?.beta).toBeNull();
	});
});

describe.each([
	['whole', whole],
	['streamed', streamed],
])('with a %s reply', (_, first) => {
	const play = async () => {
		const made = create(providers.anthropic, [first, plain]);
		const options = { model: sonnet, providers: [made.provider], providerContext };
		const one = await finish(options, [...older, question]);
		const stored: Message[] = JSON.parse(JSON.stringify(one.result.messages));
		return { ...made, one, stored, options };
	};

	test('a compaction is sent back unchanged, without the messages before it', async () => {
		const { requests, stored, options } = await play();
		expect(stored).toHaveLength(4);
		await finish(options, [...stored, further]);
		expect(requests[1]?.body.messages).toMatchObject([
			{ role: 'assistant', content: [block, said] },
			{ role: 'user', content: [{ text: 'How hot?' }] },
		]);
	});

	test('a compaction is reported to the readers, and the conversation keeps all messages', async () => {
		const { one, stored } = await play();
		expect(codes(only(one.events, 'warning'))).toEqual(['context_compacted']);
		expect(stored.slice(0, 3)).toEqual([...older, question]);
	});

	test('a compaction is ignored for another provider, which gets all messages', async () => {
		const { stored } = await play();
		const { provider, requests } = create(providers.openai, []);
		await finish({ model: gpt, providers: [provider] }, [...stored, further]).catch(() => {});
		expect(JSON.stringify(requests[0]?.body.input)).toContain('I like tea.');
	});

	test('the usage includes the tokens and the price of a compaction', async () => {
		const { one } = await play();
		const { usage } = one.result;
		expect(usage).toMatchObject({ inputTokens: 126_000, outputTokens: 4_000 });
		// $3 for input, $6 for writes for an hour, $15 for output.
		expect(usage.costUsd).toBeCloseTo((120_000 * 3 + 6_000 * 6 + 4_000 * 15) / 1e6, 9);
	});

	test('a compaction removes the replaced messages from the context size', async () => {
		const made = create(providers.anthropic, [first, plain]);
		const options = { model: sonnet, providers: [made.provider], providerContext, maxContextTokens: 5_000 };
		const one = await finish(options, [chat.userMessage('x'.repeat(12_000)), chat.assistantMessage('Yes.'), question]);
		const next = [...one.result.messages, chat.userMessage('y'.repeat(12_000))];
		await expect(finish(options, next)).resolves.toBeDefined();
	});
});

test('after a failed compaction of Anthropic, the next request still has all messages', async () => {
	const failed = () =>
		Response.json({ ...answer, content: [{ ...block, content: null, encrypted_content: null }, said], usage });
	const { provider, requests } = create(providers.anthropic, [failed, plain]);
	const options = { model: sonnet, providers: [provider], providerContext };
	const { result } = await finish(options, [...older, question]);
	await finish(options, [...result.messages, further]);
	expect(JSON.stringify(requests[1]?.body.messages)).toContain('I like tea.');
});

test.each([
	['Anthropic', providers.anthropic, sonnet],
	['OpenAI', providers.openai, gpt],
])(
	'for a long conversation, a compaction at %s reserves the whole input and a reply a second time',
	(_, make, model) => {
		const provider = make({ apiKey: 'key' });
		const most = (inputTokens: number, context?: object) => {
			const asked = { inputTokens, outputTokens: 2_000, ...(context && { providerContext: context }) };
			return provider.computeMost?.(model, asked) ?? { inputTokens: 0, usd: 0 };
		};
		const [without, short, long] = [most(120_000), most(90_000, providerContext), most(120_000, providerContext)];
		expect(short).toEqual(most(90_000));
		expect(long.inputTokens).toBe(250_000);
		expect(long.usd ?? 0).toBeGreaterThan(2 * (without.usd ?? 0));
	},
);
