import * as v from 'valibot';

/** What calls to a model cost. A field that nobody reported is missing. */
export const usage = v.object({
	inputTokens: v.optional(v.pipe(v.number(), v.description('All input, cached included.'))),
	outputTokens: v.optional(v.pipe(v.number(), v.description('All output, reasoning included.'))),
	totalTokens: v.optional(v.number()),
	cachedInputTokens: v.optional(v.number()),
	reasoningTokens: v.optional(v.number()),
	costUsd: v.optional(v.pipe(v.number(), v.description('US dollars.'))),
	latencyMs: v.optional(v.pipe(v.number(), v.description('Milliseconds.'))),
	provider: v.optional(v.string()),
	model: v.optional(v.string()),
});
