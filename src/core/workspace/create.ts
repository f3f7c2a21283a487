import { createFieldError, RunletError } from '../base/errors.ts';
import { findNearest } from '../base/text.ts';
import { findMime, skipLines } from './content.ts';
import { checkFolder, checkPath, findFolder } from './path.ts';
import { createMissing } from './plan.ts';
import type { Caller, CheckedEdit, StoredFile, WorkspaceStore } from './store.ts';
import type { ChangedFile, Edit, FileInfo, FolderInfo, LineRange, Listing, TextLines, Workspace } from './workspace.ts';

/** The default for the maximum number of entries in a listing. */
const usualLimit = 1_000;
/** The maximum number of entries in a listing. */
const mostEntries = 10_000;
/** The default limit of `readLines` in bytes. */
const usualBytes = 262_144;
/** The maximum number of edits in one change. */
const mostEdits = 1_000;
/** The maximum number of existing paths that are compared with a missing path. */
const mostCompared = 1_000;
/** The maximum length of a note's key in characters. */
const longestKey = 256;

/** Makes a workspace from a store. The workspace checks paths and ranges. Its errors say how to fix a mistake. */
export function createWorkspace(store: WorkspaceStore, caller?: Caller): Workspace {
	const change = async (edits: readonly Edit[], result?: unknown): Promise<readonly ChangedFile[]> =>
		explainMissing(store, () => {
			assertOpen(caller);
			return store.change(checkEdits(edits), caller, result);
		});
	const changeOne = async (edit: Edit): Promise<ChangedFile> => {
		const [changed] = await change([edit]);
		if (changed === undefined) throw new RunletError('internal', 'The change of a file was not told.');
		return changed;
	};
	return {
		list: async ({ path = '', recursive = false, limit = usualLimit, after } = {}): Promise<Listing> => {
			const folder = checkFolder(path);
			if (folder !== '' && (await store.find(folder)) !== 'folder') throw await createNoFolder(store, folder);
			const most = checkCount(limit, 'limit', mostEntries);
			const entries = await store.list({ path: folder, recursive, limit: most + 1, after });
			return { entries: entries.slice(0, most), truncated: entries.length > most };
		},
		stat: async (path) => findInfo(store, path),
		read: async (path, { from = 0, to } = {}) => {
			const file = await findFile(store, checkPath(path));
			const end = Math.min(to ?? file.size, file.size);
			return store.read(file, Math.min(checkPlace(from, 'from'), end), checkPlace(end, 'to'));
		},
		readLines: async (path, range = {}) => {
			const checked = checkPath(path);
			return readLines(store, checked, await findFile(store, checked), range);
		},
		write: (path, content) => changeOne({ type: 'write', path, content }),
		delete: (path) => changeOne({ type: 'delete', path }),
		move: (from, to) => changeOne({ type: 'move', from, to }),
		change,
		changes: async ({ limit = 100, cursor } = {}) => {
			const most = checkCount(limit, 'limit', mostEntries);
			const changes = await store.changes(most + 1, cursor);
			const last = changes.length > most ? changes[most - 1]?.id : undefined;
			return { changes: changes.slice(0, most), ...(last !== undefined && { cursor: last }) };
		},
		undo: async (steps = 1) => {
			assertOpen(caller);
			return store.undo(checkCount(steps, 'steps', mostEdits), caller);
		},
		readNote: async (key) => store.readNote(checkKey(key)),
		forCall: (callId, signal) => createWorkspace(store, { callId, step: store.nameStep(callId), signal }),
		recall: async () => (caller === undefined ? undefined : store.recall(caller)),
	};
}

/** Throws `cancelled` if the call has ended, because the result of the call is already reported. */
export function assertOpen(caller: Caller | undefined): void {
	if (caller?.signal?.aborted !== true) return;
	throw new RunletError('cancelled', 'workspace: this call has ended, and can change files no more.');
}

/** Converts a text to UTF-8. Copies a `Uint8Array`, because the caller can change it later. */
export function toBytes(content: unknown, field: string): Uint8Array {
	if (content instanceof Uint8Array) return content.slice();
	if (typeof content === 'string') return new TextEncoder().encode(content);
	throw new RunletError('invalid_argument', `${field}: a file is a text or a Uint8Array.`, { field });
}

function checkEdits(edits: readonly Edit[]): readonly CheckedEdit[] {
	if (edits.length > mostEdits)
		throw createFieldError('invalid_argument', 'edits', `at most ${mostEdits} at a time. Make several changes.`);
	return edits.map((edit): CheckedEdit => {
		if (edit.type === 'note') return { ...edit, key: checkKey(edit.key) };
		if (edit.type === 'move') return { ...edit, from: checkPath(edit.from, 'from'), to: checkPath(edit.to, 'to') };
		const path = checkPath(edit.path);
		return edit.type === 'delete' ? { ...edit, path } : { ...edit, path, content: toBytes(edit.content, 'content') };
	});
}

