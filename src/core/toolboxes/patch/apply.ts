import { findLineEnd, type Line, splitLines } from '../edit/lines.ts';
import { showNearest } from '../edit/nearest.ts';
import { createPatchError, type Hunk, type HunkLine } from './patch.ts';

/**
 * Applies the hunks of one file, one behind the other. Line numbers may be shifted: the lines themselves say where. The
 * line ends of the file are kept. Throws, with the nearest text, for a hunk whose lines are not there.
 */
export function applyHunks(text: string, path: string, hunks: readonly Hunk[]): string {
	const lines = splitLines(text);
	const end = findLineEnd(text);
	const out: string[] = [];
	let done = 0;
	let shift = 0;
	for (const [number, hunk] of hunks.entries()) {
		const old = hunk.lines.filter(({ sign }) => sign !== '+');
		const at = findHunk(lines, hunk, old, done, shift);
		if (at === undefined) throw createMisfit(text, path, number + 1, old);
		if (hunk.near !== undefined && old.length > 0) shift = at + 1 - hunk.near;
		out.push(...lines.slice(done, at).map(toText), ...writeHunk(hunk, lines, at, end));
		done = at + old.length;
	}
	out.push(...lines.slice(done).map(toText));
	// A patch without line numbers cannot say that a file ends without a line end, so it stays as it was.
	const staysOpen = lines.at(-1)?.end === '' && hunks.every(({ near }) => near === undefined);
	return joinLines(out, end, staysOpen);
}

function toText({ text, end }: Line): string {
	return text + end;
}

/** The lines that a hunk leaves. What stays is as it stands in the file. */
function writeHunk({ lines: written }: Hunk, lines: readonly Line[], at: number, end: string): readonly string[] {
	let place = at;
	return written.flatMap(({ sign, text, isOpen }) => {
		if (sign === '+') return [text + (isOpen === true ? '' : end)];
		const line = lines[place++];
		return sign === '-' || line === undefined ? [] : [toText(line)];
	});
}

/** Joins the lines. Only the last may have no end. */
function joinLines(pieces: readonly string[], end: string, isOpen: boolean): string {
	const last = pieces.length - 1;
	const joined = pieces.map((piece, at) => (at < last && !piece.endsWith('\n') ? piece + end : piece)).join('');
	return isOpen && joined.endsWith(end) ? joined.slice(0, -end.length) : joined;
}

/** The place where a hunk begins: exactly, else but for blanks at the ends of lines, else but for those around them. */
function findHunk(
	lines: readonly Line[],
	hunk: Hunk,
	old: readonly HunkLine[],
	from: number,
	shift: number,
): number | undefined {
	const { near, headings = [], isLast = false } = hunk;
	const start = findHeading(lines, headings, from);
	if (start === undefined) return undefined;
	if (old.length === 0) {
		if (near === undefined) return headings.length > 0 ? start : lines.length;
		return Math.max(from, Math.min(near - 1 + shift, lines.length));
	}
	const wanted = near === undefined ? start : Math.max(from, near - 1 + shift);
	for (const fold of [keep, trimEnd, trim]) {
		const keys = old.map(({ text }) => fold(text));
		const fits = (at: number): boolean => keys.every((key, offset) => key === fold(lines[at + offset]?.text ?? '\0'));
		const last = lines.length - old.length;
		if (isLast && last >= start && fits(last)) return last;
		const places = Array.from({ length: Math.max(0, last - start + 1) }, (_, offset) => start + offset).filter(fits);
		if (places.length === 0) continue;
		return places.reduce((best, at) => (Math.abs(at - wanted) < Math.abs(best - wanted) ? at : best));
	}
	return undefined;
}

/** The place behind the headings of a hunk. */
function findHeading(lines: readonly Line[], headings: readonly string[], from: number): number | undefined {
	let at = from;
	for (const heading of headings) {
		const found = lines.findIndex(({ text }, place) => place >= at && text.trim() === heading.trim());
		const loose = found === -1 ? lines.findIndex(({ text }, place) => place >= at && text.includes(heading)) : found;
		if (loose === -1) return undefined;
		at = loose + 1;
	}
	return at;
}

const keep = (text: string): string => text;
const trimEnd = (text: string): string => text.trimEnd();
const trim = (text: string): string => text.trim();

function createMisfit(text: string, path: string, number: number, old: readonly HunkLine[]) {
	const nearest = showNearest(text, old.map((line) => line.text).join('\n'));
	const shown = nearest === '' ? 'Nothing there is like them: read the file.' : `The nearest text is:\n${nearest}\n`;
	return createPatchError(
		`hunk ${number} of ${path} does not fit: its lines stand nowhere behind the one before. ${shown}`,
	);
}
