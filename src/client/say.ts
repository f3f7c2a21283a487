/** The words of the page, which a page of somebody else can replace (docs/embed.md, "Words"). */

let own: Readonly<Record<string, string>> = {};

/** Replaces words, by the English ones. An error's message is replaced by its code. Holds for all chats of a page. */
export function replaceWords(words: Readonly<Record<string, string>>): void {
	own = words;
}

/** Returns the words for an English text, with `values` in place of their `{names}`. */
export function say(english: string, values: Readonly<Record<string, string | number>> = {}): string {
	return sayOr(english, english).replace(/\{(\w+)\}/g, (name, key) => `${values[key] ?? name}`);
}

/** Returns the words for a key, such as the code of an error, or else `words`. */
export function sayOr(key: string, words: string): string {
	return Object.hasOwn(own, key) ? (own[key] ?? words) : words;
}
