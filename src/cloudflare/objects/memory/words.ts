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
