import { describeContent, markedLines } from '../../../core/workspace/content.ts';
import { assertOpen } from '../../../core/workspace/create.ts';
import { createDiff, type TextChange } from '../../../core/workspace/diff.ts';
import type { Caller, CheckedEdit, ListQuery, StoredFile, WorkspaceStore } from '../../../core/workspace/store.ts';
import type { ChangedFile, FileChange, ListedEntry } from '../../../core/workspace/workspace.ts';
import type { Config } from '../../config/config.ts';
import { assertRoom } from '../../objects/room.ts';
import type { FileChangeRecord } from '../store/changes.ts';
import type { ContentRef, NewContent, SessionFile } from '../store/files.ts';
import type { SessionStore } from '../store/store.ts';
import { type ChangeOptions, nameStep } from '../store/workspace.ts';
import { mostInRows, reachBucket, readObject } from './bucket.ts';

/** The most bytes of a file before and after a change together. A larger file has no diff. */
const mostForDiff = 1_000_000;
/** The most bytes of all texts in the diffs of a page. */
const mostForDiffs = 8_000_000;
/** Bytes that are read at once to find a line. */
const bytesAtOnce = 262_144;
const newline = 10;

export interface FileStoreOptions {
	readonly store: SessionStore;
	readonly config: () => Pick<Config, 'files' | 'workspaceQuota' | 'roomLimits'>;
	/** Throws within the transaction of a change that is not allowed any more. */
	readonly assertMayChange: () => void;
}

/**
 * Keeps the files of a session in its object, and files over 1 MB in the bucket. Bytes reach the bucket before a row
 * names their key. The outbox removes keys that no row names.
 */
export class FileStore implements WorkspaceStore {
	readonly #store: SessionStore;
	readonly #config: FileStoreOptions['config'];
	readonly #assertMayChange: () => void;

	constructor({ store, config, assertMayChange }: FileStoreOptions) {
		this.#store = store;
		this.#config = config;
		this.#assertMayChange = assertMayChange;
	}

