/**
 * A unified diff on the page. In place of git's header, each file has its name, what happens to it, and the numbers of added
 * and removed lines. All other lines are shown as they are.
 */

import { say } from '../../client/say.ts';
import { button, element } from './element.ts';
import { showSigns } from './signs.ts';

/** The lines that are shown before a click. */
const mostLines = 2_000;
/** The characters of the longest head that sticks to the top. A longer head would cover the lines below it. */
const longestHead = 80;

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
	const root = element('pre', 'diff');
	let place: HTMLElement = root;
	const show = (shown: typeof rows) => {
		for (const row of shown) {
			if (typeof row !== 'string') {
				place = element('div', '', createHead(row));
				root.append(place);
			} else place.append(element('span', toKind(row), `${showSigns(row)}\n`));
		}
	};
	show(rows.slice(0, mostLines));
	const rest = rows.slice(mostLines);
	const more = button('action', say('… {count} more lines', { count: rest.length }), () => {
		more.remove();
		show(rest);
	});
	if (rest.length > 0) root.append(more);
	return root;
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
	const notes = about.map((words) => element('small', '', ` ${showSigns(words)}`));
	const head = element('span', 'diff-file', element('b', '', showSigns(name ?? old ?? '')), ...notes, '\n');
	if (head.innerText.length > longestHead) head.classList.add('long');
	return head;
}

/**
 * Reads the files and the lines of a diff, in their order. Programs read a malformed hunk differently. So from a malformed hunk
 * on, this function returns only lines, and the hunk's file has no numbers.
 */
export function readRows(text: string): readonly (File | string)[] {
	const rows: (File | string)[] = [];
	let file: File | undefined;
	let isSure = true;
	// How many lines of the hunk follow, of the text before and after. Such a line may look like a header.
	let [old, next] = [0, 0];
	for (let at = 0; at < text.length; ) {
		const isInHunk = isSure && (old > 0 || next > 0);
		const head = isInHunk || !isSure ? undefined : readHead(text, at);
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
			isSure = /^(?:[ +\\-]|\r?$)/.test(line);
			if (!/^[+\\]/.test(line)) old -= 1;
			if (!/^[-\\]/.test(line)) next -= 1;
			if (file && line.startsWith('+')) file.added += 1;
			if (file && line.startsWith('-')) file.removed += 1;
		} else if (isSure && line.startsWith('@@')) {
			const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
			isSure = hunk !== null;
			[old, next] = [Number(hunk?.[1] ?? 1), Number(hunk?.[2] ?? 1)];
			// The only hunk of a new or deleted file is the whole file, so its numbers say nothing.
			const isWhole = /^@@ -(?:0,0 \+1(?:,\d+)?|1(?:,\d+)? \+0,0) @@$/.test(line);
			if (isWhole && file && rows.at(-1) === file && !(file.old && file.name)) continue;
		}
		isSure &&= old >= 0 && next >= 0;
		rows.push(line);
	}
	if (file && (!isSure || old > 0 || next > 0)) [file.added, file.removed] = [0, 0];
	return rows;
}

/** The usual header of a file. Other lines of a header, such as an executable mode, do not match, so they are shown. */
const header =
	/(?:diff --git (.+)\n(?:(new|deleted) file mode 100644\n)?(?:similarity index \d+%\n)?(?:rename from (.+)\nrename to (.+)\n)?(?:index [\da-f]+\.\.[\da-f]+(?: 100644)?\n)?)?(?:--- (.+)\n\+\+\+ (.+)\n(?=@@ ))?/y;

/** Reads a header, unless it contradicts itself. */
function readHead(text: string, at: number): { readonly file: File; readonly length: number } | undefined {
	header.lastIndex = at;
	const [all, git, mode, from, to, before, after] = header.exec(text) ?? [''];
	// In a quoted name, git's letter follows the quote.
	const old = before?.replace(time, '') ?? from?.replace(/^"?/, '$&a/');
	const next = after?.replace(time, '') ?? to?.replace(/^"?/, '$&b/');
	if (old === undefined || next === undefined) return undefined;
	const file = { old: toPath(old, 'a/'), name: toPath(next, 'b/'), added: 0, removed: 0 };
	const [first, second] = [file.old === undefined ? next : old, file.name === undefined ? old : next];
	const names = `${first.replace(/^("?)b/, '$1a')} ${second.replace(/^("?)a/, '$1b')}`;
	const isOne =
		(file.old ?? file.name) !== undefined &&
		![file.old, file.name].includes('') &&
		(git ?? names) === names &&
		(mode === undefined || (mode === 'new' ? file.old : file.name) === undefined);
	return isOne ? { file, length: all.length } : undefined;
}

const time = /\t[\d :.+-]*$/;

/** Returns the path of a name in a header, without git's letter. Returns `''` for a name that git does not write. */
function toPath(name: string, letter: string): string | undefined {
	if (name === '/dev/null') return undefined;
	if (!/^(?:[^"\\\t]+|"(?:[^"\\\t]|\\["\\]|\\[23]\d\d)+")$/.test(name)) return '';
	// Git quotes a name that has a quote or a letter such as `ä`, and writes the bytes of such letters.
	const path = name
		.replace(/^"|"$/g, '')
		.replace(
			/\\(["\\])|(?:\\\d+)+/g,
			(bytes: string, sign?: string) => sign ?? decodeBytes(bytes.slice(1).split('\\')),
		);
	return path.startsWith(letter) ? path.slice(2) : path;
}

function decodeBytes(octals: readonly string[]): string {
	return new TextDecoder().decode(Uint8Array.from(octals, (octal) => Number.parseInt(octal, 8)));
}
