import { parsePatch, type StructuredPatch, type StructuredPatchHunk } from 'diff';
import { toMessageText } from '../../ground/errors.ts';
import { createPatchError, type FilePatch, type Hunk, type HunkLine, joinAdded } from './patch.ts';

/** Reads a unified diff, as `git diff` and `diff -u` write it. Prose around it is left aside. */
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
		// The lines that `git format-patch` ends with look like a line that is taken out.
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

/** A name without the prefix that git gives it. */
function stripPrefix(name: string, prefix: string): string {
	return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** The paths that a name may mean. A folder may be named as git's prefix. */
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
