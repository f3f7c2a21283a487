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
	/** A number that changes whenever the bytes change. */
	readonly version: number;
}

/** A folder. It exists as long as it contains at least one file. */
export interface FolderInfo {
	readonly path: string;
	readonly type: 'folder';
}

/** An entry of a listing. */
export interface ListedEntry {
	readonly path: string;
	readonly type: 'file' | 'folder';
	/** The size in bytes. Missing for a folder. */
	readonly size?: number;
}

export interface ListOptions {
	/** The folder to list. The default is the root. */
	readonly path?: string;
	/** Whether to list the contents of subfolders too. */
	readonly recursive?: boolean;
	/** The maximum number of entries. The default is 1,000. */
	readonly limit?: number;
	/** Lists only the entries after this path. */
	readonly after?: string;
}

/** The entries, sorted by path. */
export interface Listing {
	readonly entries: readonly ListedEntry[];
	/** Whether more entries follow. To continue, pass the last path as `after`. */
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
	/** The maximum number of bytes. The default is 262,144. Lines beyond this limit are left out. */
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
	/** Whether the last line was cut because it is longer than `maxBytes`. */
	readonly isCut: boolean;
}

/** An edit of one file. */
export type Edit =
	| (Expected & { readonly type: 'write'; readonly path: string; readonly content: string | Uint8Array })
	| (Expected & { readonly type: 'delete'; readonly path: string })
	| (Expected & { readonly type: 'move'; readonly from: string; readonly to: string })
	/** Stores a value beside the files. `undefined` removes the value. */
	| { readonly type: 'note'; readonly key: string; readonly value: unknown };

interface Expected {
	/** Makes the change only if the file has this version. `null` requires that there is no file. */
	readonly ifVersion?: number | null;
}

/** How a file was changed. */
export interface ChangedFile {
	readonly path: string;
	readonly kind: 'created' | 'changed' | 'deleted' | 'moved';
	/** The previous path of a moved file. */
	readonly from?: string;
}

/** The change of one file in the journal of a workspace. */
export interface FileChange extends ChangedFile {
	readonly id: string;
	/** The call that made the change. Missing for changes by people. */
	readonly callId?: string;
	/** The time of the change, in ISO 8601. */
	readonly at: string;
	/** A unified diff. Missing if the file is not text or is too long, before or after the change. */
	readonly diff?: string;
}

export interface FileChanges {
	/** The changes, newest first. */
	readonly changes: readonly FileChange[];
	/** The cursor for older changes. Missing if there are none. */
	readonly cursor?: string;
}

/**
 * The files of a session (docs/tools.md). Paths are relative to the workspace's root, with `/` between names. Throws
 * `invalid_argument` for a path that is not safe, `not_found` for a missing file, and `conflict` for a file that was
 * changed in the meantime. Each error names the path and says what to do.
 */
export interface Workspace {
	list(options?: ListOptions): Promise<Listing>;
	/** Returns facts about a file or a folder, or `undefined` if neither exists. */
	stat(path: string): Promise<FileInfo | FolderInfo | undefined>;
	/** Returns the bytes of a file, or a range of the bytes. */
	read(path: string, range?: ByteRange): Promise<Uint8Array>;
	/**
	 * Returns lines of a text. If `toLine` is after the end, it means the last line. Throws if `fromLine` is after the
	 * end, or if the file is not text.
	 */
	readLines(path: string, range?: LineRange): Promise<TextLines>;
	write(path: string, content: string | Uint8Array): Promise<ChangedFile>;
	delete(path: string): Promise<ChangedFile>;
	/** Moves a file. Throws if `to` already has a file. */
	move(from: string, to: string): Promise<ChangedFile>;
	/**
	 * Makes all edits in their order, or no edit if one of them fails.
	 *
	 * @param result the value that `recall` returns later
	 */
	change(edits: readonly Edit[], result?: unknown): Promise<readonly ChangedFile[]>;
	/** Lists the changes of files, newest first. */
	changes(options?: { readonly limit?: number; readonly cursor?: string }): Promise<FileChanges>;
	/**
	 * Undoes the newest steps and returns the undone changes. A step is all changes of one call. Changes by people and
	 * undos are not steps. Throws `conflict` if somebody else has changed one of the files after the step.
	 */
	undo(steps?: number): Promise<readonly ChangedFile[]>;
	/** Returns the value that a `note` edit stored. */
	readNote(key: string): Promise<unknown>;
	/**
	 * Returns a workspace with the same files for one tool call. All changes of the call are one step. After `signal`
	 * aborts, every change throws.
	 */
	forCall(callId: string, signal?: Pick<AbortSignal, 'aborted'>): Workspace;
	/**
	 * Returns the `result` of the change that the same call made before a crash. A tool calls this function before a
	 * change, so that a repeated call does not make the change twice.
	 */
	recall(): Promise<unknown>;
}
