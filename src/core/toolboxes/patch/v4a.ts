import type { RunletError } from '../../ground/errors.ts';
import { createPatchError, type FilePatch, type Hunk, type HunkLine } from './patch.ts';

const begin = '*** Begin Patch';
const end = '*** End Patch';

/** Whether a text is a patch of the V4A form. */
export function isV4a(text: string): boolean {
	return text.split('\n').some((line) => line.trim() === begin);
}

/** Reads a patch of the V4A form: `*** Begin Patch`, files, hunks found by their context, `*** End Patch`. */
export function parseV4a(text: string): readonly FilePatch[] {
	const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
	const from = lines.findIndex((line) => line.trim() === begin) + 1;
	const to = lines.findIndex((line, at) => at >= from && line.trim() === end);
	if (to === -1) throw createPatchError(`it stops midway. End it with ${end}.`);
	const body = lines.slice(from, to);
	const begins = [...body.keys()].filter((at) => fileLine.test(body[at] ?? ''));
	const stray = body.slice(0, begins[0]).find((line) => line.trim() !== '');
	if (stray !== undefined) throw createStray(stray);
	if (begins.length === 0) throw createPatchError('no file is in it. Add *** Update File: PATH.');
	return begins.map((at, n) => readFile(body[at] ?? '', body.slice(at + 1, begins[n + 1])));
}

/** The line with which a file begins. */
const fileLine = /^\*\*\* (Add|Update|Delete) File: (.*)$/;

function createStray(line: string): RunletError {
	return createPatchError(`this line begins no file: ${line.slice(0, 80)}. Write *** Update File: PATH.`);
}

function readFile(header: string, body: readonly string[]): FilePatch {
	const [, kind, name = ''] = fileLine.exec(header) ?? [];
	const path = name.trim();
	if (kind === 'Add') return { type: 'create', path, text: readAdded(path, body) };
	if (kind === 'Delete') {
		const stray = body.find((line) => line.trim() !== '');
		if (stray !== undefined) throw createPatchError(`${path} is deleted, and a line follows: ${stray.slice(0, 80)}.`);
		return { type: 'delete', paths: [path], hunks: [] };
	}
	if (kind !== 'Update') throw createStray(header);
	const [first = ''] = body;
	const moveTo = first.startsWith('*** Move to: ') ? first.slice(13).trim() : undefined;
	const hunks = readHunks(path, moveTo === undefined ? body : body.slice(1));
	if (hunks.length === 0 && moveTo === undefined) throw createPatchError(`${path} has no lines that change.`);
	return { type: 'change', paths: [path], hunks, moveTo };
}

function readAdded(path: string, body: readonly string[]): string {
	const lines = dropBlankEnd(body);
	const wrong = lines.find((line) => !line.startsWith('+'));
	if (wrong !== undefined)
		throw createPatchError(`${path} is new, so every line begins with +. This one does not: ${wrong.slice(0, 80)}.`);
	return lines.map((line) => `${line.slice(1)}\n`).join('');
}

function readHunks(path: string, body: readonly string[]): readonly Hunk[] {
	const hunks: Hunk[] = [];
	let headings: string[] = [];
	let lines: HunkLine[] = [];
	const close = (isLast: boolean): void => {
		if (lines.length > 0) hunks.push({ lines, headings, isLast });
		else if (headings.length > 0) throw createPatchError(`${path}: no lines follow @@ ${headings.at(-1)}.`);
		[headings, lines] = [[], []];
	};
	for (const line of dropBlankEnd(body)) {
		if (line.trim() === '*** End of File') close(true);
		else if (line.startsWith('@@')) {
			if (lines.length > 0) close(false);
			const heading = line.slice(2).trim().replace(/@@$/, '').trim();
			// The line numbers of a unified diff mean nothing here.
			if (heading !== '' && !/^-\d+(?:,\d+)? \+\d+/.test(heading)) headings.push(heading);
		} else if (line === '') lines.push({ sign: ' ', text: '' });
		else if (line.startsWith(' ')) lines.push({ sign: ' ', text: line.slice(1) });
		else if (line.startsWith('+')) lines.push({ sign: '+', text: line.slice(1) });
		else if (line.startsWith('-')) lines.push({ sign: '-', text: line.slice(1) });
		else throw createPatchError(`${path}: a line begins with none of + - and blank: ${line.slice(0, 80)}.`);
	}
	close(false);
	return hunks;
}

/** Blank lines between the files of a patch are no lines of a file. */
function dropBlankEnd(lines: readonly string[]): readonly string[] {
	return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1);
}
