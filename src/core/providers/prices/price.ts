import type { ChatUsage, Units } from '../../chat/reply.ts';
import { findRates, type Rate, type Rates } from './list.ts';
import { findFactor, findTierRates, findTokenPrice, findUnitPrice, isFree } from './supplement.ts';

/** The price of a call in US dollars, or the reason why it is unknown: a model, unit or tier without a price. */
export type Price = { readonly usd: number } | { readonly unpriced: string };

export type Billed = Pick<
	ChatUsage,
	'inputTokens' | 'outputTokens' | 'cachedInputTokens' | 'units' | 'serviceTier' | 'speed' | 'region'
>;

/** The kind of rate for each unit that counts tokens. The input or output tokens already include these tokens. */
export const tokenRates: ReadonlyMap<string, string> = new Map([
	['cache_write_tokens', 'write'],
	['cache_write_1h_tokens', 'hour'],
	...['audio', 'image', 'video'].flatMap((kind) => [
		[`input_${kind}_tokens`, `input_${kind}`] as const,
		[`cached_${kind}_tokens`, `read_${kind}`] as const,
		[`output_${kind}_tokens`, `output_${kind}`] as const,
	]),
]);

/**
 * Returns the price of all tokens and units of a call. The listed rates depend on the call's tier, speed and region.
 * `own` rates replace the listed rates, and apply to every tier, speed and region.
 */
export function findPrice(provider: string, model: string, billed: Billed, now: Date, own?: Rates): Price {
	const rates = own ?? findAllRates(provider, model, now, billed.serviceTier);
	if (rates === undefined) return { unpriced: `"${model}"` };
	// OpenAI prices audio separately. Without a price for audio, the lower price of text would be used.
	if (provider === 'openai' && own === undefined)
		for (const kind of ['input_audio', 'output_audio'])
			if (billed.units?.[`${kind}_tokens`] && !rates.has(kind)) return { unpriced: `${kind}_tokens of "${model}"` };
	let usd = toDollars(rates, billed);
	if (usd === undefined) return { unpriced: `these tokens of "${model}"` };
	for (const name of ['serviceTier', 'speed', 'region'] as const) {
		const value = billed[name];
		if (value === undefined || own !== undefined) continue;
		const factor = findFactor(provider, model, name, value);
		if (factor === undefined) return { unpriced: `${words[name]} ${value} of "${model}"` };
		usd *= factor;
	}
	for (const [unit, count] of listPieces(billed.units)) {
		const price = toUnitPrice(rates, unit) ?? findUnitPrice(provider, model, unit);
		if (price === undefined) return { unpriced: `${unit} of "${model}"` };
		usd += price * count;
	}
	return { usd };
}

/** Returns the highest possible price of a call. Assumes a cache write for all input and the dearest kind of output. */
export function findMostPrice(provider: string, model: string, billed: Billed, now: Date, own?: Rates): Price {
	const { inputTokens = 0, outputTokens = 0, units } = billed;
	const rates = own ?? findAllRates(provider, model, now);
	const audio = rates?.has('input_audio') ? (units?.input_audio_tokens ?? 0) : 0;
	const written = Math.max(0, inputTokens - audio);
	const bySecond = own === undefined && findUnitPrice(provider, model, 'input_audio_seconds') !== undefined;
	const output = dearestOutput(rates, inputTokens);
	const more: Units = {
		...units,
		...(bySecond && { input_audio_seconds: Math.ceil((units?.input_audio_tokens ?? 0) / audioPerSecond) }),
		cache_write_tokens: written,
		...(units?.cache_write_1h_tokens !== undefined && { cache_write_1h_tokens: written }),
		...(output !== undefined && { [output]: outputTokens }),
	};
	return findPrice(provider, model, { ...billed, cachedInputTokens: undefined, units: more }, now, own);
}

/** The estimated number of tokens for a second of audio (`estimate.ts`). */
const audioPerSecond = 32;

export function isListed(provider: string, model: string, now: Date): boolean {
	return findAllRates(provider, model, now) !== undefined;
}

