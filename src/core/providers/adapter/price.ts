import { type ChatUsage, makeUsage } from '../../chat/index.ts';
import { roundDollars } from '../../chat/usage.ts';
import { isRecord } from '../../ground/json.ts';
import { getNumber, getObject, getObjects, getString, type Json } from './json.ts';

/** The price list's name of a provider, if it differs. */
const listed: Readonly<Record<string, string>> = { gemini: 'google', xai: 'x-ai', 'workers-ai': 'cloudflare' };

/** The list is large, so the first call loads it. An isolate that only serves pages never does. */
let loading: Promise<typeof import('@pydantic/genai-prices')> | undefined;

export function loadPrices(): Promise<typeof import('@pydantic/genai-prices')> {
	loading ??= import('@pydantic/genai-prices');
	return loading;
}

/**
 * Returns the cost of a call in US dollars: by the provider's own report, else by the price list. Returns `undefined`
 * for a model that is not on the list, and never guesses by a similar name. `raw` is the provider's usage record.
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
	// Several models may have worked on one answer, each with its own price.
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

/** Returns a model's context window in tokens, by the same list. */
export async function findContextWindow(provider: string, model: string): Promise<number | undefined> {
	return (await lookUp(provider, model, {}))?.model.context_window;
}

async function lookUp(provider: string, model: string, usage: Readonly<Record<string, number>>) {
	const { calcPrice, findProvider } = await loadPrices();
	const providerId = listed[provider] ?? provider;
	// Compares the id only. An unknown provider must not get the prices of one with a similar name.
	if (findProvider({ providerId })?.id !== providerId) return undefined;
	try {
		return calcPrice(usage, model, { providerId }) ?? undefined;
	} catch {
		return undefined;
	}
}

/** Returns the tokens written to a cache, which cost more. */
function readCacheWrites(raw: Json): Record<string, number> {
	const written =
		getNumber(raw, 'cache_creation_input_tokens') ??
		getNumber(getObject(raw, 'input_tokens_details'), 'cache_write_tokens') ??
		getNumber(getObject(raw, 'prompt_tokens_details'), 'cache_write_tokens');
	if (written === undefined) return {};
	const long = getNumber(getObject(raw, 'cache_creation'), 'ephemeral_1h_input_tokens');
	return { cache_write_tokens: written, ...(long !== undefined && long > 0 && { cache_write_1h_tokens: long }) };
}

/** Returns the cost that a provider reports: OpenRouter in dollars, xAI in ten-billionths of a dollar. */
function readCost(raw: Json): number | undefined {
	const ticks = getNumber(raw, 'cost_in_usd_ticks');
	if (ticks !== undefined) return ticks / 1e10;
	return isRecord(raw.cost_details) || raw.is_byok !== undefined ? getNumber(raw, 'cost') : undefined;
}
