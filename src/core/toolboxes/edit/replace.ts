import { createFieldError, type RunletError } from '../../base/errors.ts';
import { findPlaces, type Sequence, toCharacters } from '../../base/find.ts';
import type { StepCounter, Steps } from '../../base/work.ts';
import { findLineEnd, foldBlanks, showLines, showNearest, splitLines, withLineEnds } from './nearest.ts';

interface Replacement {
	readonly oldText: string;
	readonly newText: string;
	/** Whether to replace every match. The default requires a single match. */
	readonly all?: boolean;
}

interface Replaced {
	readonly text: string;
	readonly replaced: number;
}

/** The cost of splitting and folding a line, in steps, without the cost of its characters. */
const perLine = 20;

/** The maximum length of a text after a replacement, in characters. */
const longestText = 8_388_608;

/** The maximum number of places in an error message. */
const shownPlaces = 5;

/**
 * Replaces a piece of a text. Prefers an exact match, else accepts a single match whose blanks differ. Keeps the line
 * breaks of the text. Throws `invalid_argument` if there is no match (and shows the most similar text), if there are
 * several matches, or if nothing changes.
 */
export function* replaceText(text: string, path: string, replacement: Replacement, work: StepCounter): Steps<Replaced> {
	const replaced = yield* replacePlaces(text, path, replacement, work);
	if (replaced.text !== text) return replaced;
	throw createFieldError(
		'invalid_argument',
		'newText',
		`changes nothing, because it is what stands in ${path} already. Line ends stay those of the file.`,
	);
}

function* replacePlaces(
	text: string,
	path: string,
	{ oldText, newText, all = false }: Replacement,
	work: StepCounter,
): Steps<Replaced> {
	if (oldText === '') throw createProblem('missing. Give the text that is replaced');
	const end = findLineEnd(text);
	for (const exact of new Set([oldText, withLineEnds(oldText, end)])) {
		const how = all ? { overlapping: false } : { overlapping: true, most: shownPlaces };
		const { count, first } = yield* findPlaces(toCharacters(text), toCharacters(exact), how, work);
		if (count > 1 && !all)
			throw createProblem(
				`stands at ${count} places of ${path}: ${showPlaces(text, first, count)}\nGive more of the text around the one that is meant, or all: true`,
			);
		if (count > 0) return replaceAt(text, first, { oldText: exact, newText: withLineEnds(newText, end) });
	}
	const { count, first, replaced } = yield* replaceLoosely(text, { oldText, newText, end }, work);
	if (replaced !== undefined) return { text: replaced, replaced: 1 };
	if (count > 0)
		throw createProblem(
			`fits at ${count} places of ${path} if blanks are left aside: ${showPlaces(text, first, count)}\nGive it exactly, or more of the text around it`,
		);
	const nearest = yield* showNearest(text, oldText, work);
	throw createProblem(
		`stands nowhere in ${path}. ${nearest === '' ? 'Nothing there is like it: read the file' : `The nearest text is:\n${nearest}\nGive it exactly as it stands there`}`,
	);
}

function replaceAt(text: string, places: readonly number[], { oldText, newText }: Replacement): Replaced {
	if (text.length + places.length * (newText.length - oldText.length) > longestText)
		throw createProblem(`after this the file would have more than ${longestText} characters. Split it`);
	const pieces: string[] = [];
	let last = 0;
	for (const at of places) {
		pieces.push(text.slice(last, at));
		last = at + oldText.length;
	}
	return { text: [...pieces, text.slice(last)].join(newText), replaced: places.length };
}

/** Replaces the whole lines that equal the old text except for blanks, if there is exactly one match. */
function* replaceLoosely(
	text: string,
	{ oldText, newText, end }: Replacement & { readonly end: '\n' | '\r\n' },
	work: StepCounter,
): Steps<{ readonly count: number; readonly first: readonly number[]; readonly replaced?: string }> {
	const asked = splitLines(oldText);
	const keys = asked.map((line) => foldBlanks(line.text));
	if (keys.every((key) => key === '')) return { count: 0, first: [] };
	const lines = splitLines(text);
	const folded: string[] = [];
	for (const line of lines) {
		folded.push(foldBlanks(line.text));
		if (work.spend(perLine + line.text.length)) yield;
	}
	const how = { overlapping: true, most: shownPlaces };
	const { count, first } = yield* findPlaces(toLines(folded), toLines(keys), how, work);
	const begins = first.map((line) => lines[line]?.at ?? 0);
	const [from = 0] = begins;
	const last = lines[(first[0] ?? 0) + keys.length - 1];
	if (count !== 1 || last === undefined) return { count, first: begins };
	const to = last.at + last.text.length + (asked.at(-1)?.end === '' ? 0 : last.end.length);
	const indented = indentLike(newText, oldText, text.slice(from, to));
	return { count, first: begins, replaced: text.slice(0, from) + withLineEnds(indented, end) + text.slice(to) };
}

/** Indents the new text as deep as the match in the file, if the old text is indented differently. */
function indentLike(newText: string, oldText: string, found: string): string {
	const asked = splitLines(oldText).find(({ text }) => text.trim() !== '');
	const there = splitLines(found).find(({ text }) => text.trim() !== '');
	const [from, to] = [getIndent(asked?.text ?? ''), getIndent(there?.text ?? '')];
	if (from === to) return newText;
	return splitLines(newText)
		.map(
			({ text, end }) => (text.trim() !== '' && text.startsWith(from) ? `${to}${text.slice(from.length)}` : text) + end,
		)
		.join('');
}

function getIndent(line: string): string {
	return line.slice(0, line.length - line.trimStart().length);
}

/** Shows the first line of each place. */
function showPlaces(text: string, places: readonly number[], count: number): string {
	const shown = places.map((from) => showLines(text, text.slice(0, from).split('\n').length, 1));
	return `\n${shown.join('\n')}${count > shown.length ? '\n…' : ''}`;
}

function createProblem(what: string): RunletError {
	return createFieldError('invalid_argument', 'oldText', `${what}.`);
}

function toLines(lines: readonly string[]): Sequence {
	const characters = lines.reduce((sum, { length }) => sum + length, 0);
	return { length: lines.length, at: (index) => lines[index], steps: 2 + characters / (lines.length + 1) / 8 };
}