function checkKey(key: string): string {
	if (typeof key === 'string' && key !== '' && key.length <= longestKey) return key;
	throw createFieldError('invalid_argument', 'key', `a text of 1 to ${longestKey} characters.`);
}

function checkCount(count: number, field: string, most: number): number {
	if (Number.isInteger(count) && count >= 1 && count <= most) return count;
	throw new RunletError('invalid_argument', `${field}: a whole number from 1 to ${most}.`, { field });
}

function checkPlace(place: number, field: string): number {
	if (Number.isInteger(place) && place >= 0) return place;
	throw new RunletError('invalid_argument', `${field}: a whole number from 0 on.`, { field });
}

async function findInfo(store: WorkspaceStore, given: string): Promise<FileInfo | FolderInfo | undefined> {
	const path = checkFolder(given);
	const found = await store.find(path);
	if (found === undefined) return undefined;
	if (found === 'folder') return { path, type: 'folder' };
	const { size, lines, version, modifiedAt } = found;
	return {
		path,
		type: 'file',
		size,
		mime: findMime(path, found),
		modifiedAt: new Date(modifiedAt).toISOString(),
		...(lines !== undefined && { lines }),
		version,
	};
}

async function findFile(store: WorkspaceStore, path: string): Promise<StoredFile> {
	const found = await store.find(path);
	if (found === 'folder')
		throw createFieldError('invalid_argument', 'path', `${path} is a folder. Use list_files to see what is in it.`);
	if (found === undefined) throw createMissing(path, await findNear(store, path));
	return found;
}

async function readLines(
	store: WorkspaceStore,
	path: string,
	file: StoredFile,
	{ fromLine = 1, toLine, maxBytes = usualBytes }: LineRange,
): Promise<TextLines> {
	const { lines, size } = file;
	if (lines === undefined)
		throw createFieldError(
			'invalid_argument',
			'path',
			`${path} is no text but ${findMime(path, file)} of ${size} bytes. file_info describes it.`,
		);
	const first = checkCount(fromLine, 'fromLine', Number.MAX_SAFE_INTEGER);
	if (first > Math.max(lines, 1))
		throw createFieldError('invalid_argument', 'fromLine', `${path} has ${lines} lines. Begin at ${lines} or before.`);
	const last = Math.min(checkCount(toLine ?? Number.MAX_SAFE_INTEGER, 'toLine', Number.MAX_SAFE_INTEGER), lines);
	if (toLine !== undefined && toLine < first)
		throw createFieldError('invalid_argument', 'toLine', `${toLine} is before fromLine, ${first}. Swap them.`);
	const from = await store.findLine(file, first);
	const to = await store.findLine(file, last + 1);
	const bytes = await store.read(file, from, Math.min(to, from + maxBytes));
	if (from + bytes.length === to) return { text: decode(bytes), fromLine: first, toLine: last, lines, isCut: false };
	const whole = countWholeLines(bytes);
	const kept = whole === 0 ? bytes : bytes.subarray(0, skipLines(bytes, whole));
	return { text: decode(kept), fromLine: first, toLine: first + Math.max(whole, 1) - 1, lines, isCut: whole === 0 };
}

function countWholeLines(bytes: Uint8Array): number {
	let count = 0;
	for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count++;
	return count;
}

/** Decodes UTF-8. Drops an incomplete character at the end of the bytes. */
function decode(bytes: Uint8Array): string {
	return new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes, { stream: true });
}

async function createNoFolder(store: WorkspaceStore, path: string): Promise<RunletError> {
	if ((await store.find(path)) !== undefined)
		return createFieldError('invalid_argument', 'path', `${path} is a file. Use read_file to see it.`);
	const near = await findNear(store, path);
	const remedy = near === undefined ? 'list_files without a path shows what there is.' : `Did you mean ${near}?`;
	return createFieldError('not_found', 'path', `there is no folder ${path}. ${remedy}`);
}

/** Runs `work`. If a file is missing, adds the most similar path to the error. */
async function explainMissing<T>(store: WorkspaceStore, work: () => T | Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		const path = error instanceof RunletError && error.code === 'not_found' ? error.data?.path : undefined;
		throw typeof path === 'string' ? createMissing(path, await findNear(store, path)) : error;
	}
}

/** Finds the path that was probably meant: a similar path in the folder, or a file with the same name. */
async function findNear(store: WorkspaceStore, path: string): Promise<string | undefined> {
	const folder = findFolder(path);
	const inside = await store.list({ path: folder, recursive: false, limit: mostCompared });
	const near = findNearest(
		path,
		inside.map((entry) => entry.path),
	);
	if (near !== undefined) return near;
	const all = (await store.list({ path: '', recursive: true, limit: mostCompared })).map((entry) => entry.path);
	const name = path.slice(folder === '' ? 0 : folder.length + 1);
	return all.find((one) => one === name || one.endsWith(`/${name}`)) ?? findNearest(path, all);
}
