import { describe, expect, test } from 'vitest';
import { chat } from '../../../src/core/index.ts';

describe('makeUsage', () => {
	test('Anthropic: what was read from and written to the cache is input, the read part is cached', () => {
		const raw = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 40, output_tokens: 5 };
		expect(chat.makeUsage(raw)).toEqual({
			inputTokens: 150,
			outputTokens: 5,
			totalTokens: 155,
			cachedInputTokens: 100,
		});
	});

	test('OpenAI Chat Completions: cached and reasoning tokens are within input and output', () => {
		const raw = {
			prompt_tokens: 120,
			completion_tokens: 84,
			total_tokens: 204,
			prompt_tokens_details: { cached_tokens: 64 },
			completion_tokens_details: { reasoning_tokens: 20 },
		};
		expect(chat.makeUsage(raw)).toEqual({
			inputTokens: 120,
			outputTokens: 84,
			totalTokens: 204,
			cachedInputTokens: 64,
			reasoningTokens: 20,
		});
	});

	test('OpenAI Responses gives the same from its own keys', () => {
		const raw = {
			input_tokens: 120,
			input_tokens_details: { cached_tokens: 64 },
			output_tokens: 84,
			output_tokens_details: { reasoning_tokens: 20 },
			total_tokens: 204,
		};
		expect(chat.makeUsage(raw)).toEqual({
			inputTokens: 120,
			outputTokens: 84,
			totalTokens: 204,
			cachedInputTokens: 64,
			reasoningTokens: 20,
		});
	});

	test('xAI Chat: reasoning counted beside the completion is output', () => {
		const raw = {
			prompt_tokens: 32,
			completion_tokens: 9,
			total_tokens: 135,
			completion_tokens_details: { reasoning_tokens: 94 },
		};
		expect(chat.makeUsage(raw, 'xAI')).toMatchObject({ outputTokens: 103, totalTokens: 135, reasoningTokens: 94 });
	});

	test('Gemini: thoughts are output, the prompt of its tools is input', () => {
		const raw = {
			promptTokenCount: 10,
			toolUsePromptTokenCount: 7,
			candidatesTokenCount: 5,
			thoughtsTokenCount: 20,
			cachedContentTokenCount: 4,
			totalTokenCount: 42,
		};
		expect(chat.makeUsage(raw)).toEqual({
			inputTokens: 17,
			outputTokens: 25,
			totalTokens: 42,
			cachedInputTokens: 4,
			reasoningTokens: 20,
		});
	});

	test('its own form comes back unchanged', () => {
		const usage = {
			inputTokens: 10,
			outputTokens: 5,
			totalTokens: 15,
			cachedInputTokens: 3,
			reasoningTokens: 2,
			costUsd: 0.01,
			latencyMs: 80,
			provider: 'OpenAI',
			model: 'gpt-4o',
		};
		expect(chat.makeUsage(usage)).toEqual(usage);
	});

	test('the total is computed where input and output are known', () => {
		expect(chat.makeUsage({ prompt_tokens: 120, completion_tokens: 84, latency_ms: 1280 })).toEqual({
			inputTokens: 120,
			outputTokens: 84,
			totalTokens: 204,
			latencyMs: 1280,
		});
	});

	test('what was not reported is missing, not zero', () => {
		expect(chat.makeUsage({ input_tokens: 3 })).toEqual({ inputTokens: 3 });
		expect(chat.makeUsage(undefined)).toEqual({});
		expect(chat.makeUsage({ input_tokens: null, output_tokens: 'many' })).toEqual({});
	});

	test('it has the names of the provider and the model that it is told', () => {
		expect(chat.makeUsage({ output_tokens: 1 }, 'Anthropic', 'claude-x')).toEqual({
			outputTokens: 1,
			provider: 'Anthropic',
			model: 'claude-x',
		});
	});
});
