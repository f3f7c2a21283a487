/**
 * The prices of the providers of the walk, in US dollars for a million tokens, written by hand as of 2026-11-24:
 * platform.claude.com/docs/en/about-claude/pricing, developers.openai.com/api/docs/pricing,
 * ai.google.dev/gemini-api/docs/pricing. The prices of `acme` are our own.
 */

/** The units of a reply that are billed so far. */
export interface Tally {
	/** All input, with cached, written and audio input. */
	input: number;
	cached: number;
	written: number;
	/** The part of `written` that stays for an hour. */
	hour: number;
	/** The part of the input that is audio. */
	audio: number;
	/** All output, with thinking. */
	output: number;
	readonly pieces: Record<string, number>;
}

interface Line {
	readonly input: number;
	readonly output: number;
	readonly cached?: number;
	readonly written?: number;
	readonly hour?: number;
	readonly audio?: number;
	/** The price of a unit. */
	readonly pieces?: Readonly<Record<string, number>>;
}

const claude = { web_searches: 0.01, web_fetches: 0, container_minutes: 0.05 / 60 };
const gpt = { web_searches: 0.01, containers: 0.03 };

const lines: Readonly<Record<string, Line>> = {
	'claude-sonnet-5': { input: 2, output: 10, cached: 0.2, written: 2.5, hour: 4, pieces: claude },
	'claude-opus-4-8': { input: 5, output: 25, cached: 0.5, written: 6.25, hour: 10, pieces: claude },
	'gpt-5': { input: 1.25, output: 10, cached: 0.125, pieces: gpt },
	'gpt-5-mini': { input: 0.25, output: 2, cached: 0.025, pieces: gpt },
	'gpt-audio': { input: 2.5, output: 10, audio: 32 },
	'gemini-3-flash-preview': { input: 0.5, output: 3, cached: 0.05, audio: 1, pieces: { web_searches: 0.014 } },
	'gemini-2.5-flash': { input: 0.3, output: 2.5, cached: 0.03, audio: 1, pieces: { searched_prompts: 0.035 } },
	'text-embedding-3-small': { input: 0.02, output: 0 },
	m: { input: 1, output: 4, cached: 0.5, written: 2 },
};

/** The factors by which some terms change the price of all tokens of a reply. */
const factors: Readonly<Record<string, number>> = {
	'claude-sonnet-5 us': 1.1,
	'claude-opus-4-8 us': 1.1,
	'claude-opus-4-8 fast': 2,
	'gpt-5 flex': 0.5,
	'gpt-5 priority': 2,
	'gpt-5-mini flex': 0.5,
	'gpt-5-mini priority': 1.8,
	'gemini-3-flash-preview flex': 0.5,
	'gemini-3-flash-preview priority': 1.8,
};

export function createTally(): Tally {
	return { input: 0, cached: 0, written: 0, hour: 0, audio: 0, output: 0, pieces: {} };
}

/** Returns the price of a reply in dollars. */
export function bill(model: string, tally: Tally, terms: readonly string[] = []): number {
	const line = lines[model];
	if (line === undefined) throw new Error(`the sheet has no ${model}`);
	const { cached, written, hour, audio, output } = tally;
	const plain = tally.input - cached - written - audio;
	const tokens =
		plain * line.input +
		cached * (line.cached ?? line.input) +
		(written - hour) * (line.written ?? line.input) +
		hour * (line.hour ?? line.input) +
		audio * (line.audio ?? line.input) +
		output * line.output;
	const factor = terms.reduce((product, term) => product * (factors[`${model} ${term}`] ?? 1), 1);
	return Object.entries(tally.pieces).reduce(
		(sum, [name, count]) => {
			const price = line.pieces?.[name];
			if (price === undefined) throw new Error(`the sheet has no ${name} of ${model}`);
			return sum + price * count;
		},
		(tokens / 1_000_000) * factor,
	);
}
