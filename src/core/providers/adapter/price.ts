import { type ChatUsage, makeUsage } from '../../chat/index.ts';
import { roundDollars } from '../../chat/usage.ts';
import { isRecord } from '../../ground/json.ts';
import { getNumber, getObject, getObjects, getString, type Json } from './json.ts';

/** What the price list calls a provider, where that is another name. */
const listed: Readonly<Record<string, string>> = { gemini: 'google', xai: 'x-ai', 'workers-ai': 'cloudflare' };

/** The list is large, so it is read when the first call needs it; an isolate that only serves pages never does. */
let loading: Promise<typeof import('@pydantic/genai-prices')> | undefined;

export function loadPrices(): Promise<typeof import('@pydantic/genai-prices')> {
	loading ??= import('@pydantic/genai-prices');
	return loading;
}

/**
 * What a call cost in US dollars: as its provider says, else by the price list; `undefined` for a model that the list
 * does not know, never a guess by a similar name. `raw` is the provider's own usage record.
 */
export async function findCost(
	provider: string,
	models: readonly (string | undefined)[],
	raw: Json,
	{ inputTokens, outputTokens, cachedInputTokens, costUsd }: ChatUsage,
): Promise<number | undefined> {
	if (costUsd !== undefined) return costUsd;
	const said = readCost(raw);
	if (said !== undefined) return said;
	if (inputTokens === undefined || outputTokens === undefined) return undefined;
	// One answer may be the work of several models, each with a price of its own.
	const runs = getObjects(raw, 'iterations');
	if (runs.some((run) => getString(run, 'model') !== undefined)) {
		const costs = await Promise.all(
			runs.map((run) => findCost(provider, [getString(run, 'model'), ...models], run, makeUsage(run))),
		);
		return costs.reduce((sum, cost) => (sum === undefined || cost === undefined ? undefined : sum + cost), 0);
	}
	const usage = {
		input_tokens: inputTokens,
		output_tokens: outputTokens,
		...(cachedInputTokens !== undefined && { cache_read_tokens: cachedInputTokens }),
		...readCacheWrites(raw),
	};
	for (const model of models) {
		if (model === undefined) continue;
		const price = await lookUp(provider, model, usage);
		if (price !== undefined) return roundDollars(price.total_price);
	}
	return undefined;
}

/** A model's context window in tokens, by the same list; `undefined` where nobody says. */
export async function findContextWindow(provider: string, model: string): Promise<number | undefined> {
	return (await lookUp(provider, model, {}))?.model.context_window;
}

async function lookUp(provider: string, model: string, usage: Readonly<Record<string, number>>) {
	const { calcPrice, findProvider } = await loadPrices();
	const providerId = listed[provider] ?? provider;
	// By its id alone: a provider that the list does not know must not be priced as one that is called alike.
	if (findProvider({ providerId })?.id !== providerId) return undefined;
	try {
		return calcPrice(usage, model, { providerId }) ?? undefined;
	} catch {
		return undefined;
	}
}

/** Tokens that were written to a cache, which cost more than others. */
function readCacheWrites(raw: Json): Record<string, number> {
	const written =
		getNumber(raw, 'cache_creation_input_tokens') ??
		getNumber(getObject(raw, 'input_tokens_details'), 'cache_write_tokens') ??
		getNumber(getObject(raw, 'prompt_tokens_details'), 'cache_write_tokens');
	if (written === undefined) return {};
	const long = getNumber(getObject(raw, 'cache_creation'), 'ephemeral_1h_input_tokens');
	return { cache_write_tokens: written, ...(long !== undefined && long > 0 && { cache_write_1h_tokens: long }) };
}

/** The cost that a provider reports by itself: OpenRouter in dollars, xAI in ten-billionths of one. */
function readCost(raw: Json): number | undefined {
	const ticks = getNumber(raw, 'cost_in_usd_ticks');
	if (ticks !== undefined) return ticks / 1e10;
	return isRecord(raw.cost_details) || raw.is_byok !== undefined ? getNumber(raw, 'cost') : undefined;
}
