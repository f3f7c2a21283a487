import * as v from 'valibot';
import { RunletError } from '../../base/errors.ts';
import { type StepCounter, type Steps, Work } from '../../base/work.ts';
import { define } from '../../tool/define.ts';
import type { Tool } from '../../tool/index.ts';
import { addVersions, Draft } from '../edit/draft.ts';
import { findLineEnd, type Line, showNearest, splitLines } from '../edit/nearest.ts';
import { changeOnce, fileChanger, getWorkspace, joinPaths } from '../files.ts';
import { createPatchError, type FilePatch, type Hunk, type HunkLine, isV4a, parseUnified, parseV4a } from './parse.ts';

const mostFiles = 500;
/** The cost of parsing a character of a patch, in steps. */
const perCharacter = 10;

export function applyPatchTool(): Tool {
	return define({
		name: 'apply_patch',
		description:
			'Change several text files by a patch: a unified diff, or *** Begin Patch … *** End Patch. All of it is applied, or nothing.',
		inputSchema: v.object({ patch: v.pipe(v.string(), v.maxLength(500_000), v.description('The patch')) }),
		passInput: true,
		...fileChanger,
		onRequest: ({ patch }) => ['Applying a patch', `${patch.split('\n').length} lines`],
		onResult: (_, { changed }) => ['Changed', joinPaths(changed)],
		fn: async ({ patch }, context) => {
			const workspace = getWorkspace(context);
			return changeOnce(workspace, async () => {
				const draft = new Draft(workspace);
				const work = new Work({ signal: context.signal, field: 'patch', remedy: 'Apply fewer hunks at a time.' });
				const files = isV4a(patch) ? parseV4a(patch) : parseUnified(patch);
				await work.add(perCharacter * patch.length);
				if (files.length > mostFiles)
					throw createPatchError(`it changes ${files.length} files, and at most ${mostFiles} at a time. Split it.`);
				for (const file of files) await draftFile(draft, file, work);
				const result = { changed: draft.list().map(({ path, kind }) => ({ path, kind })) };
				await workspace.change(addVersions(draft.edits, draft.versions), result);
				return result;
			});
		},
	});
}

async function draftFile(draft: Draft, file: FilePatch, work: Work): Promise<void> {
	const apply = async (path: string, hunks: readonly Hunk[]): Promise<string> =>
		work.do(applyHunks(await draft.read(path), path, hunks, work));
	try {
		if (file.type === 'create') return await draft.create(file.path, file.text);
		const path = await findPath(draft, file.paths);
		if (file.type === 'delete') {
			if (file.hunks.length > 0 && (await apply(path, file.hunks)) !== '')
				throw createPatchError(`${path} is deleted, but has more lines than the patch takes out.`);
			return await draft.delete(path);
		}
		if (file.newText !== undefined && !(await draft.has(path))) return await draft.create(path, file.newText);
		const { hunks, moveTo } = file;
		if (hunks.length > 0) {
			const after = await apply(path, hunks);
			if (after === (await draft.read(path)) && (moveTo === undefined || moveTo === path))
				throw createPatchError(
					`${path} stays as it is: the patch changes no text of it. Line ends stay those of the file; write_file changes them.`,
				);
			await draft.write(path, after);
		}
		if (moveTo !== undefined && moveTo !== path) await draft.move(path, moveTo);
	} catch (error) {
		if (!(error instanceof RunletError) || work.isOver || error.message.startsWith('patch: ')) throw error;
		throw createPatchError(error.message);
	}
}

/** Returns the first path that exists. If none exists, returns the first path. */
async function findPath(draft: Draft, paths: readonly string[]): Promise<string> {
	for (const path of paths) if (await draft.has(path)) return path;
	return paths[0] ?? '';
}

/** Applies the hunks of one file by their lines, even if line numbers have shifted. Keeps the file's line breaks. */
function* applyHunks(text: string, path: string, hunks: readonly Hunk[], work: StepCounter): Steps<string> {
	const lines = splitLines(text);
	if (work.spend(text.length + perLine * lines.length)) yield;
	const index = new LineIndex(lines);
	const end = findLineEnd(text);
	const out: string[] = [];
	const keepTo = (to: number): void => {
		for (let at = done; at < to; at++) out.push(toText(lines[at]));
	};
	let done = 0;
	let shift = 0;
	for (const [number, hunk] of hunks.entries()) {
		const old = hunk.lines.filter(({ sign }) => sign !== '+');
		const at = yield* findHunk(index, hunk, old, { from: done, shift }, work);
		const expected = Math.max(done, (hunk.near ?? 1) - 1 + shift);
		if (at === undefined) throw yield* createMisfit(text, path, { number: number + 1, old, expected }, work);
		if (hunk.near !== undefined && old.length > 0) shift = at + 1 - hunk.near;
		keepTo(at);
		for (const line of writeHunk(hunk, lines, at, end)) out.push(line);
		done = at + old.length;
	}
	keepTo(lines.length);
	// A patch without line numbers cannot add or remove the line break at the end of the file.
	const staysOpen = lines.at(-1)?.end === '' && hunks.every(({ near }) => near === undefined);
	return joinLines(out, end, staysOpen);
}

/** The cost of splitting, indexing and writing a line, in steps, without the cost of its characters. */
const perLine = 40;

function toText(line: Line | undefined): string {
	return line === undefined ? '' : line.text + line.end;
}

