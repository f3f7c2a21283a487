import { describe, expect, test } from 'vitest';
import { chat, type ProviderRegistration, providers } from '../../../../src/core/index.ts';

const body = {
	id: '1',
	model: 'llama-9',
	choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
	usage: {
		prompt_tokens: 1_000_000,
		completion_tokens: 500_000,
		prompt_tokens_details: { cached_tokens: 200_000 },
	},
};
const settings = {
	name: 'mine',
	prefix: 'mine/',
	baseURL: 'https://llm.example.com/v1',
	fetch: async () => Response.json(body),
};

async function readCost(provider: ProviderRegistration, model = 'mine/llama') {
	const reply = await provider.chatFn?.(model, [{ role: 'user', content: 'Really?' }]);
	const { costUsd, unpriced } = reply?.usage ?? {};
	return costUsd ?? unpriced;
}

describe('your own price', () => {
	const price = { input: 1, output: 4 };

	test('can be set for all models, by model name, or by a function', async () => {
		expect(await readCost(providers.openaiChat({ ...settings, price }))).toBe(3);
		expect(await readCost(providers.openaiChat({ ...settings, price: { 'mine/llama': price } }))).toBe(3);
		expect(await readCost(providers.openaiChat({ ...settings, price: { llama: price } }))).toBe(3);
		expect(await readCost(providers.openaiChat({ ...settings, price: { 'mine/*': price } }))).toBe(3);
		expect(
			await readCost(providers.openaiChat({ ...settings, price: (_, { outputTokens = 0 }) => outputTokens })),
		).toBe(500_000);
	});

	test('can include prices of cached input and of counted units, such as searches', async () => {
		const own = { ...price, cachedInput: 0.5 };
		expect(await readCost(providers.openaiChat({ ...settings, price: own }))).toBe(2.9);
		const fetch = async () => Response.json({ ...body, model: 'llama-search-api' });
		const searching = providers.openaiChat({
			...settings,
			fetch,
			price: { ...own, units: { searched_requests: 0.05 } },
		});
		expect(await readCost(searching)).toBe(2.95);
	});

	test('for a model name wins over the price for a prefix, even if a date follows the name', async () => {
		const fetch = async () => Response.json({ ...body, model: 'llama-20260205' });
		const prices = { '*': { input: 0, output: 0 }, 'mine/*': { input: 0, output: 0 }, llama: price };
		expect(await readCost(providers.openaiChat({ ...settings, fetch, price: prices }))).toBe(3);
		const { llama: _, ...shorter } = { ...prices, 'llama-2*': price };
		expect(await readCost(providers.openaiChat({ ...settings, fetch, price: shorter }))).toBe(3);
	});

	test('can include the price of one kind of token, such as audio tokens', async () => {
		const usage = { ...body.usage, completion_tokens_details: { audio_tokens: 100_000 } };
		const fetch = async () => Response.json({ ...body, usage });
		const own = { ...price, units: { output_audio_tokens: 0.00001 } };
		expect(await readCost(providers.openaiChat({ ...settings, fetch, price: own }))).toBe(3 - 0.4 + 1);
		const asked = { inputTokens: 0, outputTokens: 100_000 };
		expect(providers.openaiChat({ ...settings, price: own }).computeMost?.('mine/llama', asked).usd).toBe(1);
	});

	test.each<[string, () => number]>([
		['not a number', () => Number.NaN],
		['negative', () => -1],
		['infinite', () => Number.POSITIVE_INFINITY],
		[
			'an error',
			() => {
				throw new Error('no such row');
			},
		],
	])('is unknown if the result of its function is %s, and the reply is kept', async (_, wrong) => {
		const provider = providers.openaiChat({ ...settings, price: wrong });
		expect(await readCost(provider)).toMatch(/^"llama", .* the function price /);
		const most = provider.computeMost?.('mine/llama', { inputTokens: 1, outputTokens: 1 });
		expect(most).toEqual({ inputTokens: 1, unpriced: expect.stringContaining('"llama"') });
	});

	test('wins over the price list and the cost that the provider reports', async () => {
		const reported = { ...body, usage: { ...body.usage, cost: 99, is_byok: false } };
		const fetch = async () => Response.json(reported);
		expect(await readCost(providers.openaiChat({ ...settings, fetch }))).toBe(99);
		expect(await readCost(providers.openaiChat({ ...settings, fetch, price }))).toBe(3);
		const groq = { apiKey: 'k', fetch: async () => Response.json({ ...body, model: 'llama-3.3-70b-versatile' }) };
		expect(await readCost(providers.groq({ ...groq, price }), 'groq/llama-3.3-70b-versatile')).toBe(3);
		expect(await readCost(providers.groq(groq), 'groq/llama-3.3-70b-versatile')).not.toBe(3);
	});

	test('is used for the amount that a call reserves', () => {
		const provider = providers.openaiChat({ ...settings, price });
		const asked = { inputTokens: 1_000_000, outputTokens: 1_000_000 };
		expect(provider.computeMost?.('mine/llama', asked)).toEqual({ inputTokens: 1_000_000, usd: 5 });
		expect(provider.computePrice?.('mine/llama', asked)).toBe(5);
	});

	test("from the environment applies only if the provider's settings have no price", async () => {
		const prices = { 'mine/*': { input: 2, output: 2 } };
		const plain = providers.openaiChat(settings);
		expect(await readCost(plain)).toBe('"llama"');
		expect(await readCost(plain.withPrices?.(prices) ?? plain)).toBe(3);
		const own = providers.openaiChat({ ...settings, price });
		expect(await readCost(own.withPrices?.({ 'mine/*': { input: 9, output: 9 } }) ?? own)).toBe(3);
	});

	test.each<[string, object]>([
		['a text', { price: 'cheap' }],
		['a negative number', { price: { input: -1, output: 1 } }],
		['a price without output', { price: { input: 1 } }],
		['an unknown field', { price: { input: 1, output: 1, cached: 1 } }],
		['a * within a name', { price: { 'llama-*-mini': { input: 1, output: 1 } } }],
	])('is refused if the setting is %s', (_, wrong) => {
		expect(() => providers.openaiChat({ ...settings, ...wrong })).toThrow(/price/);
	});
});

