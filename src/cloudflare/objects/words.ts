import { cutAround, stem } from '../../core/base/text.ts';

/** Scripts without spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

const mostWords = 32;

/** The maximum length of an excerpt, without the `…` at its ends. */
const longestExcerpt = 160;

/** The minimum length of a word that also matches longer words. Shorter words match only whole words. */
const shortestPrefix = 4;

/** How an FTS5 index of prepared texts splits and stems words. */
export const tokenizer = "tokenize = 'porter unicode61 remove_diacritics 2'";

/** Prepares a text for an index: each character of a script without spaces becomes a word. */
export function toIndexedText(text: string): string {
	return text.replace(new RegExp(unspaced, 'gu'), ' $& ');
}

/** The inverse of `toIndexedText`. */
function toText(indexed: string): string {
	return indexed.replace(new RegExp(` (${unspaced.source}) `, 'gu'), '$1');
}

/**
 * Returns what is around the longest searched word that an indexed text has, in one line. Finds a word by its
 * beginning or its stem. Returns nothing if the text has none of the words.
 */
export function createExcerpt(indexed: string, words: readonly SearchedWord[]): string | undefined {
	const text = toText(indexed).normalize().replace(/\s+/g, ' ');
	const bare = toBare(text);
	for (const { word, isPrefix } of words.toSorted((a, b) => b.word.length - a.word.length)) {
		const end = isPrefix ? '' : '(?![\\p{L}\\p{N}])';
		for (const start of new Set([word, stem(word)].map(toBare))) {
			const pattern = unspaced.test(word) ? start : new RegExp(`(?<![\\p{L}\\p{N}])${start}${end}`, 'u');
			const place = bare.search(pattern);
			if (place >= 0) return cutAround(text, place, longestExcerpt);
		}
	}
	return undefined;
}

/** Returns a text in lower case and without accents, with each character at its place. */
function toBare(text: string): string {
	const bare = text.replace(/[\u00c0-\u024f\u0370-\u04ff\u1e00-\u1fff]/g, (sign) => sign.normalize('NFD').charAt(0));
	return bare.toLowerCase();
}

export interface SearchedWord {
	/** In lower case. */
	readonly word: string;
	/** Whether the word also matches longer words. */
	readonly isPrefix: boolean;
}

export function splitWords(text: string): readonly SearchedWord[] {
	const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
	return words.map((word) => ({ word, isPrefix: word.length >= shortestPrefix }));
}

/** Makes an FTS5 query. Undefined without words. In scripts without spaces a word is a phrase. */
export function joinWords(words: readonly SearchedWord[], operator: 'AND' | 'OR'): string | undefined {
	const terms = new Set<string>();
	for (const { word, isPrefix } of words) {
		if (terms.size === mostWords) break;
		terms.add(unspaced.test(word) ? `"${toIndexedText(word).trim()}"` : `"${word}"${isPrefix ? ' *' : ''}`);
	}
	return terms.size === 0 ? undefined : [...terms].join(` ${operator} `);
}
