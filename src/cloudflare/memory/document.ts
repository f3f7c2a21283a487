/** The texts of the tool `memory`, in the words of Anthropic's tool. */
import { RunletError } from '../../core/base/errors.ts';
import type { MemoryRecord } from '../objects/memory/api.ts';

const mostLevels = 2;

/** Shows a text, or a range of its lines, with line numbers. */
export function formatLines(path: string, text: string, [from = 1, to = -1]: readonly number[] = []): string {
	const lines = text.split('\n');
	const end = to === -1 ? lines.length : to;
	if (from < 1 || end < from || end > lines.length)
		throw refuse(
			`Error: Invalid \`view_range\` parameter: [${from}, ${to}]. It should be within the lines of the file: [1, ${lines.length}]`,
		);
	const shown = lines.slice(from - 1, end).map((line, index) => `${String(from + index).padStart(6)}\t${line}`);
	return `Here's the content of ${path} with line numbers:\n${shown.join('\n')}`;
}

/** Lists a folder with sizes. Returns undefined for a folder that does not exist. The root always exists. */
export function formatFolder(path: string, place: string, memories: readonly MemoryRecord[]): string | undefined {
	const prefix = place === '' ? '' : `${place}/`;
	const under = memories.filter((memory) => memory.path.startsWith(prefix));
	if (place !== '' && under.length === 0) return undefined;
	const sizes = new Map<string, number>([['', 0]]);
	for (const memory of under) {
		const names = memory.path.slice(prefix.length).split('/');
		for (let level = 0; level <= Math.min(mostLevels, names.length); level++) {
			const shown = names.slice(0, level).join('/');
			sizes.set(shown, (sizes.get(shown) ?? 0) + memory.text.length);
		}
	}
	const base = path.replace(/\/$/, '');
	const lines = [...sizes].map(([name, size]) => `${formatSize(size)}\t${name === '' ? base : `${base}/${name}`}`);
	return `Here're the files and directories up to ${mostLevels} levels deep in ${base}:\n${lines.join('\n')}`;
}

export function replaceOnce(path: string, text: string, old: string, next: string): string {
	const pieces = old === '' ? [text] : text.split(old);
	if (pieces.length === 1)
		throw refuse(`No replacement was performed, old_str \`${old}\` did not appear verbatim in ${path}.`);
	if (pieces.length > 2) {
		const lines = pieces.slice(0, -1).map(
			(_, index) =>
				pieces
					.slice(0, index + 1)
					.join(old)
					.split('\n').length,
		);
		throw refuse(
			`No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${lines.join(', ')}. Please ensure it is unique`,
		);
	}
	return pieces.join(next);
}

/** Inserts lines after the line with this number. With 0 the lines are inserted at the top. */
export function insertLines(text: string, line: number, more: string): string {
	const lines = text.split('\n');
	const count = text.endsWith('\n') ? lines.length - 1 : lines.length;
	if (!Number.isInteger(line) || line < 0 || line > count)
		throw refuse(
			`Error: Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${count}]`,
		);
	lines.splice(line, 0, ...more.replace(/\n$/, '').split('\n'));
	return lines.join('\n');
}

function formatSize(characters: number): string {
	return characters < 1_024 ? String(characters) : `${(characters / 1_024).toFixed(1)}K`;
}

export function refuse(message: string): RunletError {
	return new RunletError('invalid_argument', message);
}
