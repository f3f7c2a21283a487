import { toMessageText } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { type ChatUsage, makeUsage } from '../../chat/index.ts';
import { roundDollars } from '../../chat/reply.ts';
import { findOwnRates, type OwnPrice, type PriceFn } from '../prices/own.ts';
import { type Billed, findMostPrice, findPrice, isListed, type Price } from '../prices/price.ts';
import { getNumber, getObject, getObjects, getString, type Json } from './json.ts';
import { readTokenUnits } from './units.ts';

export interface Prices {
	/**
	 * Returns the cost of a call. Uses your own price, else the cost that the provider reports, else the price
	 * list. Never uses the price of a similar name. `raw` is the provider's usage record.
	 */
	readonly findCost: (models: readonly (string | undefined)[], raw: Json, usage: ChatUsage) => Price;
	/** Returns the most that a call of a model may cost. */
	readonly findMost: (model: string, billed: Billed) => Price;
}

/** @param prefix the prefix of the model names. The names in `own` may also have it. */
export function createPrices(provider: string, own: OwnPrice | undefined, prefix = ''): Prices {
	const findOwn = (names: readonly string[]) =>
		findOwnRates(own, [...names.map((name) => `${prefix}${name}`), ...names]);
	const price = (find: typeof findPrice, names: readonly string[], billed: Billed): Price => {
		const now = new Date();
		if (typeof own === 'function') return callOwn(own, names, billed);
		const rates = findOwn(names);
		if (rates !== undefined) return find(provider, names[0] ?? '', billed, now, rates);
		// A gateway may answer with its own name of the model. If no name is listed, the error has the requested name.
		const name = names.find((name) => isListed(provider, name, now)) ?? names.at(-1);
		return name === undefined ? { unpriced: 'the model' } : find(provider, name, billed, now);
	};

	const findCost: Prices['findCost'] = (names, raw, usage) => {
		const models = names.filter((model) => model !== undefined);
		const { inputTokens, outputTokens } = usage;
		const isOwn = typeof own === 'function' || findOwn(models) !== undefined;
		const reported = isOwn ? undefined : (usage.costUsd ?? readCost(raw));
		if (reported !== undefined && reported >= 0) return { usd: reported };
		if (inputTokens === undefined || outputTokens === undefined) return { unpriced: 'a call without counts of tokens' };
		// Several models may have worked on one answer, each with its own price.
		const runs = getObjects(raw, 'iterations');
		if (!runs.some((run) => getString(run, 'model') !== undefined)) return price(findPrice, models, usage);
		const ofTokens = readTokenUnits(raw);
		const pieces = Object.entries(usage.units ?? {}).filter(([unit]) => !Object.hasOwn(ofTokens, unit));
		return addPrices([
			...runs.map((run) => {
				const { inputTokens, outputTokens, cachedInputTokens } = makeUsage(run);
				const billed = { ...usage, inputTokens, outputTokens, cachedInputTokens, units: readTokenUnits(run) };
				const model = getString(run, 'model');
				return price(findPrice, model === undefined || models.includes(model) ? models : [model], billed);
			}),
			price(findPrice, models, { units: Object.fromEntries(pieces) }),
		]);
	};

	return {
		findCost: (models, raw, usage) => round(findCost(models, raw, usage)),
		findMost: (model, billed) => round(price(findMostPrice, [model], billed)),
	};
}

/** Calls your own price function. If it fails, the price is unknown, and the reply is not lost. */
function callOwn(own: PriceFn, names: readonly string[], billed: Billed): Price {
	const name = `"${names.at(-1) ?? ''}"`;
	try {
		const usd = names.map((name) => own(name, billed)).find((found) => found !== undefined);
		if (usd === undefined) return { unpriced: name };
		if (Number.isFinite(usd) && usd >= 0) return { usd };
		return { unpriced: `${name}, of which the function price returns ${usd}` };
	} catch (thrown) {
		return { unpriced: `${name}, for which the function price throws ${toMessageText(thrown).slice(0, 200)}` };
	}
}

function addPrices(prices: readonly Price[]): Price {
	return prices.reduce((sum, price) => {
		if ('unpriced' in sum || 'unpriced' in price) return 'unpriced' in sum ? sum : price;
		return { usd: sum.usd + price.usd };
	});
}

function round(price: Price): Price {
	return 'usd' in price ? { usd: roundDollars(price.usd) ?? 0 } : price;
}

/** Reads the cost that a provider reports: OpenRouter in dollars, xAI in ten-billionths of a dollar. */
function readCost(raw: Json): number | undefined {
	const ticks = getNumber(raw, 'cost_in_usd_ticks');
	if (ticks !== undefined) return ticks / 1e10;
	if (!isRecord(raw.cost_details) && raw.is_byok === undefined) return undefined;
	const cost = getNumber(raw, 'cost');
	if (raw.is_byok !== true || cost === undefined) return cost;
	// If you use your own key at OpenRouter, OpenRouter bills only its fee, and the provider bills the rest.
	const more = getNumber(getObject(raw, 'cost_details'), 'upstream_inference_cost');
	return more === undefined ? undefined : cost + more;
}
