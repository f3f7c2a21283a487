/**
 * `npm run prices`: cuts the price list of @pydantic/genai-prices to the providers that Runlet knows by name,
 * and writes it into `src/core/providers/prices`. The list is a tenth of the package. `npm run check` compares
 * the list with the package.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
	type ConditionalPrice,
	type MatchLogic,
	type ModelInfo,
	type ModelPrice,
	waitForUpdate,
} from '@pydantic/genai-prices';
import { root } from './root.ts';
import { isAsked } from './usage.ts';

const usage = `npm run prices: writes the prices of models, from the package @pydantic/genai-prices
  --check             changes nothing, and fails if they are not those of the package
  --help              this text`;

/** The name of each provider in the package, and the file of its models. */
const files = {
	anthropic: 'anthropic',
	cloudflare: 'cloudflare',
	deepseek: 'deepseek',
	google: 'google',
	groq: 'groq',
	mistral: 'mistral',
	openai: 'openai',
	'x-ai': 'xai',
} as const;

/**
 * The names of prices in a line, by their names in the package. The missing prices are for other uses than a
 * conversation.
 */
const kinds: Readonly<Record<string, string>> = {
	input_mtok: 'input',
	output_mtok: 'output',
	cache_read_mtok: 'read',
	cache_write_mtok: 'write',
	cache_write_1h_mtok: 'hour',
	input_audio_mtok: 'input_audio',
	input_image_mtok: 'input_image',
	input_video_mtok: 'input_video',
	cache_audio_read_mtok: 'read_audio',
	cache_image_read_mtok: 'read_image',
	output_audio_mtok: 'output_audio',
	output_image_mtok: 'output_image',
	output_video_mtok: 'output_video',
	web_searches_kcount: 'web_searches',
	storage_searches_kcount: 'file_searches',
};

if (isAsked('npm run prices', usage, ['check']))
	for (const [id, name] of Object.entries(files))
		keep(join(root, 'src/core/providers/prices', `${name}.ts`), await write(id, name));

/** Writes a file, or only reports that it is old. */
function keep(file: string, text: string): void {
	if (!process.argv.includes('--check')) writeFileSync(file, text);
	else if (readFileSync(file, 'utf8') !== text) {
		console.error(`${file} is not what the package says: npm run prices`);
		process.exitCode = 1;
	}
}

async function write(id: string, name: string): Promise<string> {
	const providers = (await waitForUpdate()) ?? [];
	const provider = providers.find((one) => one.id === id);
	if (provider === undefined) throw new Error(`${id} is not in the package`);
	const lines = provider.models.map(toLine).join('\n');
	if (/`|\$\{/.test(lines)) throw new Error(`${id}: a name cannot stand in a template.`);
	return `/** Written by \`npm run prices\`; \`list.ts\` says what a line means. */\nexport const ${name} = String.raw\`\n${lines}\n\`;\n`;
}

/** A line has a pattern of the model's names, its context window or 0, and its prices. */
function toLine({ match, context_window: window = 0, prices }: ModelInfo): string {
	const rest = Array.isArray(prices) ? prices.map((one, index) => toCondition(one, index, prices)) : [toPrices(prices)];
	const fields = [toPattern(match), String(window), ...rest.flat()];
	for (const field of fields) if (/\s/.test(field)) throw new Error(`"${field}" has a space, which ends a field.`);
	return fields.join(' ');
}

/** The last condition that holds decides. If no condition holds, the first prices count. */
function toCondition(
	{ constraint, prices }: ConditionalPrice,
	index: number,
	all: readonly ConditionalPrice[],
): readonly string[] {
	if (index === 0) return toPrices(prices);
	if (constraint?.type === 'start_date') return [`from=${constraint.start_date}`, ...toPrices(prices)];
	if (constraint?.type === 'time_of_date') {
		const [start, end] = [toSeconds(constraint.start_time), toSeconds(constraint.end_time)];
		// From 2026-08-17 on, DeepSeek has peak hours only on weekdays (api-docs.deepseek.com/quick_start/pricing).
		const isPeak = all.some(({ constraint }) => constraint?.type === 'start_date');
		if (start < end) return [`${isPeak ? 'weekdays' : 'at'}=${start}-${end}`, ...toPrices(prices)];
	}
	throw new Error(`unknown condition of a price: ${JSON.stringify(constraint)}`);
}

/** Returns the second of a day in UTC, such as of `16:30:00Z`. */
function toSeconds(time: string): number {
	const seconds = (Date.parse(`1970-01-02T${time}`) / 1000 + 86_400) % 86_400;
	if (Number.isNaN(seconds)) throw new Error(`unknown time of a day: ${time}`);
	return seconds;
}

function toPrices(prices: ModelPrice): readonly string[] {
	if ('requests_kcount' in prices) throw new Error('a price of each request is not counted yet');
	return Object.entries(prices).flatMap(([key, price]) => {
		const kind = kinds[key];
		if (kind === undefined || price === undefined) return [];
		if (typeof price === 'number') return [`${kind}=${price}`];
		return [`${kind}=${[price.base, ...price.tiers.map(({ start, price }) => `${start}:${price}`)].join(',')}`];
	});
}

/** Returns a regular expression for the same names, in lower case. */
function toPattern(match: MatchLogic): string {
	if ('or' in match) return match.or.map(toPattern).join('|');
	if ('and' in match) return `^${match.and.map((one) => `(?=.*(?:${toPattern(one)}))`).join('')}`;
	if ('regex' in match) return match.regex;
	if ('equals' in match) return `^${quote(match.equals)}$`;
	if ('starts_with' in match) return `^${quote(match.starts_with)}`;
	if ('ends_with' in match) return `${quote(match.ends_with)}$`;
	return quote(match.contains);
}

function quote(text: string): string {
	return text.toLowerCase().replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
