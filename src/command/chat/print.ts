/** Writes for `runlet chat`: the answer to standard output, and lines about the answer to standard error. */

import { styleText } from 'node:util';
import { cutLine, wrap } from './width.ts';

type Style = 'dim' | 'bold' | 'red' | 'green' | 'yellow';

/** Whether the current line has a part of the answer. */
let isInLine = false;

/** Writes text to standard output. */
export function printText(text: string) {
	writeText(toPrintable(text));
}

/** Writes text unchanged. The caller must first remove control characters that come from outside. */
export function writeText(text: string) {
	if (text === '') return;
	hideWait();
	process.stdout.write(text);
	isInLine = !text.endsWith('\n');
}

export function endLine() {
	if (isInLine) process.stdout.write('\n');
	isInLine = false;
}

/** Writes a line to standard error, or lines where the terminal is narrower. */
export function print(style: Style, text: string) {
	const { columns } = process.stderr;
	printWhole(style, columns ? wrap(text, columns).join('\n') : text);
}

/** Writes a line to standard error. A terminal breaks it anywhere. */
export function printWhole(style: Style, text: string) {
	hideWait();
	endLine();
	process.stderr.write(`${toStyled(style, toPrintable(text))}\n`);
}

function toStyled(style: Style, text: string): string {
	return styleText(style, text, { stream: process.stderr });
}

/** Removes characters that could move the cursor, write the clipboard or change the text direction. */
export function toPrintable(text: string): string {
	return text.replace(/(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
}

/** The columns of a line on standard error, or of a line in a file. */
export const getColumns = (): number => process.stderr.columns || 200;

/** Returns the beginning of a text or of JSON on one line. */
export function toOneLine(value: unknown, columns = getColumns()): string {
	const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
	// A text may have megabytes, and only its beginning is shown.
	return cutLine(
		toPrintable(text.slice(0, 4 * columns))
			.replace(/\s+/g, ' ')
			.trim(),
		columns,
	);
}

/** Cuts a line at the end of the terminal's line. */
export function cut(line: string): string {
	return cutLine(toPrintable(line), getColumns());
}

/** Whether a line can move: on a terminal with styles. */
const canMove = process.stderr.isTTY && toStyled('dim', '-') !== '-';
const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const frameMs = 100;

/** What is waited for, and since when. */
let wait: { readonly words: string; readonly since: number; readonly timer: NodeJS.Timeout } | undefined;
let isWaitShown = false;

/** Shows a moving line with the seconds, until the words change. Without words, the line goes. */
export function showWait(words?: string) {
	if (!canMove || wait?.words === words) return;
	hideWait();
	clearInterval(wait?.timer);
	wait = words === undefined ? undefined : { words, since: performance.now(), timer: setInterval(drawWait, frameMs) };
	drawWait();
}

function drawWait() {
	if (wait === undefined || isInLine) return;
	const ms = performance.now() - wait.since;
	const frame = frames[Math.floor(ms / frameMs) % frames.length];
	const line = toOneLine(`${frame} ${Math.floor(ms / 1_000)} s · ${wait.words}`, getColumns() - 1);
	process.stderr.write(`\r\u001b[K${toStyled('dim', line)}`);
	isWaitShown = true;
}

function hideWait() {
	if (isWaitShown) process.stderr.write('\r\u001b[K');
	isWaitShown = false;
}
