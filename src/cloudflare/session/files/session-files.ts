import { fromBase64 } from '../../../core/base/bytes.ts';
import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import type { Message } from '../../../core/chat/index.ts';
import { describeContent, findMime, markedLines } from '../../../core/workspace/content.ts';
import { assertOpen, createWorkspace } from '../../../core/workspace/create.ts';
import { createDiff, type TextChange } from '../../../core/workspace/diff.ts';
import type { FileChanges, Workspace } from '../../../core/workspace/index.ts';
import { checkPath, toSafeName } from '../../../core/workspace/path.ts';
import type { Quota } from '../../../core/workspace/plan.ts';
import type { Caller, CheckedEdit, ListQuery, StoredFile, WorkspaceStore } from '../../../core/workspace/store.ts';
import type { ChangedFile, FileChange, ListedEntry } from '../../../core/workspace/workspace.ts';
import type { Config } from '../../config/config.ts';
import { assertRoom } from '../../objects/budget.ts';
import type { FileDownload, FilePage, FileRange, FileRequest, IfMatch, WrittenFile } from '../../objects/file-api.ts';
import type { Bytes } from '../../objects/reach.ts';
import type { Attachment } from '../../wire/message.ts';
import type { FileChangeRecord } from '../store/changes.ts';
import type { ContentRef, NewContent, PlacedFile, SessionFile } from '../store/files.ts';
import { type Inbound, readAttachments } from '../store/inbound.ts';
import type { RunRecord } from '../store/runs.ts';
import { noSuchSession } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { type ChangeOptions, nameStep } from '../store/workspace.ts';
import { mostInRows, reachBucket, readObject, receiveContent } from './bucket.ts';

/** The maximum size of a file's old and new content together, in bytes. A larger change has no diff. */
const mostForDiff = 1_000_000;
/** The maximum size of all texts in the diffs of a page, in bytes. */
const mostForDiffs = 8_000_000;
const bytesAtOnce = 262_144;
const newline = 10;

export interface FileStoreOptions {
	readonly store: SessionStore;
	readonly config: () => Pick<Config, 'files' | 'workspaceQuota' | 'roomLimits'>;
	/** Called in the transaction of a change. Throws if the change is not allowed any more. */
	readonly assertMayChange: () => void;
}

/**
 * Keeps a session's files: small files in the session's object, and files over 1 MB in the bucket. The bytes are in the
 * bucket before a row names their key. The outbox removes keys that no row names.
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
		// All texts are read before the first await, because a content may be removed during an await.
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
			// If the session is full, old contents that only an undo needs are removed.
			const isFull = () => this.#store.bytes > (roomLimits.session ?? Infinity);
			if (isFull()) workspace.forget(isFull);
			if (edits.some(({ type }) => type === 'write')) assertRoom('session', roomLimits, this.#store.bytes);
			return changed;
		});
	}

	/** Creates a key in the bucket. If no change names the key, its content is removed later. */
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

	/** Returns the texts of a change. Returns nothing if a content is not a text, or is in the bucket. */
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

/** SAFETY: only `find` creates a `StoredFile`, and its content is a `ContentRef` of this store. */
function takeContent({ content }: StoredFile): ContentRef {
	return content as ContentRef;
}

const mostNames = 1_000;

