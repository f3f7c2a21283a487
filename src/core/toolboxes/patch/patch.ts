import { RunletError } from '../../ground/errors.ts';

/** A line of a hunk. */
export interface HunkLine {
	/** A blank: it stays. */
	readonly sign: ' ' | '+' | '-';
	readonly text: string;
	/** Whether no line end follows it. */
	readonly isOpen?: boolean;
}

/** One place of a file that changes. */
export interface Hunk {
	readonly lines: readonly HunkLine[];
	/** The line where it stood when the patch was made, from 1. */
	readonly near?: number;
	/** Lines that stand before it, from outside to inside. */
	readonly headings?: readonly string[];
	/** Whether it stands at the end of the file. */
	readonly isLast?: boolean;
}

/** What a patch does to one file. Several paths: the first one that is there counts. */
export type FilePatch =
	| { readonly type: 'create'; readonly path: string; readonly text: string }
	| { readonly type: 'delete'; readonly paths: readonly string[]; readonly hunks: readonly Hunk[] }
	| {
			readonly type: 'change';
			readonly paths: readonly string[];
			readonly hunks: readonly Hunk[];
			readonly moveTo?: string;
			/** The text of the file, if it may be a new one. */
			readonly newText?: string;
	  };

/** The failure for a patch that cannot be read, or does not fit. */
export function createPatchError(what: string): RunletError {
	return new RunletError('invalid_argument', `patch: ${what} Nothing was changed.`, { field: 'patch' });
}

/** The text of a new file. */
export function joinAdded(lines: readonly HunkLine[]): string {
	return lines.map(({ text, isOpen }) => text + (isOpen ? '' : '\n')).join('');
}