	nameStep(callId: string): string {
		return nameStep(this.#store.messages.lastTurn(), callId);
	}

	find(path: string): SessionFile | 'folder' | undefined {
		return this.#store.workspace.files.find(path);
	}

	list(query: ListQuery): readonly ListedEntry[] {
		return this.#store.workspace.files.list(query);
	}

	async read(file: StoredFile, from: number, to: number): Promise<Uint8Array> {
		const { id, key } = takeContent(file);
		if (key === undefined || from === to) return this.#store.workspace.contents.read(id, from, to);
		const found = await readObject(this.#config().files, key, from, to);
		return new Uint8Array(await reachBucket(() => found.arrayBuffer()));
	}

	async findLine(given: StoredFile, line: number): Promise<number> {
		const file = { ...given, content: takeContent(given) };
		const { contents } = this.#store.workspace;
		const mark = Math.floor((line - 1) / markedLines);
		const end = contents.findMark(file, mark + 1);
		let at = contents.findMark(file, mark);
		for (let left = (line - 1) % markedLines; left > 0 && at < end; ) {
			const bytes = await this.read(file, at, Math.min(at + bytesAtOnce, end));
			let place = 0;
			for (; left > 0 && place < bytes.length; left--) {
				const next = bytes.indexOf(newline, place);
				if (next === -1) {
					place = bytes.length;
					break;
				}
				place = next + 1;
			}
			at += place;
		}
		return at;
	}

	async change(edits: readonly CheckedEdit[], caller?: Caller, result?: unknown): Promise<readonly ChangedFile[]> {
		const { files: bucket, workspaceQuota: quota } = this.#config();
		const isLarge = (edit: CheckedEdit): boolean => edit.type === 'write' && edit.content.length > mostInRows;
		if (bucket === undefined || !edits.some(isLarge)) return this.commit(edits, { caller, result });
		// Impossible edits fail before anything is written.
		this.#store.workspace.assertPossible(edits, quota);
		const uploads = new Map<CheckedEdit, NewContent>();
		const keys: string[] = [];
		try {
			for (const edit of edits) {
				if (edit.type !== 'write' || !isLarge(edit)) continue;
				const key = this.beginKey();
				keys.push(key);
				await reachBucket(() => bucket.put(key, edit.content));
				uploads.set(edit, { ...describeContent(edit.content), key });
			}
			return this.commit(edits, { caller, result, uploads });
		} finally {
			this.endKeys(keys);
		}
	}

	async undo(steps: number, caller?: Caller): Promise<readonly ChangedFile[]> {
		return this.#transact(caller, (quota) => this.#store.workspace.undo(steps, { quota, caller }));
	}

	async changes(limit: number, before?: string): Promise<readonly FileChange[]> {
		const records = this.#store.workspace.journal.page(limit, before);
		let left = mostForDiffs;
		// All texts are read before the first await, because a content may be removed meanwhile.
		const read = new Map<number, string>();
		const texts = records.map((record) => {
			const size = (record.before?.size ?? 0) + (record.after?.size ?? 0);
			const isShown = size <= Math.min(mostForDiff, left);
			if (isShown) left -= size;
			return isShown ? this.#readTexts(record, read) : undefined;
		});
		const changes: FileChange[] = [];
		for (const [n, { id, path, kind, from, callId, at }] of records.entries()) {
			const change = texts[n];
			const diff = change === undefined ? '' : await createDiff(change);
			const origin = { ...(from !== undefined && { from }), ...(callId !== undefined && { callId }) };
			changes.push({ id, path, kind, ...origin, at: new Date(at).toISOString(), ...(diff !== '' && { diff }) });
		}
		return changes;
	}

	readNote(key: string): unknown {
		return this.#store.workspace.readNote(key);
	}

	recall({ step }: Caller): unknown {
		return this.#store.workspace.recall(String(step));
	}

	commit(edits: readonly CheckedEdit[], how: Omit<ChangeOptions, 'quota'> = {}): readonly ChangedFile[] {
		const { workspace } = this.#store;
		return this.#transact(how.caller, (quota) => {
			const changed = workspace.change(edits, { ...how, quota });
			const { roomLimits } = this.#config();
			// A full session gives up the deleted contents that an undo needs.
			const isFull = () => this.#store.bytes > (roomLimits.session ?? Infinity);
			if (isFull()) workspace.forget(isFull);
			if (edits.some(({ type }) => type === 'write')) assertRoom('session', roomLimits, this.#store.bytes);
			return changed;
		});
	}

	/** Creates a key. Its content is removed again unless a change names the key. */
	beginKey(): string {
		const key = `${this.#store.bucketFolder}${crypto.randomUUID()}`;
		this.#store.outbox.beginWriting(key, Date.now());
		return key;
	}

	endKeys(keys: readonly string[]): void {
		for (const key of keys) this.#store.outbox.endWriting(key);
	}

	#transact<T>(caller: Caller | undefined, work: (quota: ChangeOptions['quota']) => T): T {
		return this.#store.transaction(() => {
			assertOpen(caller);
			this.#assertMayChange();
			return work(this.#config().workspaceQuota);
		});
	}

	/** Returns the texts of a change. Returns nothing if a content is no text or in the bucket. */
	#readTexts({ path, from, before, after }: FileChangeRecord, known: Map<number, string>): TextChange | undefined {
		const isText = [before, after].every(
			(file) => file === undefined || (file.lines !== undefined && !file.content.key),
		);
		if (!isText) return undefined;
		const read = (file: SessionFile | undefined): string | undefined => {
			if (file === undefined) return undefined;
			const { id } = file.content;
			const text =
				known.get(id) ??
				new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(
					this.#store.workspace.contents.read(id, 0, file.size),
				);
			known.set(id, text);
			return text;
		};
		return { path, from, before: read(before), after: read(after) };
	}
}

/** SAFETY: only `find` creates a `StoredFile`, with the contents of this store. */
function takeContent({ content }: StoredFile): ContentRef {
	return content as ContentRef;
}