/** Returns the new lines of a hunk. Unchanged lines are copied from the file. */
function writeHunk({ lines: written }: Hunk, lines: readonly Line[], at: number, end: string): readonly string[] {
	let place = at;
	return written.flatMap(({ sign, text, isOpen }) => {
		if (sign === '+') return [text + (isOpen === true ? '' : end)];
		const line = lines[place++];
		return sign === '-' || line === undefined ? [] : [toText(line)];
	});
}

/** Joins the lines. Only the last line can lack a line break. */
function joinLines(pieces: readonly string[], end: string, isOpen: boolean): string {
	const last = pieces.length - 1;
	const joined = pieces.map((piece, at) => (at < last && !piece.endsWith('\n') ? piece + end : piece)).join('');
	return isOpen && joined.endsWith(end) ? joined.slice(0, -end.length) : joined;
}

/** Finds the nearest place where a hunk matches: exactly, else without trailing blanks, else without outer blanks. */
function* findHunk(
	index: LineIndex,
	hunk: Hunk,
	old: readonly HunkLine[],
	{ from, shift }: { readonly from: number; readonly shift: number },
	work: StepCounter,
): Steps<number | undefined> {
	const { lines } = index;
	const { near, headings = [], isLast = false } = hunk;
	const start = yield* findHeading(index, headings, from, work);
	if (start === undefined) return undefined;
	if (old.length === 0) {
		if (near === undefined) return headings.length > 0 ? start : lines.length;
		return Math.max(from, Math.min(near - 1 + shift, lines.length));
	}
	const wanted = near === undefined ? start : Math.max(from, near - 1 + shift);
	const last = lines.length - old.length;
	for (const fold of [keep, trimEnd, trim]) {
		const keys = old.map(({ text }) => fold(text));
		const fits = (at: number): boolean => keys.every((key, offset) => key === fold(lines[at + offset]?.text ?? '\0'));
		const perTry = keys.reduce((sum, key) => sum + 5 + key.length / 8, 0);
		// Most hunks are at their original line number.
		for (const at of isLast ? [last, wanted] : [wanted]) if (at >= start && at <= last && fits(at)) return at;
		const { offset, places } = index.findRarest(fold, keys);
		let best: number | undefined;
		for (const place of places) {
			const at = place - offset;
			if (work.spend(perTry)) yield;
			if (at < start || at > last || !fits(at)) continue;
			if (best === undefined || Math.abs(at - wanted) < Math.abs(best - wanted)) best = at;
		}
		if (best !== undefined) return best;
	}
	return undefined;
}

/** The lines of a file, with an index that finds lines by their text. */
class LineIndex {
	readonly lines: readonly Line[];
	readonly #places = new Map<Fold, ReadonlyMap<string, readonly number[]>>();

	constructor(lines: readonly Line[]) {
		this.lines = lines;
	}

	/** Finds the key that occurs at the fewest places. */
	findRarest(fold: Fold, keys: readonly string[]): { readonly offset: number; readonly places: readonly number[] } {
		let best: { readonly offset: number; readonly places: readonly number[] } | undefined;
		for (const [offset, key] of keys.entries()) {
			const places = this.find(fold, key);
			if (best === undefined || places.length < best.places.length) best = { offset, places };
		}
		return best ?? { offset: 0, places: [] };
	}

	/** Returns the places of a text in order. */
	find(fold: Fold, key: string): readonly number[] {
		const known = this.#places.get(fold) ?? this.#read(fold);
		this.#places.set(fold, known);
		return known.get(key) ?? [];
	}

	#read(fold: Fold): ReadonlyMap<string, readonly number[]> {
		const places = new Map<string, number[]>();
		for (const [at, { text }] of this.lines.entries()) {
			const key = fold(text);
			const before = places.get(key);
			if (before === undefined) places.set(key, [at]);
			else before.push(at);
		}
		return places;
	}
}

/** The maximum characters of a heading to search for, and of a line to search in. */
const [longestHeading, longestHeaded] = [200, 1_000];

/** Finds the place that follows the headings of a hunk. */
function* findHeading(
	index: LineIndex,
	headings: readonly string[],
	from: number,
	work: StepCounter,
): Steps<number | undefined> {
	const { lines } = index;
	let at = from;
	for (const heading of headings) {
		let found = findFrom(index.find(trim, heading.trim()), at);
		for (let place = at; found === undefined && heading.length <= longestHeading && place < lines.length; place++) {
			const text = lines[place]?.text.slice(0, longestHeaded) ?? '';
			if (work.spend(5 + text.length / 4)) yield;
			if (text.includes(heading)) found = place;
		}
		if (found === undefined) return undefined;
		at = found + 1;
	}
	return at;
}

/** Returns the first of the sorted places that is at or after a given place. */
function findFrom(places: readonly number[], from: number): number | undefined {
	let [low, high] = [0, places.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((places[middle] ?? 0) < from) low = middle + 1;
		else high = middle;
	}
	return places[low];
}

type Fold = (text: string) => string;

const keep: Fold = (text) => text;
const trimEnd: Fold = (text) => text.trimEnd();
const trim: Fold = (text) => text.trim();

/** A hunk that matches no place, and the index of the line where it was expected. */
interface Misfit {
	readonly number: number;
	readonly old: readonly HunkLine[];
	readonly expected: number;
}

function* createMisfit(
	text: string,
	path: string,
	{ number, old, expected }: Misfit,
	work: StepCounter,
): Steps<RunletError> {
	const nearest = yield* showNearest(text, old.map((line) => line.text).join('\n'), work, expected);
	const shown = nearest === '' ? 'Nothing there is like them: read the file.' : `The nearest text is:\n${nearest}\n`;
	return createPatchError(
		`hunk ${number} of ${path} does not fit: its lines stand nowhere behind the one before. ${shown}`,
	);
}
