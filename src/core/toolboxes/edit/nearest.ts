import { RunletError } from '../../base/errors.ts';
import { truncateText } from '../../base/text.ts';
import type { StepCounter, Steps } from '../../base/work.ts';

/** The maximum number of lines of the text that are compared. */
const comparedLines = 20_000;
const shownLines = 12;
/** The maximum number of lines of the wanted text that are compared. */
const mostCompared = 200;
/** The maximum line length with folded blanks, and the maximum with the original blanks. */
const [longestLine, longestRead] = [200, 1_000];
/** The cost of testing two lines for equality, and the cost of comparing a pair of letters, in steps. */
const [perLine, perPair] = [2, 20];

/**
 * Shows the lines that are most similar to the wanted text, with their numbers. Finds the place with the most
 * equal lines, else the place with the most similar line. Of several such places, shows the place nearest to the
 * expected line. Empty if nothing is similar.
 *
 * @param expected the index of the expected line
 */
export function* showNearest(text: string, wanted: string, work: StepCounter, expected = 0): Steps<string> {
	const lines = yield* listCompared(text, work);
	const asked = yield* listCompared(wanted, work);
	const at =
		(yield* findEqualLines(lines, asked.slice(0, mostCompared), expected, work)) ??
		(yield* findSimilarLine(lines, asked, expected, work));
	if (at === undefined) return '';
	return showLines(text, Math.max(0, at) + 1, Math.min(asked.length, shownLines));
}

/** Lists the lines of a text, shortened and with folded blanks, for comparison. */
function* listCompared(text: string, work: StepCounter): Steps<readonly string[]> {
	const compared: string[] = [];
	for (const line of splitLines(text).slice(0, comparedLines)) {
		const read = line.text.slice(0, longestRead);
		compared.push(foldBlanks(read).slice(0, longestLine));
		if (work.spend(read.length)) yield;
	}
	return compared;
}

/** Finds the place with the most text in equal lines. Together, they must make up a third of the wanted text. */
function findEqualLines(lines: readonly string[], asked: readonly string[], expected: number, work: StepCounter) {
	const least = asked.reduce((sum, line) => sum + line.length, 0) / 3;
	const scoreAt = (at: number): number =>
		asked.reduce((sum, line, offset) => sum + (lines[at + offset] === line ? line.length : 0), 0);
	return findBest(
		lines.length,
		{ scoreAt, steps: () => perLine * asked.length },
		{ least: Math.max(1, least), expected },
		work,
	);
}

/** Finds the line that is most similar to the longest wanted line. */
function* findSimilarLine(
	lines: readonly string[],
	asked: readonly string[],
	expected: number,
	work: StepCounter,
): Steps<number | undefined> {
	const key = asked.reduce((longest, one) => (one.length > longest.length ? one : longest), '');
	const pairs = listPairs(key);
	const offset = asked.indexOf(key);
	const scoring: Scoring = {
		scoreAt: (at) => compare(pairs, lines[at] ?? ''),
		steps: (at) => 100 + perPair * (lines[at]?.length ?? 0),
	};
	const found = yield* findBest(lines.length, scoring, { least: 0.3, expected: expected + offset }, work);
	return found === undefined ? undefined : found - offset;
}

/** The score of each place, and the cost of computing the score, in steps. */
interface Scoring {
	readonly scoreAt: (at: number) => number;
	readonly steps: (at: number) => number;
}

/** Finds the place with the highest score of at least `least`. If scores are equal, prefers the expected place. */
function* findBest(
	count: number,
	{ scoreAt, steps }: Scoring,
	{ least, expected }: { readonly least: number; readonly expected: number },
	work: StepCounter,
): Steps<number | undefined> {
	let best: { readonly at: number; readonly score: number } | undefined;
	for (let at = 0; at < count; at++) {
		const score = scoreAt(at);
		if (work.spend(steps(at))) yield;
		if (score < least || score < (best?.score ?? 0)) continue;
		const isBetter = best === undefined || score > best.score || Math.abs(at - expected) < Math.abs(best.at - expected);
		if (isBetter) best = { at, score };
	}
	return best?.at;
}

export function showLines(text: string, from: number, count: number): string {
	const lines = splitLines(text).slice(from - 1, from - 1 + count);
	return lines.map((line, at) => `${from + at}: ${truncateText(line.text, longestLine)}`).join('\n');
}

function listPairs(text: string): ReadonlySet<string> {
	return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)));
}

/** Computes the similarity of two lines, from 0 to 1, by their shared pairs of letters. */
function compare(pairs: ReadonlySet<string>, line: string): number {
	const own = listPairs(line);
	if (pairs.size + own.size === 0) return 0;
	let shared = 0;
	for (const pair of own) if (pairs.has(pair)) shared++;
	return (2 * shared) / (pairs.size + own.size);
}

/** The maximum number of lines of an edited text. */
const mostLines = 300_000;

/** The maximum length of a line in which blanks can differ. */
const longestFolded = 20_000;

export interface Line {
	/** The line without its line break. */
	readonly text: string;
	/** The line break: `\n`, `\r\n`, or empty at the end of a text. */
	readonly end: string;
	/** The index of the line's first character in the text. */
	readonly at: number;
}

/** Splits a text into lines. No line follows a final line break. Throws `too_large` if there are too many lines. */
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

/** Finds the most common line break of a text. */
export function findLineEnd(text: string): '\n' | '\r\n' {
	const all = text.split('\n').length - 1;
	return 2 * (text.split('\r\n').length - 1) > all ? '\r\n' : '\n';
}

/** Returns the text with its line breaks replaced. */
export function withLineEnds(text: string, end: '\n' | '\r\n'): string {
	return text.replace(/\r?\n/g, end);
}

/** Normalizes the blanks of a line for comparison. */
export function foldBlanks(line: string): string {
	return line.length > longestFolded ? line : line.trim().replace(/\s\s*/g, ' ');
}
