import type { ContentInfo } from './content.ts';
import type { ChangedFile, Edit, FileChange, ListedEntry } from './workspace.ts';

type Awaitable<T> = T | Promise<T>;

/** A file as a store keeps it: `content` is what the store finds the bytes by. It never changes. */
export interface StoredFile<C = unknown> extends Omit<ContentInfo, 'marks'> {
	readonly version: number;
	readonly content: C;
	/** Milliseconds since 1970. */
	readonly modifiedAt: number;
}

/** Who makes a change: a call of a tool. */
export interface Caller {
	readonly callId: string;
	/** What the store has named it. It tells the steps of calls apart that have the same id. */
	readonly step: string | symbol;
	/** Aborts when the call has ended. From then on it changes nothing. */
	readonly signal?: Pick<AbortSignal, 'aborted'>;
}

/** An edit whose paths and bytes are checked. */
export type CheckedEdit =
	| Exclude<Edit, { type: 'write' }>
	| (Extract<Edit, { type: 'write' }> & { content: Uint8Array });

/** What a store lists: checked `ListOptions`. */
export interface ListQuery {
	/** The root is an empty text. */
	readonly path: string;
	readonly recursive: boolean;
	readonly limit: number;
	readonly after?: string;
}

/**
 * Where the files of a workspace are kept; `createWorkspace` makes a `Workspace` of it. Its paths are checked. Work costs
 * what it returns, and not what there is.
 */
export interface WorkspaceStore {
	/** The name of a call's step. A call that runs again because the process died has the same, if the store outlives it. */
	nameStep(callId: string): Caller['step'];
	/** What is at a path: a file, `'folder'`, or nothing. */
	find(path: string): Awaitable<StoredFile | 'folder' | undefined>;
	/** At most `limit` entries, sorted by path. */
	list(query: ListQuery): Awaitable<readonly ListedEntry[]>;
	read(file: StoredFile, from: number, to: number): Awaitable<Uint8Array>;
	/** The place where a line of a text begins. Lines count from 1; the one behind the last begins at the end. */
	findLine(file: StoredFile, line: number): Awaitable<number>;
	/** Makes all edits or none, with the entry in the journal and the result that `recall` gives: see `planEdits`. */
	change(edits: readonly CheckedEdit[], caller?: Caller, result?: unknown): Awaitable<readonly ChangedFile[]>;
	/** Undoes steps: see `planUndo`. The call's result is `{ undone }`. */
	undo(steps: number, caller?: Caller): Awaitable<readonly ChangedFile[]>;
	/** Entries of the journal in front of an id, the newest first. */
	changes(limit: number, before?: string): Awaitable<readonly FileChange[]>;
	readNote(key: string): Awaitable<unknown>;
	/** The result of the change that this call made before the process died. */
	recall(caller: Caller): Awaitable<unknown>;
}
