/** The prompt caches of three providers, by their rules. A token is four characters. */

/** A part of a request, in the order in which a provider reads it. */
export interface Block {
	readonly text: string;
	/** How long the request up to the end of this block is kept. Missing if it is not marked. */
	readonly keepsMs?: number;
}

/** The tokens of a request. */
export interface Counted {
	readonly input: number;
	readonly read: number;
	readonly written: number;
	/** The written tokens that are kept for an hour. */
	readonly writtenForHour: number;
}

/** The cache of one conversation. */
export type Cache = (blocks: readonly Block[], now: number, keepsMs?: number) => Counted;

export const [minute, hour] = [60_000, 3_600_000];

/** The fewest tokens that a cache keeps, and the tokens of a step. */
const least = 1_024;
const step = 128;

/** Anthropic looks for a cached beginning in this many blocks before a mark. */
const lookback = 20;

export const countTokens = (text: string): number => Math.ceil(text.length / 4);

/**
 * Anthropic's cache: it keeps a request up to each mark, and reads the longest cached request that ends at most 20 blocks
 * before a mark. Each use restarts the lifetime (platform.claude.com/docs/en/build-with-claude/prompt-caching).
 */
export function createMarkedCache(): Cache {
	const kept = new Map<string, { until: number; readonly keepsMs: number }>();
	return (blocks, now) => {
		const places: { readonly key: string; readonly tokens: number }[] = [];
		let key = '';
		let tokens = 0;
		for (const { text } of blocks) {
			key = hash(key, text);
			tokens += countTokens(text);
			places.push({ key, tokens });
		}
		const marks = blocks.flatMap(({ keepsMs }, at) => (keepsMs === undefined ? [] : [{ at, keepsMs }]));
		let read = 0;
		for (const { at } of marks)
			for (const { key, tokens } of places.slice(Math.max(0, at - lookback + 1), at + 1)) {
				const entry = kept.get(key);
				if (entry === undefined || entry.until < now || tokens < read) continue;
				entry.until = now + entry.keepsMs;
				read = tokens;
			}
		let written = 0;
		let writtenForHour = 0;
		for (const { at, keepsMs } of marks) {
			const place = places[at];
			if (place === undefined || place.tokens < least || place.tokens <= read) continue;
			const more = place.tokens - read - written;
			written += Math.max(0, more);
			if (keepsMs >= hour) writtenForHour += Math.max(0, more);
			kept.set(place.key, { until: now + keepsMs, keepsMs });
		}
		return { input: tokens, read, written, writtenForHour };
	};
}

/**
 * The caches of OpenAI and Gemini. They read the start that a request shares with an earlier request, in whole
 * steps. Reads cost less, and writes cost nothing.
 */
export function createPrefixCache({ leastTokens = least, usualMs = 10 * minute } = {}): Cache {
	let kept: { until: number; readonly blocks: readonly Block[] }[] = [];
	return (blocks, now, keepsMs = usualMs) => {
		kept = kept.filter(({ until }) => until >= now).slice(-8);
		let common = 0;
		for (const entry of kept) {
			const tokens = countCommon(entry.blocks, blocks);
			if (tokens < leastTokens) continue;
			entry.until = now + keepsMs;
			common = Math.max(common, tokens);
		}
		kept.push({ until: now + keepsMs, blocks });
		const input = blocks.reduce((sum, { text }) => sum + countTokens(text), 0);
		return { input, read: Math.floor(common / step) * step, written: 0, writtenForHour: 0 };
	};
}

function countCommon(before: readonly Block[], blocks: readonly Block[]): number {
	let tokens = 0;
	for (const [at, { text }] of blocks.entries()) {
		const other = before[at]?.text ?? '';
		if (other !== text) {
			let same = 0;
			while (same < text.length && text[same] === other[same]) same++;
			return tokens + Math.floor(same / 4);
		}
		tokens += countTokens(text);
	}
	return tokens;
}

/** Two 32-bit hashes with the prime of FNV-1a. */
function hash(before: string, text: string): string {
	let [one, two] = [0x811c9dc5, 0x01000193];
	const whole = `${before} ${text}`;
	for (let at = 0; at < whole.length; at++) {
		const code = whole.charCodeAt(at);
		one = Math.imul(one ^ code, 0x01000193);
		two = Math.imul(two + code, 0x5bd1e995) ^ (two >>> 13);
	}
	return `${one >>> 0}.${two >>> 0}.${text.length}`;
}
