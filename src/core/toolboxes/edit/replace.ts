import { RunletError } from '../../ground/errors.ts';
import { findLineEnd, foldBlanks, splitLines, withLineEnds } from './lines.ts';
import { showLines, showNearest } from './nearest.ts';

/** What is replaced by what. */
export interface Replacement {
	readonly oldText: string;
	readonly newText: string;
	/** Replaces every place, not the only one. */
	readonly all?: boolean;
}

/** A text after a replacement. */
export interface Replaced {
	readonly text: string;
	/** How many places were replaced. */
	readonly replaced: number;
}

/**
 * Replaces a piece of a text. An exact match comes before one whose blanks differ, which has to be the only one. The line
 * ends of the text are kept. Throws `invalid_argument`, with the nearest text, if there is no such place or more than one.
 */
export function replaceText(text: string, path: string, { oldText, newText, all = false }: Replacement): Replaced {
	if (oldText === '') throw createProblem('missing. Give the text that is replaced');
	const end = findLineEnd(text);
	const exact = [oldText, withLineEnds(oldText, end)].find((one) => text.includes(one));
	if (exact !== undefined)
		return replaceExact(text, path, { oldText: exact, newText: withLineEnds(newText, end), all });
	const places = findLoosely(text, oldText);
	const [place] = places;
	if (place !== undefined && places.length === 1) {
		const indented = indentLike(newText, oldText, text.slice(place.from, place.to));
		return { text: text.slice(0, place.from) + withLineEnds(indented, end) + text.slice(place.to), replaced: 1 };
	}
	if (place !== undefined)
		throw createProblem(
			`fits at ${places.length} places of ${path} if blanks are left aside: ${showPlaces(text, places)}\nGive it exactly, or more of the text around it`,
		);
	const nearest = showNearest(text, oldText);
	throw createProblem(
		`stands nowhere in ${path}. ${nearest === '' ? 'Nothing there is like it: read the file' : `The nearest text is:\n${nearest}\nGive it exactly as it stands there`}`,
	);
}

function replaceExact(text: string, path: string, { oldText, newText, all }: Required<Replacement>): Replaced {
	if (all) {
		const pieces = text.split(oldText);
		return { text: pieces.join(newText), replaced: pieces.length - 1 };
	}
	const at = text.indexOf(oldText);
	if (text.includes(oldText, at + 1)) {
		const places: Place[] = [];
		for (let from = at; from !== -1; from = text.indexOf(oldText, from + 1)) places.push({ from, to: from });
		throw createProblem(
			`stands at ${places.length} places of ${path}: ${showPlaces(text, places)}\nGive more of the text around the one that is meant, or all: true`,
		);
	}
	return { text: text.slice(0, at) + newText + text.slice(at + oldText.length), replaced: 1 };
}

/** A piece of a text. */
interface Place {
	readonly from: number;
	readonly to: number;
}

/** Finds whole lines that are those of `wanted`, but for blanks. */
function findLoosely(text: string, wanted: string): readonly Place[] {
	const asked = splitLines(wanted);
	const keys = asked.map((line) => foldBlanks(line.text));
	if (keys.every((key) => key === '')) return [];
	const lines = splitLines(text);
	const folded = lines.map((line) => foldBlanks(line.text));
	const places: Place[] = [];
	for (let at = 0; at + keys.length <= lines.length; at++) {
		if (!keys.every((key, offset) => folded[at + offset] === key)) continue;
		const [first, last] = [lines[at], lines[at + keys.length - 1]];
		if (first === undefined || last === undefined) continue;
		const withEnd = asked.at(-1)?.end === '' ? 0 : last.end.length;
		places.push({ from: first.at, to: last.at + last.text.length + withEnd });
	}
	return places;
}

/** The new text, indented as the old one is in the file. */
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

/** The first lines of some places. */
function showPlaces(text: string, places: readonly Place[]): string {
	const shown = places.slice(0, 5).map(({ from }) => showLines(text, text.slice(0, from).split('\n').length, 1));
	return `\n${shown.join('\n')}${places.length > shown.length ? '\n…' : ''}`;
}

function createProblem(what: string): RunletError {
	return new RunletError('invalid_argument', `oldText: ${what}.`, { field: 'oldText' });
}
