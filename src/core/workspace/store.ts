import type { ContentInfo } from './content.ts';
import type { ChangedFile, Edit, FileChange, ListedEntry } from './workspace.ts';

type Awaitable<T> = T | Promise<T>;

/** An immutable record of a file in a store. The store uses `content` to find the bytes. */
export interface StoredFile<C = unknown> extends Omit<ContentInfo, 'marks'> {
	readonly version: number;
	readonly content: C;
	/** Milliseconds since 1970. */
	readonly modifiedAt: number;
}

/** The tool call that makes a change to the workspace. */
export interface Caller {
	readonly callId: string;
	/** The store's name for the step of the call. The call's id is not unique, so it cannot be the name. */
	readonly step: string | symbol;
	/** Aborted at the end of the call. The call cannot change anything afterwards. */
	readonly signal?: Pick<AbortSignal, 'aborted'>;
}

/** An edit whose paths and bytes were checked. */
export type CheckedEdit =
	| Exclude<Edit, { type: 'write' }>
	| (Extract<Edit, { type: 'write' }> & { content: Uint8Array });

/** `ListOptions` after the check, with all defaults. */
export interface ListQuery {
	/** The folder. The root is an empty text. */
	readonly path: string;
	readonly recursive: boolean;
	readonly limit: number;
	readonly after?: string;
}

/**
 * The storage of a workspace. `createWorkspace` makes a `Workspace` from the storage and checks all paths. The cost of
 * an operation depends on its result, not on the number of files.
 */
export interface WorkspaceStore {
	/** Returns the name of a call's step. After a crash, the name is the same if the store still exists. */
	nameStep(callId: string): Caller['step'];
	/** Returns a file, or `'folder'` for a folder, or `undefined`. */
	find(path: string): Awaitable<StoredFile | 'folder' | undefined>;
	/** Lists at most `limit` entries, sorted by path. */
	list(query: ListQuery): Awaitable<readonly ListedEntry[]>;
	read(file: StoredFile, from: number, to: number): Awaitable<Uint8Array>;
	/** Returns the byte offset of a line, counted from 1. After the last line, returns the size of the file. */
	findLine(file: StoredFile, line: number): Awaitable<number>;
	/** Makes all edits or none (`planEdits`). Also stores the journal entry, and the result for `recall`. */
	change(edits: readonly CheckedEdit[], caller?: Caller, result?: unknown): Awaitable<readonly ChangedFile[]>;
	/** Undoes steps (`planUndo`). `recall` then returns `{ undone }`. */
	undo(steps: number, caller?: Caller): Awaitable<readonly ChangedFile[]>;
	/** Lists the journal entries before an id, newest first. */
	changes(limit: number, before?: string): Awaitable<readonly FileChange[]>;
	readNote(key: string): Awaitable<unknown>;
	/** Returns the result of the change that the same call made before a crash. */
	recall(caller: Caller): Awaitable<unknown>;
}
