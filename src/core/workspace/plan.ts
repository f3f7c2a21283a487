import { RunletError } from '../ground/errors.ts';
import { listFolders } from './path.ts';
import type { CheckedEdit, StoredFile } from './store.ts';
import type { ChangedFile } from './workspace.ts';

/** What a plan asks of the files that are there. */
export interface Files<C> {
	find(path: string): StoredFile<C> | 'folder' | undefined;
	/** Whether a file is below a path that is not among `gone`. */
	hasBelow(path: string, gone: ReadonlySet<string>): boolean;
}

/** A file before and after a change. `undefined`: there is none. */
export interface Replacement<C> {
	readonly path: string;
	readonly before?: StoredFile<C>;
	readonly after?: StoredFile<C>;
}

/** What a change comes to: everything that a store has to write. */
export interface Plan<C> {
	readonly files: readonly Replacement<C>[];
	readonly changed: readonly ChangedFile[];
	readonly notes: ReadonlyMap<string, unknown>;
}

/** Makes the new file of a `write`, with a version that no file had. */
export type Prepare<C> = (edit: Extract<CheckedEdit, { type: 'write' }>) => StoredFile<C>;

/**
 * Finds what some edits come to, one after another. It changes nothing. Throws for the first edit that is not possible:
 * `not_found`, `conflict`, or `invalid_argument`.
 */
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
			throw new RunletError('invalid_argument', `path: ${path} is a folder. Name a file in it.`, { field: 'path' });
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
					throw new RunletError(
						'invalid_argument',
						`to: ${edit.to} is a file already. Choose another path, or delete that file first.`,
						{ field: 'to' },
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

/** Says what became of each file. A file that moved is told once, at its new place. */
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

/** Throws if a file would be below a file. */
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

/** The failure for a file that would be below a file. */
export function createBelowFile(path: string, above: string): RunletError {
	return new RunletError(
		'invalid_argument',
		`path: ${path} would be below ${above}, which is a file. Choose another folder, or move ${above} away first.`,
		{ field: 'path' },
	);
}

/** The failure for a file that would be where a folder is. */
export function createIsFolder(path: string): RunletError {
	return new RunletError('invalid_argument', `path: ${path} is a folder. Choose the path of a file.`, {
		field: 'path',
	});
}

/** The failure for a file that is not there. */
export function createMissing(path: string, near?: string): RunletError {
	const remedy = near === undefined ? 'list_files shows what there is.' : `Did you mean ${near}?`;
	return new RunletError('not_found', `path: there is no file ${path}. ${remedy}`, { field: 'path', path });
}

function createConflict(path: string): RunletError {
	return new RunletError('conflict', `${path} was changed meanwhile, so nothing was changed. Read it again first.`, {
		path,
	});
}
