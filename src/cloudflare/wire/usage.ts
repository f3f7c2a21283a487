import * as v from 'valibot';
import { cacheMisses } from '../../core/chat/prompt-record.ts';

/** What calls to a model cost. A field that the provider did not report is missing. */
export const usage = v.object({
	inputTokens: v.optional(v.pipe(v.number(), v.description('All input, including cached tokens.'))),
	outputTokens: v.optional(v.pipe(v.number(), v.description('All output, including reasoning.'))),
	totalTokens: v.optional(v.number()),
	cachedInputTokens: v.optional(v.number()),
	reasoningTokens: v.optional(v.number()),
	units: v.optional(
		v.pipe(v.record(v.string(), v.number()), v.description('What has a price of its own, by name: `web_searches`.')),
	),
	serviceTier: v.optional(v.string()),
	speed: v.optional(v.string()),
	region: v.optional(v.string()),
	costUsd: v.optional(v.pipe(v.number(), v.description('US dollars.'))),
	unpriced: v.optional(v.pipe(v.string(), v.description('What has no known price: it is not in `costUsd`.'))),
	latencyMs: v.optional(v.pipe(v.number(), v.description('Milliseconds.'))),
	provider: v.optional(v.string()),
	model: v.optional(v.string()),
});

export const cacheMiss = v.optional(
	v.pipe(
		v.picklist(cacheMisses),
		v.description('Why the provider’s cache had less of the request than the turn before. Missing if it had that.'),
	),
);
