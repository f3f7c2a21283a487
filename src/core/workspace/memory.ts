import { createFieldError } from '../base/errors.ts';
import { type ContentInfo, describeContent, markedLines, skipLines } from './content.ts';
import { createWorkspace, toBytes } from './create.ts';
import { createDiff } from './diff.ts';
import { checkPath, listFolders } from './path.ts';
import {
	addUsage,
	type Entry,
	planEdits,
	planUndo,
	type Quota,
	type Replacement,
	type Usage,
	usualQuota,
} from './plan.ts';
import type { Caller, CheckedEdit, ListQuery, StoredFile, WorkspaceStore } from './store.ts';
import type { ChangedFile, FileChange, ListedEntry, Workspace } from './workspace.ts';

/** The maximum number of journal entries in memory. */
const mostEntries = 1_000;

export interface InMemoryOptions {
	readonly quota?: Partial<Quota>;
}

/** Makes a workspace in memory from files by path. The files exist as long as the workspace object. */
export function inMemory(
	files: Readonly<Record<string, string | Uint8Array>> = {},
	{ quota }: InMemoryOptions = {},
): Workspace {
	const store = new MemoryStore({ ...usualQuota, ...quota });
	const edits = Object.entries(files).map(([path, content]): CheckedEdit => {
		return { type: 'write', path: checkPath(path, 'files'), content: toBytes(content, 'files') };
	});
	store.change(edits);
	return createWorkspace(store);
}

/** The bytes of a file, and the byte offsets of some of its lines. */
interface Content {
	readonly bytes: Uint8Array;
	readonly marks: ContentInfo['marks'];
}

interface MemoryEntry extends Entry<Content> {
	readonly id: string;
	readonly at: number;
	readonly callId?: string;
	isUndone: boolean;
}

class MemoryStore implements WorkspaceStore {
	readonly #files = new Map<string, StoredFile<Content>>();
	readonly #index = new PathIndex();
	readonly #notes = new Map<string, string>();
	/** The entries of the journal. The newest entry is last. */
	readonly #journal: MemoryEntry[] = [];
	readonly #results = new WeakMap<Caller, string>();
	readonly #quota: Quota;
	#usage: Usage = { files: 0, bytes: 0 };
	#version = 0;
	#entries = 0;

	constructor(quota: Quota) {
		this.#quota = quota;
	}

	nameStep(callId: string): symbol {
		return Symbol(callId);
	}

	find(path: string): StoredFile<Content> | 'folder' | undefined {
		return this.#files.get(path) ?? (this.#index.isFolder(path) ? 'folder' : undefined);
	}

	hasBelow(path: string, gone: ReadonlySet<string>): boolean {
		return this.#index.hasBelow(path, gone);
	}

