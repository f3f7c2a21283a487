import { parsePatch, type StructuredPatch, type StructuredPatchHunk } from 'diff';
import { createFieldError, type RunletError, toMessageText } from '../../base/errors.ts';

export interface HunkLine {
	/** The sign of the line. A blank is the sign of an unchanged line. */
	readonly sign: ' ' | '+' | '-';
	readonly text: string;
	/** Whether the line has no line break at its end. */
	readonly isOpen?: boolean;
}

/** The change at one place of a file. */
export interface Hunk {
	readonly lines: readonly HunkLine[];
	/** The line number in the original file, counted from 1. */
	readonly near?: number;
	/** Lines above the hunk, such as a class and then its method. The outermost line is first. */
	readonly headings?: readonly string[];
	/** Whether the hunk is at the end of the file. */
	readonly isLast?: boolean;
}

/** The change of one file, at the first path of `paths` that exists. */
export type FilePatch =
	| { readonly type: 'create'; readonly path: string; readonly text: string }
	| { readonly type: 'delete'; readonly paths: readonly string[]; readonly hunks: readonly Hunk[] }
	| {
			readonly type: 'change';
			readonly paths: readonly string[];
			readonly hunks: readonly Hunk[];
			readonly moveTo?: string;
			/** The text of a new file. Present only if the patch can create the file. */
			readonly newText?: string;
	  };

export function createPatchError(what: string): RunletError {
	return createFieldError('invalid_argument', 'patch', `${what} Nothing was changed.`);
}

function joinAdded(lines: readonly HunkLine[]): string {
	return lines.map(({ text, isOpen }) => text + (isOpen ? '' : '\n')).join('');
}

/** Reads a unified diff from `git diff` or `diff -u`. Ignores the prose around the diff. */
export function parseUnified(text: string): readonly FilePatch[] {
	if (/^(?:GIT binary patch|Binary files )/m.test(text))
		throw createPatchError('it changes a binary file. Use write_file with base64 instead.');
	const files = readFiles(text).filter(({ hunks, isRename, isCreate, isDelete }) => {
		return hunks.length > 0 || isRename || isCreate || isDelete;
	});
	if (files.length === 0)
		throw createPatchError('no change is in it. Write a unified diff, with ---, +++ and @@ lines, or *** Begin Patch.');
	return files.map(toFilePatch);
}

function readFiles(text: string): readonly StructuredPatch[] {
	try {
		// Drop the last lines of `git format-patch`, because they look like a removed line.
		return parsePatch(text.replaceAll('\r\n', '\n').replace(/\n-- \n[^\n]*\n*$/, '\n'));
	} catch (error) {
		throw createPatchError(`${toMessageText(error)}. Write every hunk whole, with the numbers of its lines in @@.`);
	}
}

const nowhere = '/dev/null';

function toFilePatch(file: StructuredPatch): FilePatch {
	const { oldFileName: before, newFileName: after, isRename, isCopy } = file;
	if (before === undefined || after === undefined)
		throw createPatchError('a hunk says no file. Put --- and +++ lines in front of it.');
	if (isCopy) throw createPatchError(`it copies ${before}. Make the new file by its text instead.`);
	const hunks = file.hunks.map(toHunk);
	const isCreate = file.isCreate === true || before === nowhere;
	if (isCreate) return { type: 'create', path: stripPrefix(after, 'b/'), text: readNewText(hunks) };
	if (file.isDelete === true || after === nowhere) return { type: 'delete', paths: listPaths(before, 'a/'), hunks };
	const paths = listPaths(before, 'a/');
	const isMoved = isRename === true || stripPrefix(before, 'a/') !== stripPrefix(after, 'b/');
	if (isMoved) return { type: 'change', paths, hunks, moveTo: stripPrefix(after, 'b/') };
	const isNew = file.hunks.every(({ oldLines }) => oldLines === 0) && file.hunks[0]?.oldStart === 1;
	return { type: 'change', paths, hunks, ...(isNew && { newText: readNewText(hunks) }) };
}

function readNewText(hunks: readonly Hunk[]): string {
	const lines = hunks.flatMap((hunk) => hunk.lines);
	if (lines.some(({ sign }) => sign !== '+')) throw createPatchError('a new file has lines that are not added.');
	return joinAdded(lines);
}

/** Removes the prefix that git adds to a file name. */
function stripPrefix(name: string, prefix: string): string {
	return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** Lists the paths that a name can mean. A folder can have the same name as a prefix of git, such as `a/`. */
function listPaths(name: string, prefix: string): readonly string[] {
	const stripped = stripPrefix(name, prefix);
	return stripped === name ? [name] : [stripped, name];
}

function toHunk({ lines, oldStart }: StructuredPatchHunk): Hunk {
	if (!Number.isInteger(oldStart))
		throw createPatchError('a hunk has no line numbers. Write @@ -1,3 +1,4 @@, or use *** Begin Patch.');
	const read: HunkLine[] = [];
	for (const line of lines) {
		const last = read.at(-1);
		if (line.startsWith('\\')) {
			if (last !== undefined) read[read.length - 1] = { ...last, isOpen: true };
			continue;
		}
		const sign = line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' ';
		read.push({ sign, text: line.slice(1) });
	}
	return { lines: read, near: oldStart };
}

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

/** The line with which the changes of a file begin. */
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
			// The V4A form ignores the line numbers of a unified diff.
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

/** Drops the blank lines between files, because they belong to no file. */
function dropBlankEnd(lines: readonly string[]): readonly string[] {
	return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1);
}
