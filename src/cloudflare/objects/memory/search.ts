import { RunletError } from '../../../core/base/errors.ts';
import { longestMemory, mostCharacters, mostMemories } from '../../wire/memory.ts';

/** Words of English that say nothing about what is looked for. */
const empty = new Set(
	`a about all am an and any are as at be been but by can could did do does for from get had has have he her him his how i
	if in into is it its let me my no not of on or our out please she should so some than that the their them then there
	these they this those to up us was we were what when where which who why will with would you your`.split(/\s+/),
);

/** The scripts that put no spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** The most words of a query. */
const mostWords = 32;

/** Shorter words match only as a whole. */
const shortestPrefix = 4;

/** Prepares a text for the index: each sign of a script without spaces is a word. */
export function toIndexedText(text: string): string {
	return text.replace(new RegExp(unspaced, 'gu'), ' $& ');
}

/**
 * Makes the FTS5 query for memories that have at least one of the words. Signs without spaces between them have to stand
 * together. Nothing if there is no word to look for.
 */
export function toMatch(query: string): string | undefined {
	const terms = new Set<string>();
	for (const { word, isPrefix } of listWords(query)) {
		if (terms.size === mostWords) break;
		terms.add(unspaced.test(word) ? `"${toIndexedText(word).trim()}"` : `"${word}"${isPrefix ? ' *' : ''}`);
	}
	return terms.size === 0 ? undefined : [...terms].join(' OR ');
}

/** Lists the words of a text that say something, in lower case, and whether the beginning of another word matches them. */
export function listWords(text: string): readonly { readonly word: string; readonly isPrefix: boolean }[] {
	const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
	return words.filter((word) => !empty.has(word)).map((word) => ({ word, isPrefix: word.length >= shortestPrefix }));
}

/** A rank counts less the further down it is; the first ones do not outweigh all others (Cormack et al., 2009). */
const damping = 60;

/** Joins rankings of the same things: what stands high in several of them comes first. */
export function joinRanks(rankings: readonly (readonly string[])[], limit: number): readonly string[] {
	const scores = new Map<string, number>();
	for (const ranking of rankings)
		for (const [rank, one] of ranking.entries()) scores.set(one, (scores.get(one) ?? 0) + 1 / (damping + rank));
	return [...scores]
		.sort(([, a], [, b]) => b - a)
		.slice(0, limit)
		.map(([one]) => one);
}

/** Throws `too_large` if a text is too long for a memory. */
export function assertLength(text: string): void {
	if (text.length <= longestMemory) return;
	throw createTooLarge(
		'text',
		`has ${text.length} characters, and a memory at most ${longestMemory}. Keep what matters, or split it over several paths`,
	);
}

/** Throws `too_large` if a person has too many memories, or too long ones. */
export function assertTotal({ count, characters }: { readonly count: number; readonly characters: number }): void {
	if (count > mostMemories)
		throw createTooLarge(
			'path',
			`there are ${mostMemories} memories, which is the most. Write into one that is there, or forget one first`,
		);
	if (characters > mostCharacters)
		throw createTooLarge(
			'text',
			`all memories together would have ${characters} characters, and ${mostCharacters} is the most. Forget what is old first`,
		);
}

function createTooLarge(field: string, what: string): RunletError {
	return new RunletError('too_large', `${field}: ${what}.`, { field });
}
