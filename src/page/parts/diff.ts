/**
 * A unified diff on the page. In place of git's header, each file has its name, what happens to it, and the numbers of added
 * and removed lines. All else that a diff says is shown as it is.
 */

import { say } from '../../client/say.ts';
import { element } from './element.ts';

const mostLines = 2_000;

/** A file of a diff. `old` or `name` is missing if there is no file before or after. */
interface File {
	readonly old: string | undefined;
	readonly name: string | undefined;
	added: number;
	removed: number;
}

/** `isNamed`: whether the file's name is shown elsewhere. */
export function createDiff(text: string, { isNamed = false }: { readonly isNamed?: boolean } = {}): HTMLElement {
	const rows = readRows(text).filter((row) => !isNamed || typeof row === 'string');
	const shown = rows
		.slice(0, mostLines)
		.map((row) => (typeof row === 'string' ? element('span', toKind(row), `${row}\n`) : createHead(row)));
	const rest = rows.length - shown.length;
	return element(
		'pre',
		'diff',
		...shown,
		...(rest > 0 ? [element('span', 'hunk', say('… {count} more lines', { count: rest }))] : []),
	);
}

function toKind(line: string): string {
	if (/^(?:@@|\\)/.test(line)) return 'hunk';
	return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '';
}

function createHead({ old, name, added, removed }: File): HTMLElement {
	const isMoved = old !== undefined && name !== undefined && old !== name;
	const about = [
		...(old === undefined ? [say('new file')] : []),
		...(name === undefined ? [say('deleted')] : []),
		...(isMoved ? [say('was {path}', { path: old })] : []),
		...(added > 0 ? [`+${added}`] : []),
		...(removed > 0 ? [`−${removed}`] : []),
	];
	const notes = about.map((words) => element('small', '', ` ${words}`));
	return element('span', 'diff-file', element('b', '', name ?? old), ...notes, '\n');
}

/** Reads the files and the lines of a diff, in their order. */
export function readRows(text: string): readonly (File | string)[] {
	const rows: (File | string)[] = [];
	let file: File | undefined;
	// The lines of a hunk that follow, of the text before and after. They may look like a header.
	let [old, next] = [0, 0];
	for (let at = 0; at < text.length; ) {
		const isInHunk = old + next > 0 && ' +-\\\n'.includes(text.charAt(at));
		const head = isInHunk ? undefined : readHead(text, at);
		if (head !== undefined) {
			file = head.file;
			rows.push(file);
			at += head.length;
			continue;
		}
		const end = text.indexOf('\n', at);
		const line = text.slice(at, end === -1 ? text.length : end);
		at += line.length + 1;
		if (isInHunk) {
			if (!/^[+\\]/.test(line)) old -= 1;
			if (!/^[-\\]/.test(line)) next -= 1;
			if (file !== undefined && line.startsWith('+')) file.added += 1;
			if (file !== undefined && line.startsWith('-')) file.removed += 1;
			rows.push(line);
			continue;
		}
		const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
		[old, next] = hunk === null ? [0, 0] : [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
		// A new or a deleted file is one hunk.
		const isWhole = file !== undefined && (file.old === undefined || file.name === undefined);
		if (hunk === null || !isWhole) rows.push(line);
	}
	return rows;
}

/** Git's header of a file. It has other lines too, which are shown: other modes, and files that are no text. */
const header =
	/(?:diff --git a\/(?<a>.+) b\/(?<b>.+)\n)?(?:(?<mode>new|deleted) file mode 100644\n)?(?:similarity index .+\n)?(?:rename from (?<from>.+)\nrename to (?<to>.+)\n)?(?:index .+\n)?(?:--- (?<old>.+)\n\+\+\+ (?<next>.+)(?:\n|$))?/y;

/** Reads a header, unless it contradicts itself. */
function readHead(text: string, at: number): { readonly file: File; readonly length: number } | undefined {
	header.lastIndex = at;
	const found = header.exec(text);
	const { a, b, mode, from, to, old = from && `a/${from}`, next = to && `b/${to}` } = found?.groups ?? {};
	if (found === null || old === undefined || next === undefined) return undefined;
	const file = { old: toPath(old, 'a/'), name: toPath(next, 'b/'), added: 0, removed: 0 };
	const isOne =
		(file.old ?? file.name) !== undefined &&
		(a ?? file.old ?? file.name) === (file.old ?? file.name) &&
		(b ?? file.name ?? file.old) === (file.name ?? file.old) &&
		(from ?? file.old) === file.old &&
		(to ?? file.name) === file.name &&
		(mode !== 'new' || file.old === undefined) &&
		(mode !== 'deleted' || file.name === undefined);
	return isOne ? { file, length: found[0].length } : undefined;
}

/** Returns the path of a name in a header: without a time behind it, and without git's first letter. */
function toPath(name: string, letter: string): string | undefined {
	const path = name.replace(/\t.*/, '');
	if (path === '/dev/null') return undefined;
	return path.startsWith(letter) ? path.slice(letter.length) : path;
}
