import { describe, expect, test } from 'vitest';
import { chat } from '../../../src/core/index.ts';

describe('makeUsage', () => {
	test("counts reads and writes of Anthropic's cache as input, and the reads as cached", () => {
		const raw = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 40, output_tokens: 5 };
		expect(chat.makeUsage(raw)).toEqual({
			inputTokens: 150,
			outputTokens: 5,
			totalTokens: 155,
			cachedInputTokens: 100,
		});
	});

	test('reads OpenAI Chat Completions, which include cached and reasoning tokens', () => {
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

	test('reads OpenAI Responses, which have other keys', () => {
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

	test('adds the reasoning of xAI Chat to its output', () => {
		const raw = {
			prompt_tokens: 32,
			completion_tokens: 9,
			total_tokens: 135,
			completion_tokens_details: { reasoning_tokens: 94 },
		};
		expect(chat.makeUsage(raw, 'xAI')).toMatchObject({ outputTokens: 103, totalTokens: 135, reasoningTokens: 94 });
	});

	test('adds the thoughts of Gemini to its output, and the prompt of its tools to its input', () => {
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

	test("returns Runlet's own form unchanged", () => {
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

	test('computes the total if input and output are known', () => {
		expect(chat.makeUsage({ prompt_tokens: 120, completion_tokens: 84, latency_ms: 1280 })).toEqual({
			inputTokens: 120,
			outputTokens: 84,
			totalTokens: 204,
			latencyMs: 1280,
		});
	});

	test('leaves out unreported counts', () => {
		expect(chat.makeUsage({ input_tokens: 3 })).toEqual({ inputTokens: 3 });
		expect(chat.makeUsage(undefined)).toEqual({});
		expect(chat.makeUsage({ input_tokens: null, output_tokens: 'many' })).toEqual({});
	});

	test('has the passed names of the provider and the model', () => {
		expect(chat.makeUsage({ output_tokens: 1 }, 'Anthropic', 'claude-x')).toEqual({
			outputTokens: 1,
			provider: 'Anthropic',
			model: 'claude-x',
		});
	});
});
