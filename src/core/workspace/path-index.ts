import { findFolder, listFolders } from './path.ts';
import type { ListQuery } from './store.ts';

/** The paths of files and of their folders, sorted. A list costs what it returns. */
export class PathIndex {
	readonly #all: string[] = [];
	/** What stands directly in a folder. */
	readonly #inside = new Map<string, string[]>([['', []]]);
	/** How many files are below a folder. */
	readonly #counts = new Map<string, number>();

	isFolder(path: string): boolean {
		return path === '' || this.#counts.has(path);
	}

	add(path: string): void {
		for (const folder of listFolders(path)) {
			const count = this.#counts.get(folder) ?? 0;
			this.#counts.set(folder, count + 1);
			if (count === 0) this.#insert(folder);
		}
		this.#insert(path);
	}

	delete(path: string): void {
		this.#remove(path);
		for (const folder of listFolders(path).toReversed()) {
			const count = (this.#counts.get(folder) ?? 1) - 1;
			if (count > 0) this.#counts.set(folder, count);
			else {
				this.#counts.delete(folder);
				this.#remove(folder);
			}
		}
	}

	/** The paths below a folder, files and folders. */
	list({ path, recursive, limit, after = '' }: ListQuery): readonly string[] {
		const prefix = path === '' ? '' : `${path}/`;
		const paths = recursive ? this.#all : (this.#inside.get(path) ?? []);
		const found: string[] = [];
		for (let at = findPlace(paths, after > prefix ? `${after}\0` : prefix); found.length < limit; at++) {
			const one = paths[at];
			if (one?.startsWith(prefix) !== true) break;
			found.push(one);
		}
		return found;
	}

	/** Whether a file is below a path that is not among `gone`. */
	hasBelow(path: string, gone: ReadonlySet<string>): boolean {
		const prefix = `${path}/`;
		for (let at = findPlace(this.#all, prefix); this.#all[at]?.startsWith(prefix); at++) {
			const one = this.#all[at] ?? '';
			if (!gone.has(one) && !this.#counts.has(one)) return true;
		}
		return false;
	}

	#insert(path: string): void {
		insertSorted(this.#all, path);
		const folder = findFolder(path);
		const inside = this.#inside.get(folder) ?? [];
		this.#inside.set(folder, inside);
		insertSorted(inside, path);
	}

	#remove(path: string): void {
		removeSorted(this.#all, path);
		const folder = findFolder(path);
		const inside = this.#inside.get(folder) ?? [];
		removeSorted(inside, path);
		if (inside.length === 0 && folder !== '') this.#inside.delete(folder);
	}
}

/** The place of the first path that is not before this one. */
function findPlace(paths: readonly string[], path: string): number {
	let [low, high] = [0, paths.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((paths[middle] ?? '') < path) low = middle + 1;
		else high = middle;
	}
	return low;
}

function insertSorted(paths: string[], path: string): void {
	const at = findPlace(paths, path);
	if (paths[at] !== path) paths.splice(at, 0, path);
}

function removeSorted(paths: string[], path: string): void {
	const at = findPlace(paths, path);
	if (paths[at] === path) paths.splice(at, 1);
}
