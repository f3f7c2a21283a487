import { formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';

/** The maximum length of the two texts together, in characters. */
const longestTexts = 4_000_000;

/** The maximum number of lines in the two texts together. */
const mostLines = 200_000;

/** The maximum number of edited lines in a diff. If the texts differ more, the diff replaces the whole text. */
const mostEdits = 2_000;

/** A text before and after a change. `undefined` means that there is no file. */
export interface TextChange {
	readonly path: string;
	/** The earlier path of a moved file. */
	readonly from?: string;
	readonly before: string | undefined;
	readonly after: string | undefined;
}

/** Writes a change in the format of `git diff`, with pauses. Returns an empty text for no change or for long texts. */
export async function createDiff({ path, from = path, before, after }: TextChange): Promise<string> {
	if (before === after && from === path) return '';
	const [old, next] = [before ?? '', after ?? ''];
	if (old.length + next.length > longestTexts || countLines(old) + countLines(next) > mostLines) return '';
	const patch = await new Promise<ReturnType<typeof structuredPatch> | undefined>((callback) => {
		structuredPatch('', '', old, next, undefined, undefined, { context: 3, maxEditLength: mostEdits, callback });
	});
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

function countLines(text: string): number {
	let lines = 1;
	for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
	return lines;
}

/** Creates one hunk that replaces the whole text. */
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
