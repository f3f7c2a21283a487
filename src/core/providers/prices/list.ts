import { anthropic } from './anthropic.ts';
import { cloudflare } from './cloudflare.ts';
import { deepseek } from './deepseek.ts';
import { google } from './google.ts';
import { groq } from './groq.ts';
import { mistral } from './mistral.ts';
import { openai } from './openai.ts';
import { findMoved } from './supplement.ts';
import { xai } from './xai.ts';

/** Dollars for a million tokens or thousand units. For the whole call, the last `from` below `inputTokens` counts. */
export type Rate = readonly { readonly from: number; readonly price: number }[];

/**
 * The rates of a model by kind. `read` is input from a cache. `write` is input that is written to a cache, and `hour`
 * is input that a cache keeps for an hour. Kinds such as `input_audio` are parts of `input`, `read` or `output`.
 */
export type Rates = ReadonlyMap<string, Rate>;

interface Tariff {
	readonly holds: (now: Date) => boolean;
	readonly rates: Map<string, Rate>;
}

interface ListedModel {
	readonly pattern: RegExp;
	readonly contextWindow: number | undefined;
	readonly tariffs: readonly Tariff[];
}

/**
 * The price lists by provider name. A line has a pattern of model names, the context window (0 if unknown) and prices.
 * `input=1.25,200000:2.5` means 1.25 dollars, or 2.5 if the input has over 200,000 tokens. The last valid prices count.
 * Prices after `from=2026-08-17` are valid from that day on. Prices after `at=3600-14400` are valid between these
 * seconds of each day in UTC. Prices after `weekdays=3600-14400` are valid between these seconds from Monday to Friday.
 */
const texts: ReadonlyMap<string, string> = new Map([
	['anthropic', anthropic],
	['deepseek', deepseek],
	// Google also sells Anthropic's models.
	['gemini', `${google}${anthropic}`],
	['groq', groq],
	['mistral', mistral],
	['openai', openai],
	['workers-ai', cloudflare],
	['xai', xai],
]);

const lists = new Map<string, readonly ListedModel[]>();

/** Returns the rates of a model, or `undefined` if it is not on the list. */
export function findRates(provider: string, model: string, now: Date): Rates | undefined {
	return find(provider, findMoved(provider, model, now) ?? model)?.tariffs.findLast(({ holds }) => holds(now))?.rates;
}

/** Returns the context window of a model in tokens, or `undefined` if it is not on the list. */
export function findContextWindow(provider: string, model: string): number | undefined {
	return find(provider, model)?.contextWindow;
}

function find(provider: string, model: string): ListedModel | undefined {
	const list = readList(provider);
	const name = model.toLowerCase().trim();
	const findIn = (text: string) => list.find(({ pattern }) => pattern.test(text));
	// In the list, dates in model names have hyphens.
	return findIn(name) ?? findIn(name.replace(/-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g, '-$1-$2-$3'));
}

function readList(provider: string): readonly ListedModel[] {
	const known = lists.get(provider);
	if (known !== undefined) return known;
	const list = texts.get(provider)?.split('\n').filter(Boolean).map(readModel) ?? [];
	lists.set(provider, list);
	return list;
}

function readModel(line: string): ListedModel {
	const [pattern = '', contextWindow, ...fields] = line.split(' ');
	let tariff: Tariff = { holds: () => true, rates: new Map() };
	const tariffs = [tariff];
	for (const field of fields) {
		const [name = '', value = ''] = field.split('=');
		const holds = conditions[name]?.(value);
		if (holds !== undefined) {
			tariff = { holds, rates: new Map() };
			tariffs.push(tariff);
		} else tariff.rates.set(name, value.split(',').map(readStep));
	}
	return { pattern: new RegExp(pattern), contextWindow: Number(contextWindow) || undefined, tariffs };
}

function from(day: string): Tariff['holds'] {
	const start = Date.parse(day);
	return (now) => now.getTime() >= start;
}

function at(seconds: string): Tariff['holds'] {
	const [start = 0, end = 0] = seconds.split('-').map(Number);
	return (now) => {
		const second = (now.getTime() / 1000) % 86_400;
		return second >= start && second < end;
	};
}

function onWeekdays(seconds: string): Tariff['holds'] {
	const holds = at(seconds);
	return (now) => holds(now) && now.getUTCDay() > 0 && now.getUTCDay() < 6;
}

const conditions: Readonly<Record<string, (value: string) => Tariff['holds']>> = { from, at, weekdays: onWeekdays };

function readStep(text: string): Rate[number] {
	const [first = '', second] = text.split(':');
	return second === undefined ? { from: 0, price: Number(first) } : { from: Number(first), price: Number(second) };
}