/** Returns the listed rates. Divides rates of a tier by its factor, because `findPrice` multiplies by the factor. */
function findAllRates(provider: string, model: string, now: Date, tier?: string): Rates | undefined {
	const listed = findRates(provider, model, now);
	// The list also has models without token prices. They are either free or not billed by tokens.
	if (listed === undefined || (listed.size === 0 && !isFree(provider, model))) return undefined;
	const more = ['input_audio', 'output_audio'].flatMap((kind) => {
		const price = listed.has(kind) ? undefined : findTokenPrice(provider, model, kind);
		return price === undefined ? [] : [[kind, [{ from: 0, price }]] as const];
	});
	const factor = (tier !== undefined && findFactor(provider, model, 'serviceTier', tier)) || 1;
	const ofTier = tier === undefined ? [] : findTierRates(provider, model, tier);
	const special = ofTier.map(([kind, price]) => [kind, [{ from: 0, price: price / factor }]] as const);
	return more.length + special.length === 0 ? listed : new Map([...listed, ...more, ...special]);
}

const words = { serviceTier: 'service tier', speed: 'speed', region: 'region' };

/** Lists the units that are not tokens. */
function listPieces(units: Units = {}): readonly (readonly [unit: string, count: number])[] {
	return Object.entries(units).filter(([unit, count]) => count > 0 && !tokenRates.has(unit));
}

function toUnitPrice(rates: Rates, unit: string): number | undefined {
	const rate = rates.get(unit);
	return rate && at(rate, 0) / 1_000;
}

/** Returns the price of the tokens. A part with its own rate is subtracted from the whole, and billed only once. */
function toDollars(rates: Rates, { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, units = {} }: Billed) {
	const take = (rate: string, count = 0): number => (rates.has(rate) ? count : 0);
	const hour = take('hour', units.cache_write_1h_tokens);
	const write = take('write', units.cache_write_tokens);
	const read = take('read', cachedInputTokens);
	const ofRead = listParts('cached', 'read', units, take);
	const ofInput = listParts('input', 'input', units, take).map(([kind, count]) => {
		const cached = take('read', units[`cached_${kind.slice('input_'.length)}_tokens`]);
		return [kind, Math.max(0, count - cached)] as const;
	});
	const ofOutput = listParts('output', 'output', units, take);
	const counts: (readonly [string, number])[] = [
		...[['hour', hour] as const, ['write', write - hour] as const, ['read', read - sum(ofRead)] as const],
		...[...ofRead, ...ofInput, ...ofOutput],
		['input', inputTokens - read - write - sum(ofInput)],
		['output', outputTokens - sum(ofOutput)],
	];
	let dollars = 0;
	for (const [kind, count] of counts) {
		if (count < 0) return undefined;
		const rate = rates.get(kind);
		if (rate !== undefined) dollars += (at(rate, inputTokens) * count) / 1e6;
	}
	return dollars;
}

/** Counts the audio, image and video tokens. A kind without its own rate counts as 0 tokens. */
function listParts(
	unit: 'input' | 'cached' | 'output',
	rate: 'input' | 'read' | 'output',
	units: Units,
	take: (rate: string, count?: number) => number,
): (readonly [rate: string, count: number])[] {
	return ['audio', 'image', 'video'].map((kind) => [
		`${rate}_${kind}`,
		take(`${rate}_${kind}`, units[`${unit}_${kind}_tokens`]),
	]);
}

function sum(parts: readonly (readonly [string, number])[]): number {
	return parts.reduce((total, [, count]) => total + count, 0);
}

/** Returns the unit of the dearest kind of output, or `undefined` if this kind is text. */
function dearestOutput(rates: Rates | undefined, inputTokens: number): string | undefined {
	const price = (kind: string): number => at(rates?.get(kind) ?? [], inputTokens);
	const [dearest] = ['output_audio', 'output_image', 'output_video'].sort((a, b) => price(b) - price(a));
	return dearest !== undefined && price(dearest) > price('output') ? `${dearest}_tokens` : undefined;
}

function at(rate: Rate, inputTokens: number): number {
	return rate.findLast(({ from }) => from === 0 || inputTokens > from)?.price ?? 0;
}