export class SessionFiles {
	readonly #store: SessionStore;
	readonly #config: () => Config;

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
	}

	/** The workspace for people. A change by people does not belong to a step. */
	get workspace(): Workspace {
		return createWorkspace(this.#openForPeople());
	}

	/** Returns the workspace of a tool that is called outside of a run. `noteChange` runs in the transaction of a change. */
	openForCall(noteChange: () => void): Workspace {
		return createWorkspace(this.#openForPeople(noteChange));
	}

	/** Returns the workspace of a run's tools, which refuses changes after this attempt of the run has ended. */
	openForRun(record: Pick<RunRecord, 'n' | 'boot' | 'attempt'>): Workspace {
		return createWorkspace(this.#open(() => this.#store.runs.assertOpen(record)));
	}

	/** Returns a page of the files, sorted by path. */
	list({ cursor = '', limit = 100 }: { readonly cursor?: string; readonly limit?: number }): FilePage {
		const found = this.#store.workspace.files.listFiles(cursor, limit + 1);
		const files = found.slice(0, limit);
		return { files: files.map(showFile), cursor: found.length > limit ? files.at(-1)?.path : undefined };
	}

	listChanges({ cursor, limit }: { readonly cursor?: string; readonly limit?: number }): Promise<FileChanges> {
		return this.workspace.changes({ cursor, limit });
	}

	/** Finds where `readPieces` goes on. Throws `conflict` if a file was replaced between its pieces. */
	findPlace(after: string): { readonly placed: PlacedFile | undefined; readonly start: number } {
		const { files } = this.#store.workspace;
		const [, from = '', version = '', path = ''] = /^(\d*):(\d+):(.+)$/s.exec(after) ?? [];
		if (from === '') return { placed: files.listFiles(path, 1)[0], start: 0 };
		const file = files.find(path);
		if (file === undefined || file === 'folder' || String(file.version) !== version)
			throw createFieldError('conflict', 'cursor', `${path} was replaced meanwhile. Begin with cursor=start.`);
		return { placed: { path, file }, start: Number(from) };
	}

	/**
	 * Yields the files in pieces of at most `pieceBytes`, each with the place behind it. Throws `not_found` if a file is
	 * replaced during reading.
	 *
	 * @param after the place behind the last piece that came
	 */
	async *readPieces(pieceBytes: number, after = '') {
		const store = this.#openForPeople();
		const { files } = this.#store.workspace;
		let { placed, start } = this.findPlace(after);
		for (; placed !== undefined; [placed] = files.listFiles(placed.path, 1)) {
			const { file } = placed;
			const { path, size, modifiedAt } = showFile(placed);
			for (let at = start; at === 0 || at < file.size; at += pieceBytes) {
				const bytes = await store.read(file, at, Math.min(at + pieceBytes, file.size));
				const next = at + bytes.length;
				const place = `${next === file.size ? '' : next}:${file.version}:${path}`;
				yield { piece: { path, size, modifiedAt, at }, bytes, place };
			}
			start = 0;
		}
	}

	async read(name: string, { range, known = [], isHead }: FileRequest): Promise<FileDownload> {
		const path = checkPath(name);
		const file = this.#find(path);
		const tag = toTag(file);
		const { from, to } = resolveRange(range, file.size);
		const about = { ...showFile({ path, file }), tag, from, to };
		if (isHead === true || known.includes(tag) || known.includes('*')) return about;
		return { ...about, body: await this.#stream(file, from, to) };
	}

	/** Stores or replaces a file. Throws `precondition_failed` if the condition does not hold. */
	async write(name: string, body: Bytes, condition: IfMatch): Promise<WrittenFile> {
		const assertHolds = () => this.#assertHolds(checkPath(name), condition);
		// This first check refuses a large file before it is received. The transaction checks again.
		assertHolds();
		return this.#write(name, body, this.#openForPeople(assertHolds));
	}

	/** Stores a small file of an import, within its transaction. */
	importSmall(name: string, content: Uint8Array): void {
		this.#openForImport().commit([{ type: 'write', path: checkPath(name), content }]);
	}

	/** Stores the file whose pieces an import has kept. */
	importPieces(name: string): Promise<WrittenFile> {
		return this.#write(name, this.#store.workspace.contents.streamPieces(), this.#openForImport());
	}

	async #write(name: string, body: Bytes, files: FileStore): Promise<WrittenFile> {
		const path = checkPath(name);
		const { files: bucket, workspaceQuota, roomLimits } = this.#config();
		assertRoom('session', roomLimits, this.#store.bytes);
		const edit: CheckedEdit = { type: 'write', path, content: new Uint8Array() };
		// Impossible changes fail before the body is read.
		this.#store.workspace.assertPossible([edit], workspaceQuota);
		const keys: string[] = [];
		const beginKey = (): string => {
			const key = files.beginKey();
			keys.push(key);
			return key;
		};
		try {
			const content = await receiveContent(body, { bucket, limit: workspaceQuota.fileBytes, beginKey });
			const [changed] = files.commit([edit], { uploads: new Map([[edit, content]]) });
			const file = this.#find(path);
			return { file: showFile({ path, file }), tag: toTag(file), isNew: changed?.kind === 'created' };
		} finally {
			files.endKeys(keys);
		}
	}

	/** Removes a file. Throws `precondition_failed` if the condition does not hold. */
	remove(name: string, condition: IfMatch): void {
		const path = checkPath(name);
		this.#find(path);
		this.#openForPeople(() => this.#assertHolds(path, condition)).commit([{ type: 'delete', path }]);
	}

	/** Throws `precondition_failed` if the condition does not hold for a file (RFC 9110, 13.1). */
	#assertHolds(path: string, { ifMatch, ifNoneMatch }: IfMatch): void {
		const found = this.#store.workspace.files.find(path);
		const file = found === 'folder' ? undefined : found;
		if (ifNoneMatch === true && file !== undefined)
			throw createMismatch('If-None-Match', `the file ${path} is there already. Leave it out to replace that.`);
		if (ifMatch === undefined) return;
		if (file === undefined) throw createMismatch('If-Match', `there is no file ${path}. Leave it out to create one.`);
		if (ifMatch === '*' || ifMatch.includes(toTag(file))) return;
		throw createMismatch('If-Match', `${path} was changed meanwhile. Read it again, and send its new ETag.`);
	}

	keepAttachments(message: Message, inbound: Inbound | undefined): void {
		if (inbound?.attachments !== undefined)
			keepAttachments(this.#store, this.#config().workspaceQuota, message, inbound);
	}

	#find(path: string): SessionFile {
		const found = this.#store.workspace.files.find(path);
		if (found === undefined || found === 'folder') {
			const message = `path: there is no file ${path}. GET /v1/sessions/ID/files lists what there is.`;
			throw new RunletError('not_found', message, { field: 'path', path });
		}
		return found;
	}

	/** Opens the files for people. A change fails if the session was removed, or if `assertHolds` throws. */
	#openForPeople(assertHolds = () => {}): FileStore {
		const { createdAt } = this.#store.session();
		return this.#open(() => {
			if (!this.#store.exists() || this.#store.session().createdAt !== createdAt) throw noSuchSession();
			assertHolds();
		});
	}

	#openForImport(): FileStore {
		return this.#open(() => {
			if (!this.#store.isImporting) throw noSuchSession();
		});
	}

	#open(assertMayChange: () => void): FileStore {
		return new FileStore({ store: this.#store, config: this.#config, assertMayChange });
	}

	async #stream(file: SessionFile, from: number, to: number): Promise<Bytes> {
		const { id, key } = file.content;
		if (key !== undefined && from < to) return (await readObject(this.#config().files, key, from, to)).body;
		const { contents } = this.#store.workspace;
		let at = from;
		return new ReadableStream({
			type: 'bytes',
			pull: (controller) => {
				const end = Math.min(at + bytesAtOnce, to);
				if (at < end) controller.enqueue(contents.read(id, at, end));
				at = end;
				if (at === to) controller.close();
			},
		});
	}
}

function showFile({ path, file }: PlacedFile): FilePage['files'][number] {
	return { path, size: file.size, mime: findMime(path, file), modifiedAt: new Date(file.modifiedAt).toISOString() };
}

/** Returns the entity tag of a file. The version alone is not unique if the session is created again under its id. */
function toTag({ version, modifiedAt }: SessionFile): string {
	return `${version}-${modifiedAt.toString(36)}`;
}

function createMismatch(field: 'If-Match' | 'If-None-Match', says: string): RunletError {
	return new RunletError('precondition_failed', `${field}: ${says} Nothing was changed.`, { field });
}

/** Returns the requested bytes. Returns all bytes for a range outside of the file (RFC 9110, 14.2). */
function resolveRange(range: FileRange | undefined, size: number): { readonly from: number; readonly to: number } {
	const all = { from: 0, to: size };
	if (range === undefined) return all;
	const from = 'last' in range ? Math.max(0, size - range.last) : range.from;
	const to = 'last' in range ? size : Math.min(size, (range.to ?? size) + (range.to === undefined ? 0 : 1));
	return from < to ? { from, to } : all;
}

/**
 * Stores the attachments of a message under `attachments/`. An attachment never replaces a file, and is not stored if
 * the same bytes are there. An attachment that does not fit into the workspace is only in the message.
 */
function keepAttachments(store: SessionStore, quota: Quota, message: Message, inbound: Inbound | undefined): void {
	const parts = 'parts' in message ? message.parts : undefined;
	for (const attachment of readAttachments(parts, inbound?.attachments)) {
		const content = readContent(attachment);
		if (content === undefined) continue;
		const path = findFreePath(store, toSafeName(attachment.name), content);
		if (path === undefined) continue;
		try {
			store.workspace.change([{ type: 'write', path, content }], { quota });
		} catch (error) {
			if (!(error instanceof RunletError) || !['too_large', 'invalid_argument'].includes(error.code)) throw error;
		}
	}
}

/** Returns the bytes of an attachment. Returns nothing for a URL. */
function readContent({ contentText, contentBase64 }: Attachment): Uint8Array | undefined {
	if (contentText !== undefined) return new TextEncoder().encode(contentText);
	return contentBase64 === undefined ? undefined : fromBase64(contentBase64);
}

/** Returns an unused path. Returns nothing if the same file is there already. */
function findFreePath({ workspace }: SessionStore, name: string, content: Uint8Array): string | undefined {
	const dot = name.lastIndexOf('.');
	const [base, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
	for (let n = 1; n <= mostNames; n++) {
		const path = `attachments/${n === 1 ? name : `${base}-${n}${extension}`}`;
		const found = workspace.files.find(path);
		if (found === undefined) return path;
		if (found === 'folder' || found.size !== content.length || found.content.key !== undefined) continue;
		const bytes = workspace.contents.read(found.content.id, 0, found.size);
		if (bytes.every((byte, at) => byte === content[at])) return undefined;
	}
	return undefined;
}
