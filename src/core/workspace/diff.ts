import { formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';

/** Characters of the two texts together. Longer ones have no diff. */
const longestTexts = 4_000_000;

/** Lines that are looked for one by one. Texts that differ more are shown as replaced. */
const mostEdits = 2_000;

/** A text before and after a change. `undefined`: there is no file. */
export interface TextChange {
	readonly path: string;
	/** Where a moved file was before. */
	readonly from?: string;
	readonly before: string | undefined;
	readonly after: string | undefined;
}

/** Writes a change as `git diff` does. Gives an empty text where nothing changed, and where the texts are too long. */
export function createDiff({ path, from = path, before, after }: TextChange): string {
	if (before === after && from === path) return '';
	const [old, next] = [before ?? '', after ?? ''];
	if (old.length + next.length > longestTexts) return '';
	const patch = structuredPatch('', '', old, next, undefined, undefined, { context: 3, maxEditLength: mostEdits });
	const isCreate = before === undefined;
	const isDelete = after === undefined;
	return formatPatch({
		oldFileName: isCreate ? '/dev/null' : `a/${from}`,
		newFileName: isDelete ? '/dev/null' : `b/${path}`,
		oldHeader: undefined,
		newHeader: undefined,
		hunks: patch?.hunks ?? [replaceAll(old, next)],
		isGit: true,
		isCreate,
		isDelete,
		isRename: from !== path,
	});
}

/** One hunk that takes a whole text out and puts another in. */
function replaceAll(before: string, after: string): StructuredPatchHunk {
	const toLines = (text: string, sign: string): string[] => {
		const lines = text.split('\n').map((line) => `${sign}${line}`);
		return text.endsWith('\n') ? lines.slice(0, -1) : [...lines, '\\ No newline at end of file'];
	};
	const [old, next] = [toLines(before, '-'), toLines(after, '+')];
	const count = (lines: readonly string[]): number => lines.filter((line) => !line.startsWith('\\')).length;
	const lines = [...old, ...next];
	return { oldStart: 1, oldLines: count(old), newStart: 1, newLines: count(next), lines };
}
