import { describe, expect, test } from 'vitest';
import { chat } from '../../../src/core/index.ts';

const openai = { inputTokens: 120, outputTokens: 84, totalTokens: 204, cachedInputTokens: 64, reasoningTokens: 20 };
const own = { ...openai, costUsd: 0.01, latencyMs: 80, provider: 'OpenAI', model: 'gpt-4o' };

describe('makeUsage', () => {
	test.each<[what: string, raw: unknown, usage: chat.ChatUsage]>([
		[
			'Anthropic, whose cache counts in addition to the input',
			{ input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 40, output_tokens: 5 },
			{ inputTokens: 150, outputTokens: 5, totalTokens: 155, cachedInputTokens: 100 },
		],
		[
			'OpenAI Chat Completions',
			{
				prompt_tokens: 120,
				completion_tokens: 84,
				total_tokens: 204,
				prompt_tokens_details: { cached_tokens: 64 },
				completion_tokens_details: { reasoning_tokens: 20 },
			},
			openai,
		],
		[
			'OpenAI Responses',
			{
				input_tokens: 120,
				input_tokens_details: { cached_tokens: 64 },
				output_tokens: 84,
				output_tokens_details: { reasoning_tokens: 20 },
				total_tokens: 204,
			},
			openai,
		],
		[
			'xAI Chat, whose reasoning counts in addition to the completion',
			{
				prompt_tokens: 32,
				completion_tokens: 9,
				total_tokens: 135,
				completion_tokens_details: { reasoning_tokens: 94 },
			},
			{ inputTokens: 32, outputTokens: 103, totalTokens: 135, reasoningTokens: 94 },
		],
		[
			'Gemini, whose thoughts count in addition to the candidates',
			{
				promptTokenCount: 10,
				toolUsePromptTokenCount: 7,
				candidatesTokenCount: 5,
				thoughtsTokenCount: 20,
				cachedContentTokenCount: 4,
				totalTokenCount: 42,
			},
			{ inputTokens: 17, outputTokens: 25, totalTokens: 42, cachedInputTokens: 4, reasoningTokens: 20 },
		],
		["Runlet's own form", own, own],
		[
			'a record without a total',
			{ prompt_tokens: 120, completion_tokens: 84, latency_ms: 1280 },
			{ inputTokens: 120, outputTokens: 84, totalTokens: 204, latencyMs: 1280 },
		],
		['a record without output', { input_tokens: 3 }, { inputTokens: 3 }],
		['a missing record', undefined, {}],
		['a record with values of wrong types', { input_tokens: null, output_tokens: 'many' }, {}],
	])('reads %s', (_, raw, usage) => expect(chat.makeUsage(raw)).toEqual(usage));

	test('returns the provider and the model that the caller passes', () => {
		const usage = { outputTokens: 1, provider: 'Anthropic', model: 'claude-x' };
		expect(chat.makeUsage({ output_tokens: 1 }, usage.provider, usage.model)).toEqual(usage);
	});
});
