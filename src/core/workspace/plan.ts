import { createFieldError, RunletError } from '../base/errors.ts';
import { listFolders } from './path.ts';
import type { CheckedEdit, StoredFile } from './store.ts';
import type { ChangedFile } from './workspace.ts';

export interface Files<C> {
	find(path: string): StoredFile<C> | 'folder' | undefined;
	/** Whether there is a file below a path. Ignores the files in `gone`. */
	hasBelow(path: string, gone: ReadonlySet<string>): boolean;
}

/** A file before and after a change. `undefined` means that there is no file. */
export interface Replacement<C> {
	readonly path: string;
	readonly before?: StoredFile<C>;
	readonly after?: StoredFile<C>;
}

interface Plan<C> {
	readonly files: readonly Replacement<C>[];
	readonly changed: readonly ChangedFile[];
	readonly notes: ReadonlyMap<string, unknown>;
}

/** Makes the new file for a `write`, with a version that was never used before. */
type Prepare<C> = (edit: Extract<CheckedEdit, { type: 'write' }>) => StoredFile<C>;

/** Plans edits without changing files. Throws `not_found`, `conflict` or `invalid_argument` for an impossible edit. */
export function planEdits<C>(edits: readonly CheckedEdit[], files: Files<C>, prepare: Prepare<C>): Plan<C> {
	const after = new Map<string, StoredFile<C> | undefined>();
	const cameFrom = new Map<string, string>();
	const notes = new Map<string, unknown>();
	const findBase = (path: string): StoredFile<C> | undefined => {
		const found = files.find(path);
		return found === 'folder' ? undefined : found;
	};
	const find = (path: string): StoredFile<C> | undefined => (after.has(path) ? after.get(path) : findBase(path));
	const take = (path: string): StoredFile<C> => {
		const file = find(path);
		if (file !== undefined) return file;
		if (files.find(path) === 'folder')
			throw createFieldError('invalid_argument', 'path', `${path} is a folder. Name a file in it.`);
		throw createMissing(path);
	};
	const expect = (path: string, version: number | null | undefined): void => {
		if (version !== undefined && version !== (find(path)?.version ?? null)) throw createConflict(path);
	};
	for (const edit of edits) {
		switch (edit.type) {
			case 'note':
				notes.set(edit.key, edit.value);
				break;
			case 'write':
				expect(edit.path, edit.ifVersion);
				after.set(edit.path, prepare(edit));
				break;
			case 'delete':
				expect(edit.path, edit.ifVersion);
				take(edit.path);
				after.set(edit.path, undefined);
				cameFrom.delete(edit.path);
				break;
			case 'move': {
				expect(edit.from, edit.ifVersion);
				const file = take(edit.from);
				if (edit.from === edit.to || find(edit.to) !== undefined)
					throw createFieldError(
						'invalid_argument',
						'to',
						`${edit.to} is a file already. Choose another path, or delete that file first.`,
					);
				after.set(edit.from, undefined);
				after.set(edit.to, file);
				cameFrom.set(edit.to, cameFrom.get(edit.from) ?? edit.from);
				cameFrom.delete(edit.from);
				break;
			}
			default:
				edit satisfies never;
		}
	}
	const replaced = [...after].map(([path, file]) => ({ path, before: findBase(path), after: file }));
	const changes = replaced.filter((one) => one.before?.version !== one.after?.version);
	assertTree(changes, files);
	return { files: changes, changed: describeChanges(changes, cameFrom), notes };
}

/** Describes how each file changes. A moved file is listed once, at its new path. */
export function describeChanges(
	replaced: readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[],
	cameFrom: ReadonlyMap<string, string>,
): readonly ChangedFile[] {
	const isGone = (path: string): boolean => replaced.some((one) => one.path === path && one.after === undefined);
	const left = new Set([...cameFrom.values()].filter(isGone));
	return replaced.flatMap(({ path, before, after }): ChangedFile[] => {
		const from = cameFrom.get(path);
		if (after === undefined) return left.has(path) ? [] : [{ path, kind: 'deleted' }];
		if (from !== undefined && left.has(from)) return [{ path, kind: 'moved', from }];
		return [{ path, kind: before === undefined ? 'created' : 'changed' }];
	});
}

/** Throws if a file would be inside another file. */
function assertTree<C>(replaced: readonly Replacement<C>[], files: Files<C>): void {
	const made = new Set(replaced.flatMap(({ path, after }) => (after === undefined ? [] : [path])));
	const gone = new Set(replaced.flatMap(({ path, after }) => (after === undefined ? [path] : [])));
	const isFile = (path: string): boolean => {
		if (made.has(path)) return true;
		const found = gone.has(path) ? undefined : files.find(path);
		return found !== undefined && found !== 'folder';
	};
	for (const path of made) {
		const above = listFolders(path).find(isFile);
		if (above !== undefined) throw createBelowFile(path, above);
		if (files.hasBelow(path, gone)) throw createIsFolder(path);
	}
}

