/**
 * Removes the ending of an English word: `testing`, `tests` and `tested` become `test`. Rough, so stem both the words that
 * are searched and those of the query.
 */
export function stem(word: string): string {
	if (word.length < 5) return word.length === 4 ? word.replace(/(?<=[^s])s$|e$/, '') : word;
	const bare = word
		.replace(/(?:ies|ied)$/, 'y')
		.replace(/(?<=[^s])s$/, '')
		.replace(/(?<=.{3})(?:ations?|ings?|ers?|ed|ion|ment|ly)$/, '')
		.replace(/e$/, '');
	const isDoubled = bare.at(-1) === bare.at(-2) && /[^aeiouls]$/.test(bare);
	const stemmed = isDoubled ? bare.slice(0, -1) : bare;
	return stemmed.length < 3 ? word : stemmed;
}
