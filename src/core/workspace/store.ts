import type { ContentInfo } from './content.ts';
import type { ChangedFile, Edit, FileChange, ListedEntry } from './workspace.ts';

type Awaitable<T> = T | Promise<T>;

/** A file in a store. The store finds the bytes by `content`. Immutable. */
export interface StoredFile<C = unknown> extends Omit<ContentInfo, 'marks'> {
	readonly version: number;
	readonly content: C;
	/** Milliseconds since 1970. */
	readonly modifiedAt: number;
}

/** The tool call that makes a change. */
export interface Caller {
	readonly callId: string;
	/** The store's name for the step of the call. It is needed because two calls may have the same id. */
	readonly step: string | symbol;
	/** Aborts at the end of the call. After this, the call changes nothing. */
	readonly signal?: Pick<AbortSignal, 'aborted'>;
}

/** An edit whose paths and bytes are checked. */
export type CheckedEdit =
	| Exclude<Edit, { type: 'write' }>
	| (Extract<Edit, { type: 'write' }> & { content: Uint8Array });

/** Checked `ListOptions`. */
export interface ListQuery {
	/** The root is an empty text. */
	readonly path: string;
	readonly recursive: boolean;
	readonly limit: number;
	readonly after?: string;
}

/**
 * The storage of a workspace. `createWorkspace` makes a `Workspace` from it and checks all paths. The cost of an
 * operation depends on its result, not on the number of files.
 */
export interface WorkspaceStore {
	/** Returns the name of a call's step. The name is the same after a crash, if the store still exists. */
	nameStep(callId: string): Caller['step'];
	/** Finds a file, `'folder'`, or nothing. */
	find(path: string): Awaitable<StoredFile | 'folder' | undefined>;
	/** Lists at most `limit` entries, sorted by path. */
	list(query: ListQuery): Awaitable<readonly ListedEntry[]>;
	read(file: StoredFile, from: number, to: number): Awaitable<Uint8Array>;
	/** Returns the byte offset of a line, counted from 1. The line after the last line begins at the end. */
	findLine(file: StoredFile, line: number): Awaitable<number>;
	/** Makes all edits or no edit, with the journal entry and the result for `recall` (`planEdits`). */
	change(edits: readonly CheckedEdit[], caller?: Caller, result?: unknown): Awaitable<readonly ChangedFile[]>;
	/** Undoes steps (`planUndo`). The call's result is `{ undone }`. */
	undo(steps: number, caller?: Caller): Awaitable<readonly ChangedFile[]>;
	/** Lists the journal entries before an id. The newest entry is first. */
	changes(limit: number, before?: string): Awaitable<readonly FileChange[]>;
	readNote(key: string): Awaitable<unknown>;
	/** Returns the result of the change that this call made before a crash. */
	recall(caller: Caller): Awaitable<unknown>;
}
