import { truncateText } from '../../ground/text.ts';
import type { StepCounter, Steps } from '../../ground/work.ts';
import { foldBlanks, splitLines } from './lines.ts';

/** Lines that are compared. */
const mostLines = 20_000;
/** Lines that are shown. */
const shownLines = 12;
/** Characters of a line that are compared and shown, and those that are read for that. */
const [longestLine, longestRead] = [200, 1_000];
/** The steps for a line, and for two letters of it. */
const [perLine, perPair] = [100, 20];

/** The lines of a text that are most like what was looked for, with their numbers. Empty if nothing is alike. */
export function* showNearest(text: string, wanted: string, work: StepCounter): Steps<string> {
	const lines = splitLines(text).slice(0, mostLines);
	const asked = splitLines(wanted).map((line) => foldBlanks(line.text.slice(0, longestRead)));
	const key = asked.reduce((longest, one) => (one.length > longest.length ? one : longest), '').slice(0, longestLine);
	const pairs = listPairs(key);
	let best = { at: -1, score: 0.3 };
	for (const [at, { text: line }] of lines.entries()) {
		const shown = foldBlanks(line.slice(0, longestRead)).slice(0, longestLine);
		const score = compare(pairs, shown);
		if (work.spend(perLine + perPair * shown.length)) yield;
		if (score > best.score) best = { at, score };
	}
	if (best.at === -1) return '';
	const first = Math.max(0, best.at - asked.findIndex((one) => one.startsWith(key)));
	return showLines(text, first + 1, Math.min(asked.length, shownLines));
}

/** Some lines of a text with their numbers. */
export function showLines(text: string, from: number, count: number): string {
	const lines = splitLines(text).slice(from - 1, from - 1 + count);
	return lines.map((line, at) => `${from + at}: ${truncateText(line.text, longestLine)}`).join('\n');
}

function listPairs(text: string): ReadonlySet<string> {
	return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)));
}

/** How alike two lines are, from 0 to 1: by the pairs of letters that they share. */
function compare(pairs: ReadonlySet<string>, line: string): number {
	const own = listPairs(line);
	if (pairs.size + own.size === 0) return 0;
	let shared = 0;
	for (const pair of own) if (pairs.has(pair)) shared++;
	return (2 * shared) / (pairs.size + own.size);
}
