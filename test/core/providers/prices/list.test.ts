import { isDeepStrictEqual } from 'node:util';
import { calcPrice, type MatchLogic, type Provider, waitForUpdate } from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
import { roundDollars } from '../../../../src/core/chat/reply.ts';
import { findContextWindow } from '../../../../src/core/providers/prices/list.ts';
import { type Billed, findPrice, type Price } from '../../../../src/core/providers/prices/price.ts';
import { findMoved } from '../../../../src/core/providers/prices/supplement.ts';

/** Runlet's names of providers, and the names in the package. */
const providers = {
	anthropic: 'anthropic',
	deepseek: 'deepseek',
	gemini: 'google',
	groq: 'groq',
	mistral: 'mistral',
	openai: 'openai',
	'workers-ai': 'cloudflare',
	xai: 'x-ai',
} as const;

/** Lists names that match a rule of the package, and similar names. */
function listNames(match: MatchLogic): readonly string[] {
	if ('or' in match) return match.or.flatMap(listNames);
	if ('and' in match) return match.and.flatMap(listNames);
	const [text = ''] = Object.values(match);
	return [text.replace(/[\\^$]|\(.*?\)/g, ''), text.replace(/\\?\.|\(.*/g, 'x')];
}

const listed: readonly Provider[] = (await waitForUpdate()) ?? [];

/** Lists the names of a provider in the package. */
function namesIn({ models }: Provider): readonly string[] {
	return [...new Set(models.flatMap(({ id, match }) => [id, ...listNames(match)]))];
}

/** Times at night, by day, before the dates in the package, and after them. */
const times = ['2024-05-01T00:10', '2025-01-01T12:00', '2026-09-01T02:00', '2030-01-01T20:30'].map(
	(time) => new Date(`${time}Z`),
);

/** Returns the costs of the package, or `undefined` without consistent prices. */
function ask(providerId: string, model: string, billed: Billed, timestamp: Date) {
	const { inputTokens, outputTokens, cachedInputTokens, units } = billed;
	const { web_searches, file_searches, cached_audio_tokens, ...tokens } = units ?? {};
	const usage = {
		input_tokens: inputTokens,
		output_tokens: outputTokens,
		cache_read_tokens: cachedInputTokens,
		cache_audio_read_tokens: cached_audio_tokens,
		...tokens,
	};
	try {
		const found = calcPrice({ ...usage, web_searches, storage_searches: file_searches }, model, {
			providerId,
			timestamp,
		});
		return [roundDollars(found?.total_price), found?.model.context_window];
	} catch {
		return undefined;
	}
}

function toDollars(price: Price): number | undefined {
	return 'usd' in price ? roundDollars(price.usd) : undefined;
}

/** Finds prices and windows that differ from the package. */
function findDifferences(
	name: keyof typeof providers,
	models: readonly string[],
	cases: readonly (readonly [Date, Billed])[],
) {
	let known = 0;
	const differences: unknown[] = [];
	for (const model of models)
		for (const [time, tokens] of cases) {
			// Runlet's list corrects the price of this model, so it differs from the package.
			if (findMoved(name, model, time) !== undefined) continue;
			const expected = ask(providers[name], model, tokens, time);
			const found = [toDollars(findPrice(name, model, tokens, time)), findContextWindow(name, model)];
			// In the package, a model without a price is free.
			if (expected?.[0] === 0 && found[0] === undefined) continue;
			if (expected?.[0] !== undefined) known += 1;
			if (!isDeepStrictEqual(found, expected)) differences.push({ model, time, found, expected });
		}
	return { known, differences };
}

const small = {
	inputTokens: 100_000,
	outputTokens: 3_000,
	cachedInputTokens: 50_000,
	units: { cache_write_tokens: 20_000, cache_write_1h_tokens: 5_000 },
};
const large = { inputTokens: 400_000, outputTokens: 2_000, cachedInputTokens: 70_000 };
const names = Object.keys(providers).filter((name): name is keyof typeof providers => name in providers);

test.each(names)('%s has the prices and context windows of genai-prices for all names, versions and times', (name) => {
	const own = listed.filter(({ id }) => id === providers[name] || (name === 'gemini' && id === 'anthropic'));
	const models = own
		.flatMap(namesIn)
		.flatMap((one) => [one, `${one}-latest`, `${one}-20250807`, `x/${one}`, ` ${one.toUpperCase()}`]);
	const cases = times.map((time, index) => [time, index % 2 === 0 ? small : large] as const);
	const { known, differences } = findDifferences(name, models, cases);
	expect(differences).toEqual([]);
	expect(known).toBeGreaterThan(100);
});

test.each(names)('%s has no price for a name that has no price in genai-prices', (name) => {
	const models = [...new Set(listed.flatMap(namesIn))];
	expect(findDifferences(name, models, [[new Date('2026-09-01T12:00Z'), large]]).differences).toEqual([]);
});

test('audio, images and their cached parts have the prices of genai-prices', () => {
	const google = listed.find(({ id }) => id === 'google');
	const models = (google === undefined ? [] : namesIn(google)).filter((model) => model.startsWith('gemini'));
	const units = { input_audio_tokens: 8_000, cached_audio_tokens: 2_000, output_image_tokens: 1_290 };
	const media = { inputTokens: 20_000, outputTokens: 3_000, cachedInputTokens: 5_000, units };
	const { known, differences } = findDifferences('gemini', models, [[new Date('2026-09-01T12:00Z'), media]]);
	expect(differences).toEqual([]);
	expect(known).toBeGreaterThan(20);
});

test('a model without a price is free only if it is listed as free', () => {
	const price = (provider: string, model: string) =>
		toDollars(findPrice(provider, model, { inputTokens: 100_000, outputTokens: 100_000 }, new Date('2026-11-24')));
	for (const model of ['whisper-1', 'gpt-transcribe', 'ft:gpt-4.1-2025-04-14:acme:moderation:abc'])
		expect(price('openai', model), model).toBeUndefined();
	expect(price('mistral', 'voxtral-mini-latest')).toBeUndefined();
	expect(price('openai', 'omni-moderation-latest')).toBe(0);
	expect(price('gemini', 'gemma-3-27b-it')).toBe(0);
	expect(price('mistral', 'devstral-small:free')).toBe(0);
});

test('a name that now points to another model has the price of that model', () => {
	const price = (provider: string, model: string, day: string) =>
		toDollars(findPrice(provider, model, { inputTokens: 100_000, outputTokens: 100_000 }, new Date(day)));
	const days = ['2025-12-01', '2025-12-02'];
	expect(days.map((day) => price('mistral', 'mistral-large-latest', day))).toEqual([0.8, 0.2]);
	const pairs = [
		['mistral', 'mistral-small-latest', 'mistral-small-2603'],
		['mistral', 'mistral-medium', 'mistral-medium-latest'],
		['xai', 'grok-4-1-fast-reasoning', 'grok-4.3'],
		['xai', 'grok-3-mini', 'grok-4.3'],
		['xai', 'grok-4', 'grok-4.3'],
		['xai', 'grok-code-fast-1', 'grok-build-0.1'],
	] as const;
	for (const [provider, name, model] of pairs)
		expect(price(provider, name, '2026-11-24'), name).toBe(price(provider, model, '2026-11-24'));
	expect(price('xai', 'grok-4.5', '2026-11-24')).toBeGreaterThan(price('xai', 'grok-4.3', '2026-11-24') ?? 0);
});

test('DeepSeek costs more in its peak hours from Monday to Friday', () => {
	const price = (time: string) =>
		toDollars(findPrice('deepseek', 'deepseek-v4-flash', { inputTokens: 1e6, outputTokens: 0 }, new Date(time)));
	const days = ['2026-11-20', '2026-11-21', '2026-11-22', '2026-11-23'];
	expect(days.map((day) => price(`${day}T02:00Z`))).toEqual([0.44, 0.22, 0.22, 0.44]);
	expect(days.map((day) => price(`${day}T05:00Z`))).toEqual([0.22, 0.22, 0.22, 0.22]);
});