export function createBelowFile(path: string, above: string): RunletError {
	return createFieldError(
		'invalid_argument',
		'path',
		`${path} would be below ${above}, which is a file. Choose another folder, or move ${above} away first.`,
	);
}

export function createIsFolder(path: string): RunletError {
	return createFieldError('invalid_argument', 'path', `${path} is a folder. Choose the path of a file.`);
}

export function createMissing(path: string, near?: string): RunletError {
	const remedy = near === undefined ? 'list_files shows what there is.' : `Did you mean ${near}?`;
	return new RunletError('not_found', `path: there is no file ${path}. ${remedy}`, { field: 'path', path });
}

function createConflict(path: string): RunletError {
	return new RunletError('conflict', `${path} was changed meanwhile, so nothing was changed. Read it again first.`, {
		path,
	});
}

/** An entry of the journal: one change, with each file before and after the change. */
export interface Entry<C> {
	/** The step to which the change belongs. Missing for changes by people and for an undo. */
	readonly step?: unknown;
	readonly files: readonly Replacement<C>[];
	readonly changed: readonly ChangedFile[];
	/** Whether the change has been undone. */
	readonly isUndone: boolean;
}

/** A planned undo. */
interface UndoPlan<C, E extends Entry<C>> {
	readonly entries: readonly E[];
	readonly files: readonly Replacement<C>[];
	/** The changes that are undone, newest first. */
	readonly undone: readonly ChangedFile[];
	/** The changes that the undo itself makes. */
	readonly changed: readonly ChangedFile[];
}

/** Plans the undo of the newest steps without changing anything. The journal begins with the newest entry. */
export function planUndo<C, E extends Entry<C>>(
	journal: Iterable<E>,
	steps: number,
	current: Pick<Files<C>, 'find'>,
): UndoPlan<C, E> {
	const entries = selectSteps<C, E>(journal, steps);
	const files = new Map<string, Replacement<C>>();
	for (const entry of entries) {
		for (const { path, before, after } of entry.files) {
			const found = current.find(path);
			const file = found === 'folder' ? undefined : found;
			const now = files.has(path) ? files.get(path)?.after : file;
			if (now?.version !== after?.version)
				throw new RunletError(
					'conflict',
					`${path} was changed since by somebody else, so nothing was undone. Read it, and edit it instead.`,
					{ path },
				);
			files.set(path, { path, before: file, after: before });
		}
	}
	const undone = entries.flatMap(({ changed }) => changed.toReversed());
	const replaced = [...files.values()].filter((one) => one.before?.version !== one.after?.version);
	const back = new Map(undone.flatMap(({ path, from }) => (from === undefined ? [] : [[from, path]])));
	return { entries, files: replaced, undone, changed: describeChanges(replaced, back) };
}

function selectSteps<C, E extends Entry<C>>(journal: Iterable<E>, steps: number): readonly E[] {
	const chosen = new Set<unknown>();
	const entries: E[] = [];
	for (const entry of journal) {
		const { step, isUndone } = entry;
		if (step === undefined || isUndone || entry.files.length === 0) continue;
		if (!chosen.has(step) && chosen.size === steps) continue;
		chosen.add(step);
		entries.push(entry);
	}
	if (chosen.size < steps) throw createTooFew(chosen.size);
	return entries;
}

function createTooFew(there: number): RunletError {
	const remedy = there === 0 ? 'There is nothing to undo.' : `Only ${there} can be undone. Ask for at most ${there}.`;
	return createFieldError('invalid_argument', 'steps', `${remedy}`);
}

/** The limits of a workspace. */
export interface Quota {
	readonly files: number;
	readonly bytes: number;
	/** The maximum size of one file in bytes. */
	readonly fileBytes: number;
}

export type Usage = Pick<Quota, 'files' | 'bytes'>;

export const usualQuota: Quota = { files: 20_000, bytes: 268_435_456, fileBytes: 33_554_432 };

/** Returns the usage after a change. Throws `too_large` if the usage would exceed the quota. */
export function addUsage({ files, bytes }: Usage, replaced: readonly Replacement<unknown>[], quota: Quota): Usage {
	let after = { files, bytes };
	for (const { path, before, after: file } of replaced) {
		after = {
			files: after.files + (file === undefined ? 0 : 1) - (before === undefined ? 0 : 1),
			bytes: after.bytes + (file?.size ?? 0) - (before?.size ?? 0),
		};
		if (file !== undefined && file.size > quota.fileBytes)
			throw createFull(`${path} has ${file.size} bytes, and a file at most ${quota.fileBytes}. Make it smaller.`);
	}
	// A change that frees space is never refused.
	if (after.files > quota.files && after.files > files)
		throw createFull(`the workspace holds at most ${quota.files} files. Delete some first.`);
	if (after.bytes > quota.bytes && after.bytes > bytes)
		throw createFull(`the workspace holds at most ${quota.bytes} bytes. Delete some files first.`);
	return after;
}

function createFull(what: string): RunletError {
	return createFieldError('too_large', 'workspace', `${what}`);
}
