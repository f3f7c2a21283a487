/** What is known of a file. */
export interface FileInfo {
	readonly path: string;
	readonly type: 'file';
	/** Bytes. */
	readonly size: number;
	readonly mime: string;
	/** When it was written, in ISO 8601. */
	readonly modifiedAt: string;
	/** Lines of a text. Missing for other files. */
	readonly lines?: number;
	/** Another number after every change of its bytes. */
	readonly version: number;
}

/** A folder is there as long as a file is below it. */
export interface FolderInfo {
	readonly path: string;
	readonly type: 'folder';
}

/** An entry of a list. */
export interface ListedEntry {
	readonly path: string;
	readonly type: 'file' | 'folder';
	/** Bytes of a file. */
	readonly size?: number;
}

export interface ListOptions {
	/** The folder; the root if it is missing. */
	readonly path?: string;
	/** Lists what is below its folders, too. */
	readonly recursive?: boolean;
	/** The most entries; 1,000. */
	readonly limit?: number;
	/** Goes on behind this path. */
	readonly after?: string;
}

/** Entries sorted by path. */
export interface Listing {
	readonly entries: readonly ListedEntry[];
	/** Whether more follow: go on with `after`, the last path. */
	readonly truncated: boolean;
}

/** Some bytes of a file: from the first, which counts from 0, up to the last, which is not included. */
export interface ByteRange {
	readonly from?: number;
	readonly to?: number;
}

/** Some lines of a text. They count from 1; both are included. */
export interface LineRange {
	readonly fromLine?: number;
	readonly toLine?: number;
	/** The most bytes; 262,144. Fewer lines come if these have more. */
	readonly maxBytes?: number;
}

/** Lines of a text as they stand in the file, with their line ends. */
export interface TextLines {
	readonly text: string;
	readonly fromLine: number;
	/** The last line of `text`. */
	readonly toLine: number;
	/** The lines of the whole file. */
	readonly lines: number;
	/** Whether the last line is cut, because it alone is longer than was asked for. */
	readonly isCut: boolean;
}

/** What one change does to one file. */
export type Edit =
	| (Expected & { readonly type: 'write'; readonly path: string; readonly content: string | Uint8Array })
	| (Expected & { readonly type: 'delete'; readonly path: string })
	| (Expected & { readonly type: 'move'; readonly from: string; readonly to: string })
	/** Keeps a value beside the files. `undefined` removes it. */
	| { readonly type: 'note'; readonly key: string; readonly value: unknown };

interface Expected {
	/** The change is refused unless the file has this version. `null`: unless there is no file. */
	readonly ifVersion?: number | null;
}

/** What a change did to a file. */
export interface ChangedFile {
	readonly path: string;
	readonly kind: 'created' | 'changed' | 'deleted' | 'moved';
	/** Where a moved file was before. */
	readonly from?: string;
}

/** A file's entry in the journal of a workspace. */
export interface FileChange extends ChangedFile {
	readonly id: string;
	/** The call that changed it. Missing for what people did. */
	readonly callId?: string;
	/** ISO 8601. */
	readonly at: string;
	/** A unified diff, if the file was text before and after and is not too long. */
	readonly diff?: string;
}

export interface FileChanges {
	/** The newest first. */
	readonly changes: readonly FileChange[];
	/** Goes on with the older ones. Missing at the end. */
	readonly cursor?: string;
}

/**
 * Files of a session (docs/tools.md). Paths are relative to its root, with `/` between names. A path that is not safe is
 * `invalid_argument`, a missing file `not_found`, and a file that changed meanwhile `conflict`: each error names the path
 * and the remedy.
 */
export interface Workspace {
	list(options?: ListOptions): Promise<Listing>;
	/** What is at a path; `undefined` where nothing is. */
	stat(path: string): Promise<FileInfo | FolderInfo | undefined>;
	/** The bytes of a file, all or a range of them. */
	read(path: string, range?: ByteRange): Promise<Uint8Array>;
	/** Lines of a text. `toLine` past the end is the last line; `fromLine` past it is refused, as is what is no text. */
	readLines(path: string, range?: LineRange): Promise<TextLines>;
	write(path: string, content: string | Uint8Array): Promise<ChangedFile>;
	delete(path: string): Promise<ChangedFile>;
	/** Refused where a file is at `to` already. */
	move(from: string, to: string): Promise<ChangedFile>;
	/**
	 * Makes all edits, one after another, or none.
	 *
	 * @param result what `recall` gives from then on
	 */
	change(edits: readonly Edit[], result?: unknown): Promise<readonly ChangedFile[]>;
	/** What changed, file by file. */
	changes(options?: { readonly limit?: number; readonly cursor?: string }): Promise<FileChanges>;
	/**
	 * Undoes the newest steps. A step is all that one call changed. What people changed is no step, and neither is an undo.
	 * Refused if a file of them was changed since by somebody else. Gives the changes that it undid.
	 */
	undo(steps?: number): Promise<readonly ChangedFile[]>;
	/** A value that a `note` keeps: JSON. */
	readNote(key: string): Promise<unknown>;
	/** The same files for one call of a tool: what changes through it is one step. Once `signal` aborts, nothing does. */
	forCall(callId: string, signal?: Pick<AbortSignal, 'aborted'>): Workspace;
	/**
	 * The `result` of the change that this call made, if the process died between the change and the call's result. It asks
	 * before it changes something, so that a call which runs again changes nothing twice.
	 */
	recall(): Promise<unknown>;
}
