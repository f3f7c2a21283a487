import * as v from 'valibot';
import type { ChatUsage, ModelPrice, ModelPrices } from '../../chat/index.ts';
import type { Rates } from './list.ts';
import { tokenRates } from './price.ts';

/** Your own prices: one for all models of a provider, prices by model name, or a function that returns US dollars. */
export type OwnPrice = ModelPrice | ModelPrices | PriceFn;

/** Returns the US dollars of a call, or `undefined` for an unknown model. */
export type PriceFn = (model: string, usage: ChatUsage) => number | undefined;

const dollars = v.pipe(v.number('must be a number of US dollars'), v.minValue(0, 'must not be below 0'), v.finite());

const modelPrice = v.strictObject(
	{
		input: dollars,
		output: dollars,
		cachedInput: v.optional(dollars),
		cacheWrite: v.optional(dollars),
		units: v.optional(v.record(v.string(), dollars)),
	},
	'must be an object such as { input, output }',
);

const modelName = v.pipe(
	v.string(),
	v.nonEmpty('must be the name of a model'),
	v.regex(/^[^*]*\*?$/, 'may have a * at its end alone'),
);

export const modelPrices = v.record(modelName, modelPrice);

export const ownPrice = v.union([v.function(), modelPrice, modelPrices]);

/** Finds your own rates for a model, first by its exact names, then by the longest matching prefix such as `gpt-*`. */
export function findOwnRates(price: OwnPrice | undefined, names: readonly string[]): Rates | undefined {
	if (price === undefined || typeof price === 'function') return undefined;
	const found = isModelPrice(price) ? price : findByName(price, names);
	return found && toRates(found);
}

function isModelPrice(price: ModelPrice | ModelPrices): price is ModelPrice {
	return typeof price.input === 'number';
}

function findByName(prices: ModelPrices, names: readonly string[]): ModelPrice | undefined {
	const exact = names.find((name) => Object.hasOwn(prices, name));
	if (exact !== undefined) return prices[exact];
	const fits = (key: string): boolean => key.endsWith('*') && names.some((name) => name.startsWith(key.slice(0, -1)));
	const [longest] = Object.keys(prices)
		.filter(fits)
		.sort((a, b) => b.length - a.length);
	return longest === undefined ? undefined : prices[longest];
}

function toRates({ input, output, cachedInput, cacheWrite, units = {} }: ModelPrice): Rates {
	const rates = Object.entries({ input, output, read: cachedInput, write: cacheWrite });
	const more = Object.entries(units).map(([unit, usd]) => {
		const rate = tokenRates.get(unit);
		return rate === undefined ? ([unit, usd * 1_000] as const) : ([rate, usd * 1_000_000] as const);
	});
	return new Map(
		[...rates, ...more].flatMap(([name, price]) =>
			price === undefined ? [] : [[name, [{ from: 0, price }]] as const],
		),
	);
}