	list(query: ListQuery): readonly ListedEntry[] {
		return this.#index.list(query).map((path) => {
			const file = this.#files.get(path);
			return file === undefined ? { path, type: 'folder' } : { path, type: 'file', size: file.size };
		});
	}

	read(file: StoredFile, from: number, to: number): Uint8Array {
		return takeContent(file).bytes.slice(from, to);
	}

	findLine(file: StoredFile, line: number): number {
		const { bytes, marks } = takeContent(file);
		const mark = Math.min(Math.floor((line - 1) / markedLines), marks.length - 1);
		const begin = marks[mark] ?? bytes.length;
		return begin + skipLines(bytes.subarray(begin), line - 1 - mark * markedLines);
	}

	change(edits: readonly CheckedEdit[], caller?: Caller, result?: unknown): readonly ChangedFile[] {
		const plan = planEdits(edits, this, ({ content }) => {
			const { marks, ...info } = describeContent(content);
			return { ...info, content: { bytes: content, marks }, version: ++this.#version, modifiedAt: Date.now() };
		});
		this.#apply(plan.files, { changed: plan.changed, caller, step: caller?.step });
		for (const [key, value] of plan.notes) {
			if (value === undefined) this.#notes.delete(key);
			else this.#notes.set(key, JSON.stringify(value));
		}
		this.#remember(caller, result);
		return plan.changed;
	}

	undo(steps: number, caller?: Caller): readonly ChangedFile[] {
		const plan = planUndo<Content, MemoryEntry>(this.#journal.toReversed(), steps, this);
		this.#apply(plan.files, { changed: plan.changed, caller });
		for (const entry of plan.entries) entry.isUndone = true;
		this.#remember(caller, { undone: plan.undone });
		return plan.undone;
	}

	async changes(limit: number, before?: string): Promise<readonly FileChange[]> {
		const all = this.#journal.toReversed().flatMap((entry) => {
			return entry.changed.map((change, place) => ({ id: `${entry.id}.${place}`, entry, change }));
		});
		const begin = before === undefined ? 0 : all.findIndex(({ id }) => id === before) + 1;
		if (before !== undefined && begin === 0)
			throw createFieldError('invalid_request', 'cursor', 'not one of this list. Begin again without it.');
		const shown: FileChange[] = [];
		for (const { id, entry, change } of all.slice(begin, begin + limit)) {
			const { at, callId, files } = entry;
			const { path, from = path } = change;
			const old = files.find((one) => one.path === from)?.before;
			const next = files.find((one) => one.path === path)?.after;
			const isBinary = [old, next].some((file) => file !== undefined && file.lines === undefined);
			const diff = isBinary ? '' : await createDiff({ path, from, before: toText(old), after: toText(next) });
			const by = callId === undefined ? {} : { callId };
			shown.push({ ...change, id, at: new Date(at).toISOString(), ...by, ...(diff !== '' && { diff }) });
		}
		return shown;
	}

	readNote(key: string): unknown {
		const json = this.#notes.get(key);
		return json === undefined ? undefined : JSON.parse(json);
	}

	recall(caller: Caller): unknown {
		const json = this.#results.get(caller);
		return json === undefined ? undefined : JSON.parse(json);
	}

	/** Makes a checked change, and adds an entry for the change to the journal. */
	#apply(
		files: readonly Replacement<Content>[],
		{ changed, caller, step }: { changed: readonly ChangedFile[]; caller?: Caller; step?: Caller['step'] },
	): void {
		this.#usage = addUsage(this.#usage, files, this.#quota);
		// Deletions are made first, because a new file can replace a folder.
		for (const { path, before, after } of files) {
			if (before === undefined || after !== undefined) continue;
			this.#files.delete(path);
			this.#index.delete(path);
		}
		for (const { path, before, after } of files) {
			if (after === undefined) continue;
			this.#files.set(path, after);
			if (before === undefined) this.#index.add(path);
		}
		if (files.length === 0) return;
		const id = String(++this.#entries);
		this.#journal.push({ id, at: Date.now(), callId: caller?.callId, step, files, changed, isUndone: false });
		if (this.#journal.length > mostEntries) this.#journal.shift();
	}

	#remember(caller: Caller | undefined, result: unknown): void {
		if (caller !== undefined && result !== undefined) this.#results.set(caller, JSON.stringify(result));
	}
}

/** SAFETY: every `StoredFile` was made by this store. */
function takeContent({ content }: StoredFile): Content {
	return content as Content;
}

function toText(file: StoredFile<Content> | undefined): string | undefined {
	return file && new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(file.content.bytes);
}

/** The sorted paths of files and folders. The cost of listing a folder depends only on the length of the result. */
class PathIndex {
	readonly #paths: string[] = [];
	/** The number of files below each folder. */
	readonly #counts = new Map<string, number>();

	isFolder(path: string): boolean {
		return path === '' || this.#counts.has(path);
	}

	add(path: string): void {
		for (const folder of listFolders(path)) {
			const count = this.#counts.get(folder) ?? 0;
			this.#counts.set(folder, count + 1);
			if (count === 0) this.#paths.splice(this.#find(folder), 0, folder);
		}
		this.#paths.splice(this.#find(path), 0, path);
	}

	delete(path: string): void {
		this.#paths.splice(this.#find(path), 1);
		for (const folder of listFolders(path)) {
			const count = (this.#counts.get(folder) ?? 1) - 1;
			this.#counts.set(folder, count);
			if (count > 0) continue;
			this.#counts.delete(folder);
			this.#paths.splice(this.#find(folder), 1);
		}
	}

	list({ path, recursive, limit, after = '' }: ListQuery): readonly string[] {
		const prefix = path === '' ? '' : `${path}/`;
		const found: string[] = [];
		for (let at = this.#find(after > prefix ? `${after}\0` : prefix); found.length < limit; ) {
			const next = this.#paths[at];
			if (next?.startsWith(prefix) !== true) break;
			const slash = recursive ? -1 : next.indexOf('/', prefix.length);
			if (slash === -1) {
				found.push(next);
				at++;
			}
			// Skip the content of the folder: `0` is the character after `/`.
			else at = this.#find(`${next.slice(0, slash)}0`);
		}
		return found;
	}

	/** Whether there is a file below a path. Ignores the files in `gone`. */
	hasBelow(path: string, gone: ReadonlySet<string>): boolean {
		const prefix = `${path}/`;
		for (let at = this.#find(prefix); this.#paths[at]?.startsWith(prefix); at++) {
			const next = this.#paths[at] ?? '';
			if (!gone.has(next) && !this.#counts.has(next)) return true;
		}
		return false;
	}

	/** Returns the index of the first path that is equal to this path or sorts after it. */
	#find(path: string): number {
		let [low, high] = [0, this.#paths.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((this.#paths[middle] ?? '') < path) low = middle + 1;
			else high = middle;
		}
		return low;
	}
}
