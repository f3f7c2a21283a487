import { type ChatUsage, makeUsage } from '../../chat/index.ts';
import { roundDollars } from '../../chat/usage.ts';
import { isRecord } from '../../ground/json.ts';
import { findPrice } from '../prices/list.ts';
import { getNumber, getObject, getObjects, getString, type Json } from './json.ts';

/**
 * Returns the cost of a call in US dollars: by the provider's own report, else by the price list. Returns `undefined`
 * for a model that is not on the list, and never guesses by a similar name. `raw` is the provider's usage record.
 */
export function findCost(
	provider: string,
	models: readonly (string | undefined)[],
	raw: Json,
	{ inputTokens, outputTokens, cachedInputTokens, costUsd }: ChatUsage,
): number | undefined {
	if (costUsd !== undefined) return costUsd;
	const said = readCost(raw);
	if (said !== undefined) return said;
	if (inputTokens === undefined || outputTokens === undefined) return undefined;
	// Several models may have worked on one answer, each with its own price.
	const runs = getObjects(raw, 'iterations');
	if (runs.some((run) => getString(run, 'model') !== undefined)) {
		const costs = runs.map((run) => findCost(provider, [getString(run, 'model'), ...models], run, makeUsage(run)));
		return costs.reduce((sum, cost) => (sum === undefined || cost === undefined ? undefined : sum + cost), 0);
	}
	const tokens = { input: inputTokens, output: outputTokens, read: cachedInputTokens ?? 0, ...readCacheWrites(raw) };
	const now = new Date();
	for (const model of models) {
		const price = model === undefined ? undefined : findPrice(provider, model, tokens, now);
		if (price !== undefined) return roundDollars(price);
	}
	return undefined;
}

/** Returns the tokens written to a cache, which cost more, and those of them that it keeps for an hour. */
function readCacheWrites(raw: Json): { readonly write: number; readonly hour: number } {
	const written =
		getNumber(raw, 'cache_creation_input_tokens') ??
		getNumber(getObject(raw, 'input_tokens_details'), 'cache_write_tokens') ??
		getNumber(getObject(raw, 'prompt_tokens_details'), 'cache_write_tokens');
	if (written === undefined) return { write: 0, hour: 0 };
	return { write: written, hour: getNumber(getObject(raw, 'cache_creation'), 'ephemeral_1h_input_tokens') ?? 0 };
}

/** Returns the cost that a provider reports: OpenRouter in dollars, xAI in ten-billionths of a dollar. */
function readCost(raw: Json): number | undefined {
	const ticks = getNumber(raw, 'cost_in_usd_ticks');
	if (ticks !== undefined) return ticks / 1e10;
	return isRecord(raw.cost_details) || raw.is_byok !== undefined ? getNumber(raw, 'cost') : undefined;
}
