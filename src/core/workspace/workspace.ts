/** Facts about a file. */
export interface FileInfo {
	readonly path: string;
	readonly type: 'file';
	/** The size in bytes. */
	readonly size: number;
	readonly mime: string;
	/** The time of the last write, in ISO 8601. */
	readonly modifiedAt: string;
	/** The number of lines. Missing if the file is not text. */
	readonly lines?: number;
	/** A number that changes with every change of the bytes. */
	readonly version: number;
}

/** A folder. It exists as long as it contains a file. */
export interface FolderInfo {
	readonly path: string;
	readonly type: 'folder';
}

/** An entry of a list. */
export interface ListedEntry {
	readonly path: string;
	readonly type: 'file' | 'folder';
	/** The size of a file in bytes. */
	readonly size?: number;
}

export interface ListOptions {
	/** The folder. The default is the root. */
	readonly path?: string;
	/** Whether to list subfolders too. */
	readonly recursive?: boolean;
	/** The most entries. The default is 1,000. */
	readonly limit?: number;
	/** Continues after this path. */
	readonly after?: string;
}

/** Entries sorted by path. */
export interface Listing {
	readonly entries: readonly ListedEntry[];
	/** Whether more entries follow. Continue with `after`, the last path. */
	readonly truncated: boolean;
}

/** A range of bytes. `from` counts from 0, and `to` is not included. */
export interface ByteRange {
	readonly from?: number;
	readonly to?: number;
}

/** A range of lines. Both ends count from 1 and are included. */
export interface LineRange {
	readonly fromLine?: number;
	readonly toLine?: number;
	/** The most bytes. The default is 262,144. Lines over this limit are left out. */
	readonly maxBytes?: number;
}

/** Lines of a text with their line breaks. */
export interface TextLines {
	readonly text: string;
	readonly fromLine: number;
	/** The number of the last line of `text`. */
	readonly toLine: number;
	/** The number of lines of the whole file. */
	readonly lines: number;
	/** Whether the last line is cut, because it is longer than `maxBytes`. */
	readonly isCut: boolean;
}

/** An edit of one file. */
export type Edit =
	| (Expected & { readonly type: 'write'; readonly path: string; readonly content: string | Uint8Array })
	| (Expected & { readonly type: 'delete'; readonly path: string })
	| (Expected & { readonly type: 'move'; readonly from: string; readonly to: string })
	/** Stores a value beside the files. `undefined` removes it. */
	| { readonly type: 'note'; readonly key: string; readonly value: unknown };

interface Expected {
	/** Refuses the change unless the file has this version. `null` requires that there is no file. */
	readonly ifVersion?: number | null;
}

/** The change of a file. */
export interface ChangedFile {
	readonly path: string;
	readonly kind: 'created' | 'changed' | 'deleted' | 'moved';
	/** The earlier path of a moved file. */
	readonly from?: string;
}

/** A file's entry in the journal of a workspace. */
export interface FileChange extends ChangedFile {
	readonly id: string;
	/** The call that made the change. Missing for changes of people. */
	readonly callId?: string;
	/** The time of the change, in ISO 8601. */
	readonly at: string;
	/** A unified diff, if the file was text before and after and is not too long. */
	readonly diff?: string;
}

export interface FileChanges {
	/** The changes. The newest change is first. */
	readonly changes: readonly FileChange[];
	/** The cursor for older changes. Missing at the end. */
	readonly cursor?: string;
}

/**
 * The files of a session (docs/tools.md). Paths are relative to its root, with `/` between names. Throws
 * `invalid_argument` for a path that is not safe, `not_found` for a missing file, and `conflict` for a file that
 * was changed in the meantime. Each error names the path and the remedy.
 */
export interface Workspace {
	list(options?: ListOptions): Promise<Listing>;
	/** Returns a file, a folder, or `undefined`. */
	stat(path: string): Promise<FileInfo | FolderInfo | undefined>;
	/** Returns the bytes of a file, or a range of the bytes. */
	read(path: string, range?: ByteRange): Promise<Uint8Array>;
	/**
	 * Returns lines of a text. `toLine` after the end means the last line. Refuses `fromLine` after the end, and a file
	 * that is not text.
	 */
	readLines(path: string, range?: LineRange): Promise<TextLines>;
	write(path: string, content: string | Uint8Array): Promise<ChangedFile>;
	delete(path: string): Promise<ChangedFile>;
	/** Moves a file. Throws if `to` already has a file. */
	move(from: string, to: string): Promise<ChangedFile>;
	/**
	 * Makes all edits, one after another. If an edit fails, makes no edit.
	 *
	 * @param result the later result of `recall`
	 */
	change(edits: readonly Edit[], result?: unknown): Promise<readonly ChangedFile[]>;
	/** Lists the changes of files. */
	changes(options?: { readonly limit?: number; readonly cursor?: string }): Promise<FileChanges>;
	/**
	 * Undoes the newest steps and returns their changes. A step is all changes of one call. Changes of people and
	 * undos are not steps. Throws `conflict` if one of the files was changed after the step by somebody else.
	 */
	undo(steps?: number): Promise<readonly ChangedFile[]>;
	/** Returns the JSON value of a `note`. */
	readNote(key: string): Promise<unknown>;
	/**
	 * Returns a workspace with the same files for one tool call. All changes of the call are one step. After
	 * `signal` aborts, changes are refused.
	 */
	forCall(callId: string, signal?: Pick<AbortSignal, 'aborted'>): Workspace;
	/**
	 * Returns the `result` of the change that this call made before a crash. A tool calls this function before a
	 * change, so that a repeated call does not change anything twice.
	 */
	recall(): Promise<unknown>;
}