test('a call without a known price reports the reason, and reserves no dollars', () => {
	const claude = providers.anthropic({
		apiKey: 'k',
		body: { tools: [{ type: 'crystal_ball_20270101', name: 'ball' }] },
	});
	const most = claude.computeMost?.('claude-sonnet-4-6', { inputTokens: 10, outputTokens: 10 });
	expect(most).toEqual({ inputTokens: 10, unpriced: 'crystal_ball_20270101 of "claude-sonnet-4-6"' });
	const found = chat.resolveRegistration({ model: 'claude-sonnet-4-6', providers: [claude] });
	expect(found?.computeMost?.('claude-99', { inputTokens: 1, outputTokens: 1 }).unpriced).toBe('"claude-99"');
});

test('a call with a provider tool reserves the cost of all allowed uses and of the input that they add', () => {
	const claude = providers.anthropic({ apiKey: 'k' });
	const asked = { inputTokens: 1_000, outputTokens: 0, cache: false } as const;
	const plain = claude.computeMost?.('claude-sonnet-4-6', asked);
	const most = claude.computeMost?.('claude-sonnet-4-6', {
		...asked,
		providerTools: [{ type: 'web_search', maxUses: 2 }],
	});
	expect(plain).toEqual({ inputTokens: 1_000, usd: 0.00375 });
	expect(most?.inputTokens).toBe(33_000);
	expect(most?.usd).toBeCloseTo(33_000 * 3.75e-6 + 0.02);
});

test('a newer model costs a tenth more at a regional host of OpenAI', () => {
	const asked = { inputTokens: 1_000_000, outputTokens: 0, cache: false } as const;
	const compute = (baseURL: string | undefined, model: string) =>
		providers.openai({ apiKey: 'k', baseURL }).computeMost?.(model, asked).usd ?? 0;
	for (const [model, factor] of [
		['gpt-5.4-mini', 1.1],
		['gpt-5', 1],
	] as const)
		expect(compute('https://eu.api.openai.com/v1', model) / compute(undefined, model)).toBeCloseTo(factor);
});

test("a call with a provider's image tool reserves the cost of an image", () => {
	const openai = providers.openai({ apiKey: 'k' });
	const asked = { inputTokens: 0, outputTokens: 0, providerTools: [{ type: 'image_generation', maxUses: 1 }] };
	expect(openai.computeMost?.('gpt-5', asked).usd).toBeGreaterThan(0.35);
});
