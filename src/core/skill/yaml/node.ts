/** A value of YAML, as JSON. */
export interface Node {
	readonly value: unknown;
	/** A scalar as written, such as `1.10` or `no`. Text is without its quotes. */
	readonly text?: string;
	/** The keys of a map. */
	readonly entries?: ReadonlyMap<string, Entry>;
}

/** A key of a map with its value. `line` counts from 1, and is the line of the key. */
export interface Entry extends Node {
	readonly line: number;
}

/** What is wrong, and where: `line` counts from 1, `at` is an offset into the text. */
export interface Problem {
	readonly message: string;
	readonly line: number;
	readonly at: number;
}

/** How deep lists and maps may be nested. */
export const maxDepth = 64;

export function toMap(entries: ReadonlyMap<string, Entry>): Node {
	return { value: Object.fromEntries([...entries].map(([key, { value }]) => [key, value])), entries };
}

export function toText(value: string): Node {
	return { value, text: value };
}

/** Reads text without quotes, by the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#103-core-schema). */
export function toScalar(text: string): Node {
	if (/^(?:~|null|Null|NULL)?$/.test(text)) return { value: null, text };
	if (/^(?:true|True|TRUE|false|False|FALSE)$/.test(text)) return { value: /^t/i.test(text), text };
	const isNumber =
		/^0(?:o[0-7]+|x[\da-fA-F]+)$/.test(text) || /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text);
	// No zero has a sign, and what JSON has no number for stays text.
	const value = Number(text) + 0;
	return isNumber && Number.isFinite(value) ? { value, text } : toText(text);
}

/** Joins the lines of a text as YAML folds them: one break is a blank, and each further one a break. */
export function foldLines(lines: readonly string[]): string {
	let text = lines[0] ?? '';
	let breaks = 0;
	for (const line of lines.slice(1)) {
		breaks++;
		if (line === '') continue;
		text += toBreaks(breaks) + line;
		breaks = 0;
	}
	return text;
}

export function toBreaks(count: number): string {
	return count === 1 ? ' ' : '\n'.repeat(count - 1);
}

/** Removes blanks and tabs from the end of a text. Other spaces are part of it. */
export function trimBlanksEnd(text: string): string {
	let end = text.length;
	while (text[end - 1] === ' ' || text[end - 1] === '\t') end--;
	return text.slice(0, end);
}

/** Removes blanks and tabs from both ends of a text. */
export function trimBlanks(text: string): string {
	return trimBlanksEnd(text.replace(/^[ \t]+/, ''));
}
