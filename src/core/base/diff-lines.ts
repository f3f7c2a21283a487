/** The lines of a unified diff, for readers that show them in colours. */

export type DiffLineKind = 'head' | 'added' | 'removed' | 'other';

/** Returns the kind of each line. A line of a hunk may look like a header, but is none. */
export function toDiffLineKinds(lines: readonly string[]): DiffLineKind[] {
	let isInHunk = false;
	return lines.map((line) => {
		isInHunk = line.startsWith('@@') || (isInHunk && /^(?:[ +\\-]|$)/.test(line));
		if (line.startsWith('@@') || (!isInHunk && /^(?:\+\+\+|---)/.test(line))) return 'head';
		return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'other';
	});
}
