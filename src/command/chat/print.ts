/** Writes for `runlet chat`: the answer to standard output, and lines about the answer to standard error. */

import { styleText } from 'node:util';

/** Whether the current line has a part of the answer. */
let isInLine = false;

/** Writes text to standard output. */
export function printText(text: string) {
	writeText(toPrintable(text));
}

/** Writes text unchanged. The caller must first remove control characters that come from outside. */
export function writeText(text: string) {
	process.stdout.write(text);
	if (text !== '') isInLine = !text.endsWith('\n');
}

export function endLine() {
	if (isInLine) process.stdout.write('\n');
	isInLine = false;
}

/** Writes a line to standard error. */
export function print(style: 'dim' | 'bold' | 'red' | 'green' | 'yellow', text: string) {
	endLine();
	process.stderr.write(`${styleText(style, toPrintable(text), { stream: process.stderr })}\n`);
}

/** Removes characters that could move the cursor, write the clipboard or change the text direction. */
export function toPrintable(text: string): string {
	return text.replace(/(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
}

export function toOneLine(value: unknown): string {
	const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
	const line = text.replace(/\s+/g, ' ').trim();
	return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
