import { createFieldError } from '../../../core/base/errors.ts';
import { longestMemory, mostCharacters, mostMemories } from '../../wire/memory.ts';
import { joinWords, type SearchedWord, splitWords } from '../words.ts';

/** English words that a search ignores. */
const empty = new Set(
	`a about all am an and any are as at be been but by can could did do does for from get had has have he her him his how i
	if in into is it its let me my no not of on or our out please she should so some than that the their them then there
	these they this those to up us was we were what when where which who why will with would you your`.split(/\s+/),
);

/** Makes an FTS5 query for any of the words. Undefined without words. */
export function toMatch(query: string): string | undefined {
	return joinWords(listWords(query), 'OR');
}

/** Lists the words to search for. */
export function listWords(text: string): readonly SearchedWord[] {
	return splitWords(text).filter(({ word }) => !empty.has(word));
}

/** The rank at which a score halves. So the first ranks do not outweigh the others (Cormack et al., 2009). */
const damping = 60;

/** Merges rankings. Paths that are high in several rankings come first. */
export function joinRanks(rankings: readonly (readonly string[])[], limit: number): readonly string[] {
	const scores = new Map<string, number>();
	for (const ranking of rankings)
		for (const [rank, key] of ranking.entries()) scores.set(key, (scores.get(key) ?? 0) + 1 / (damping + rank));
	return [...scores]
		.sort(([, a], [, b]) => b - a)
		.slice(0, limit)
		.map(([key]) => key);
}

export function assertLength(text: string): void {
	if (text.length <= longestMemory) return;
	const most = `and a memory at most ${longestMemory}. Keep what matters, or split it over several paths.`;
	throw createFieldError('too_large', 'text', `has ${text.length} characters, ${most}`);
}

export function assertTotal({ count, characters }: { readonly count: number; readonly characters: number }): void {
	if (count > mostMemories) {
		const remedy = 'Write into one that is there, or forget one first.';
		throw createFieldError('too_large', 'path', `there are ${mostMemories} memories, which is the most. ${remedy}`);
	}
	if (characters > mostCharacters) {
		const total = `all memories together would have ${characters} characters, and ${mostCharacters} is the most`;
		throw createFieldError('too_large', 'text', `${total}. Forget what is old first.`);
	}
}
