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
	const words = query.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
	const terms = new Set<string>();
	for (const word of words) {
		if (terms.size === mostWords) break;
		if (empty.has(word)) continue;
		if (unspaced.test(word)) terms.add(`"${toIndexedText(word).trim()}"`);
		else if (word.length < shortestPrefix) terms.add(`"${word}"`);
		else terms.add(`"${word}" *`);
	}
	return terms.size === 0 ? undefined : [...terms].join(' OR ');
}
