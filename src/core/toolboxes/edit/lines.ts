import { RunletError } from '../../ground/errors.ts';

/** The most lines of a text that is edited line by line. */
const mostLines = 300_000;

/** The longest line whose blanks may differ. */
const longestFolded = 20_000;

/** A line of a text. */
export interface Line {
	/** The line without its end. */
	readonly text: string;
	/** `\n`, `\r\n`, or nothing at the end of a text. */
	readonly end: string;
	/** Where it begins in the text. */
	readonly at: number;
}

/**
 * Splits a text into lines. A text that ends with a line end has no empty line behind it. Throws `too_large` for one of too
 * many lines.
 */
export function splitLines(text: string): readonly Line[] {
	const lines: Line[] = [];
	for (let at = 0; at < text.length; ) {
		const found = text.indexOf('\n', at);
		const next = found === -1 ? text.length : found + 1;
		const whole = text.slice(at, next);
		const end = whole.endsWith('\r\n') ? '\r\n' : whole.endsWith('\n') ? '\n' : '';
		lines.push({ text: whole.slice(0, whole.length - end.length), end, at });
		at = next;
		if (lines.length > mostLines)
			throw new RunletError('too_large', `The text has more than ${mostLines} lines. Write it anew, or split it.`);
	}
	return lines;
}

/** The line end of a text: that of most of its lines. */
export function findLineEnd(text: string): '\n' | '\r\n' {
	const all = text.split('\n').length - 1;
	return 2 * (text.split('\r\n').length - 1) > all ? '\r\n' : '\n';
}

/** The same text with these line ends. */
export function withLineEnds(text: string, end: '\n' | '\r\n'): string {
	return text.replace(/\r?\n/g, end);
}

/** A line as it is compared where blanks may differ. */
export function foldBlanks(line: string): string {
	return line.length > longestFolded ? line : line.trim().replace(/\s\s*/g, ' ');
}
