import { describe, expect, test } from 'vitest';
import type { ChatUsage } from '../../../../src/core/chat/index.ts';
import { createPrices } from '../../../../src/core/providers/adapter/price.ts';
import { readTokenUnits } from '../../../../src/core/providers/adapter/units.ts';
import { findContextWindow } from '../../../../src/core/providers/prices/list.ts';

function findCost(
	provider: string,
	models: readonly (string | undefined)[],
	raw: Record<string, unknown>,
	usage: ChatUsage,
) {
	const price = createPrices(provider, undefined).findCost(models, raw, { units: readTokenUnits(raw), ...usage });
	return 'usd' in price ? price.usd : undefined;
}

const million = { inputTokens: 1_000_000, outputTokens: 0 };

describe('the cost of a call', () => {
	test('is known for models of each provider in the price list', () => {
		const models = [
			['anthropic', 'claude-haiku-4-5-20251001'],
			['openai', 'gpt-5-mini'],
			['xai', 'grok-4.3'],
			['gemini', 'gemini-2.5-flash'],
			['groq', 'llama-3.3-70b-versatile'],
			['deepseek', 'deepseek-chat'],
			['mistral', 'mistral-medium-latest'],
			['workers-ai', '@cf/meta/llama-3.3-70b-instruct-fp8-fast'],
		] as const;
		for (const [provider, model] of models) expect(findCost(provider, [model], {}, million), model).toBeGreaterThan(0);
	});

	test('depends on the model that answered, or on the requested model if the reply names no model', () => {
		const asked = findCost('anthropic', [undefined, 'claude-haiku-4-5'], {}, million);
		expect(asked).toBe(1);
		expect(findCost('anthropic', ['claude-opus-4-5-20251101', 'claude-haiku-4-5'], {}, million)).toBe(5);
		expect(findCost('anthropic', ['a-name-of-a-gateway', 'claude-haiku-4-5'], {}, million)).toBe(asked);
	});

	test('includes the prices of cache reads and of cache writes', () => {
		const cost = (raw: object, cachedInputTokens = 0) =>
			findCost('anthropic', ['claude-haiku-4-5'], { ...raw }, { ...million, cachedInputTokens });
		expect(cost({}, 1_000_000)).toBeCloseTo(0.1);
		expect(cost({ cache_creation_input_tokens: 1_000_000 })).toBeCloseTo(1.25);
		const hour = { cache_creation: { ephemeral_1h_input_tokens: 1_000_000 } };
		expect(cost({ cache_creation_input_tokens: 1_000_000, ...hour })).toBeCloseTo(2);
	});

	test("is unknown for an unknown model, an unknown provider, and another provider's model", () => {
		expect(findCost('anthropic', ['claude-99'], {}, million)).toBeUndefined();
		expect(findCost('mine', ['gpt-4o'], {}, million)).toBeUndefined();
		for (const provider of ['my-openai', 'openai-proxy', 'anthropic2', 'x-ai-gateway', 'ollama'])
			expect(findCost(provider, ['gpt-4o', 'claude-haiku-4-5', 'grok-4.3'], {}, million), provider).toBeUndefined();
		expect(findCost('groq', ['gpt-4o'], {}, million)).toBeUndefined();
		expect(findCost('openai', ['gpt-4o'], {}, { inputTokens: 1 })).toBeUndefined();
		expect(
			findCost('openai', ['gpt-4o'], {}, { inputTokens: 1, outputTokens: 1, cachedInputTokens: 9 }),
		).toBeUndefined();
	});

	test('is the cost that the provider reports', () => {
		expect(findCost('xai', ['grok-4.3'], { cost_in_usd_ticks: 25_000_000 }, million)).toBe(0.0025);
		expect(findCost('openrouter', ['x'], { cost: 0.5, is_byok: false }, million)).toBe(0.5);
		expect(findCost('openrouter', ['x'], { cost: -0.5, is_byok: false }, million)).toBeUndefined();
	});

	test('with your own key includes the fee of the gateway and the bill of the provider', () => {
		const said = { cost: 0.01, is_byok: true };
		const details = { upstream_inference_cost: 0.2 };
		expect(findCost('openrouter', ['x'], { ...said, cost_details: details }, million)).toBe(0.21);
		expect(findCost('openrouter', ['x'], said, million)).toBeUndefined();
	});

	test('is the sum of the costs of all models that worked on one answer', () => {
		const run = { input_tokens: 1_000_000, output_tokens: 0 };
		const raw = { iterations: [run, { ...run, model: 'claude-opus-4-5' }] };
		expect(findCost('anthropic', ['claude-haiku-4-5'], raw, { inputTokens: 2_000_000, outputTokens: 0 })).toBe(6);
		const unknown = { iterations: [run, { ...run, model: 'claude-99' }] };
		expect(findCost('anthropic', ['claude-haiku-4-5'], unknown, million)).toBeUndefined();
	});
});

test('findContextWindow returns the listed context window, or undefined if the model is not listed', () => {
	expect(findContextWindow('anthropic', 'claude-haiku-4-5')).toBe(200_000);
	expect(findContextWindow('gemini', 'gemini-2.5-flash')).toBe(1_048_576);
	expect(findContextWindow('anthropic', 'claude-99')).toBeUndefined();
	expect(findContextWindow('mine', 'gpt-4o')).toBeUndefined();
});
