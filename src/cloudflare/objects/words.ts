/** Scripts without spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

const mostWords = 32;

/** The minimum length of a word that also matches longer words. Shorter words match only whole words. */
const shortestPrefix = 4;

/** How an FTS5 index of prepared texts splits and stems words. */
export const tokenizer = "tokenize = 'porter unicode61 remove_diacritics 2'";

/** Prepares a text for an index: each character of a script without spaces becomes a word. */
export function toIndexedText(text: string): string {
	return text.replace(new RegExp(unspaced, 'gu'), ' $& ');
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
