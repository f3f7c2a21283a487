import { type ChatUsage, makeUsage } from '../../chat/index.ts';
import { roundDollars } from '../../chat/usage.ts';
import { isRecord } from '../../ground/json.ts';
import { findOwnRates, type OwnPrice } from '../prices/own.ts';
import { type Billed, findMostPrice, findPrice, type Price } from '../prices/price.ts';
import { getNumber, getObjects, getString, type Json } from './json.ts';
import { readTokenUnits } from './units.ts';

/** What the models of a provider cost. */
export interface Prices {
	/**
	 * Returns the cost of a call: by your own price, else as the provider reports it, else by the price list. It never
	 * guesses by a similar name. `raw` is the provider's usage record.
	 */
	readonly findCost: (models: readonly (string | undefined)[], raw: Json, usage: ChatUsage) => Price;
	/** Returns the most that a call of a model may cost. */
	readonly findMost: (model: string, billed: Billed) => Price;
}

/** @param prefix the prefix of the model names, under which `own` may have them too */
export function createPrices(provider: string, own: OwnPrice | undefined, prefix = ''): Prices {
	const price = (find: typeof findPrice, models: readonly (string | undefined)[], billed: Billed): Price => {
		const names = models.filter((model) => model !== undefined);
		const now = new Date();
		if (typeof own === 'function') {
			const usd = names.map((name) => own(name, billed)).find((found) => found !== undefined);
			return usd === undefined ? { unpriced: `"${names.at(-1) ?? ''}"` } : { usd };
		}
		const rates = findOwnRates(own, [...names.map((name) => `${prefix}${name}`), ...names]);
		if (rates !== undefined) return find(provider, names[0] ?? '', billed, now, rates);
		let first: Price | undefined;
		for (const name of names) {
			const found = find(provider, name, billed, now);
			// The answer's name of the model may be one of a gateway. Of two that are not on the list, the asked one is said.
			if ('usd' in found || !found.unpriced.startsWith('"')) return found;
			first = found;
		}
		return first ?? { unpriced: 'the model' };
	};

	const findCost: Prices['findCost'] = (models, raw, usage) => {
		const { inputTokens, outputTokens, costUsd } = usage;
		const isOwn =
			typeof own === 'function' ||
			findOwnRates(
				own,
				models.flatMap((m) => (m ? [prefix + m, m] : [])),
			);
		const said = isOwn ? undefined : (costUsd ?? readCost(raw));
		if (said !== undefined) return { usd: said };
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
				return price(findPrice, [getString(run, 'model'), ...models], billed);
			}),
			price(findPrice, models, { units: Object.fromEntries(pieces) }),
		]);
	};

	return {
		findCost: (models, raw, usage) => round(findCost(models, raw, usage)),
		findMost: (model, billed) => round(price(findMostPrice, [model], billed)),
	};
}

function addPrices(prices: readonly Price[]): Price {
	return prices.reduce((sum, one) => {
		if ('unpriced' in sum || 'unpriced' in one) return 'unpriced' in sum ? sum : one;
		return { usd: sum.usd + one.usd };
	});
}

function round(price: Price): Price {
	return 'usd' in price ? { usd: roundDollars(price.usd) ?? 0 } : price;
}

/** Returns the cost that a provider reports: OpenRouter in dollars, xAI in ten-billionths of a dollar. */
function readCost(raw: Json): number | undefined {
	const ticks = getNumber(raw, 'cost_in_usd_ticks');
	if (ticks !== undefined) return ticks / 1e10;
	return isRecord(raw.cost_details) || raw.is_byok !== undefined ? getNumber(raw, 'cost') : undefined;
}
