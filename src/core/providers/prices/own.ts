import * as v from 'valibot';
import type { ChatUsage, ModelPrice, ModelPrices } from '../../chat/index.ts';
import type { Rates } from './list.ts';

/** Prices of your own: of all models of a provider, of some by name, or a function that returns US dollars. */
export type OwnPrice = ModelPrice | ModelPrices | ((model: string, usage: ChatUsage) => number | undefined);

const dollars = v.pipe(v.number('must be a number of US dollars'), v.minValue(0, 'must not be below 0'), v.finite());

const modelPrice = v.strictObject({
	input: dollars,
	output: dollars,
	cachedInput: v.optional(dollars),
	cacheWrite: v.optional(dollars),
	units: v.optional(v.record(v.string(), dollars)),
});

/** Checks prices by the names of models. */
export const modelPrices = v.record(v.pipe(v.string(), v.nonEmpty('must be the name of a model')), modelPrice);

/** Checks a provider's `price`. */
export const ownPrice = v.union([v.function(), modelPrice, modelPrices]);

/** Returns the rates of your own for a model, under the first of its names that has one. */
export function findOwnRates(price: OwnPrice | undefined, names: readonly string[]): Rates | undefined {
	if (price === undefined || typeof price === 'function') return undefined;
	const found = isModelPrice(price) ? price : names.map((name) => findByName(price, name)).find(Boolean);
	return found && toRates(found);
}

function isModelPrice(price: ModelPrice | ModelPrices): price is ModelPrice {
	return typeof price.input === 'number';
}

/** Finds a name, else the longest beginning of it. */
function findByName(prices: ModelPrices, name: string): ModelPrice | undefined {
	if (Object.hasOwn(prices, name)) return prices[name];
	const fitting = Object.keys(prices).filter((key) => key.endsWith('*') && name.startsWith(key.slice(0, -1)));
	const [longest] = fitting.sort((a, b) => b.length - a.length);
	return longest === undefined ? undefined : prices[longest];
}

function toRates({ input, output, cachedInput, cacheWrite, units = {} }: ModelPrice): Rates {
	const rates = Object.entries({ input, output, read: cachedInput, write: cacheWrite });
	const pieces = Object.entries(units).map(([unit, usd]) => [unit, usd * 1_000] as const);
	return new Map(
		[...rates, ...pieces].flatMap(([name, price]) =>
			price === undefined ? [] : [[name, [{ from: 0, price }]] as const],
		),
	);
}
