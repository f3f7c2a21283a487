import { RunletError } from '../../base/errors.ts';
import type { ChangedFile, Edit, Workspace } from '../../workspace/index.ts';
import { checkPath, listFolders } from '../../workspace/path.ts';
import { createBelowFile, createIsFolder, describeChanges } from '../../workspace/plan.ts';
import { listFiles, openText } from '../files.ts';

/** A text before and after a draft. `undefined` means that there is no file. */
export interface DraftedText {
	readonly path: string;
	readonly from?: string;
	readonly before: string | undefined;
	readonly after: string | undefined;
}

interface Drafted {
	/** The path of the file in the workspace. Missing for a new file. */
	readonly origin?: string;
	/** The new text. Missing if the file is only moved. */
	readonly text?: string;
}

/** A draft of one change to several files. It does not change the workspace. */
export class Draft {
	readonly edits: Edit[] = [];
	readonly #workspace: Workspace;
	readonly #files = new Map<string, Drafted | undefined>();
	/** The version of each file that the draft has read. `null` means that there is no file. */
	readonly #versions = new Map<string, number | null>();

	constructor(workspace: Workspace) {
		this.#workspace = workspace;
	}

	get versions(): Readonly<Record<string, number | null>> {
		return Object.fromEntries(this.#versions);
	}

	async has(given: string): Promise<boolean> {
		const path = checkPath(given);
		if (this.#files.has(path)) return this.#files.get(path) !== undefined;
		return (await this.#look(path)) !== null;
	}

	/** Returns the text of a file. If there is no file, throws an error that names a similar path. */
	async read(given: string): Promise<string> {
		const path = checkPath(given);
		const drafted = this.#files.get(path);
		if (drafted?.text !== undefined) return drafted.text;
		if (this.#files.has(path) && drafted === undefined)
			throw new RunletError('invalid_argument', `path: ${path} is deleted or moved before. Name it as it is then.`);
		await this.#look(path);
		return (await openText(this.#workspace, drafted?.origin ?? path)).text;
	}

	async create(given: string, text: string): Promise<void> {
		const path = checkPath(given);
		if (await this.has(path))
			throw new RunletError('invalid_argument', `path: ${path} exists already. Change it, or delete it first.`);
		await this.write(path, text);
	}

	async write(given: string, text: string): Promise<void> {
		const path = checkPath(given);
		const origin = (await this.has(path)) ? (this.#files.get(path)?.origin ?? this.#findOrigin(path)) : undefined;
		this.edits.push({ type: 'write', path, content: text });
		this.#files.set(path, { origin, text });
	}

	async delete(given: string): Promise<void> {
		const path = checkPath(given);
		await this.#expect(path);
		this.edits.push({ type: 'delete', path });
		this.#files.set(path, undefined);
	}

	async move(from: string, given: string): Promise<void> {
		const [path, to] = [checkPath(from), checkPath(given, 'to')];
		await this.#expect(path);
		if (await this.has(to))
			throw new RunletError('invalid_argument', `to: ${to} exists already. Choose another path, or delete it first.`);
		this.edits.push({ type: 'move', from: path, to });
		this.#files.set(to, this.#files.get(path) ?? { origin: path });
		this.#files.set(path, undefined);
	}

	/** Throws if a file at this path would be inside another file, or would replace a folder. */
	async assertPlace(given: string): Promise<void> {
		const path = checkPath(given);
		if (this.#files.get(path) === undefined) return;
		for (const above of listFolders(path)) if (await this.has(above)) throw createBelowFile(path, above);
		const isBelow = [...this.#files].some(([other, file]) => file !== undefined && other.startsWith(`${path}/`));
		if (isBelow || (await this.#hasBelow(path))) throw createIsFolder(path);
	}

	/** Whether the workspace has files below a path. Ignores files that the draft removes. */
	async #hasBelow(path: string): Promise<boolean> {
		if ((await this.#workspace.stat(path))?.type !== 'folder') return false;
		for await (const file of listFiles(this.#workspace, path))
			if (!this.#files.has(file.path) || this.#files.get(file.path) !== undefined) return true;
		return false;
	}

	list(): readonly ChangedFile[] {
		const replaced = [...this.#files].map(([path, after]) => {
			return { path, before: this.#versions.get(path) ?? undefined, after };
		});
		const isChange = replaced.filter(({ before, after }) => before !== undefined || after !== undefined);
		return describeChanges(isChange, this.#listMoves());
	}

	/** Lists the texts before and after the draft. Leaves out files that are not text. */
	async listTexts(): Promise<readonly DraftedText[]> {
		const moves = this.#listMoves();
		const all = this.list().map(async ({ path, from }): Promise<DraftedText | undefined> => {
			try {
				const old = from ?? path;
				const before =
					typeof this.#versions.get(old) === 'number' ? (await openText(this.#workspace, old)).text : undefined;
				const drafted = this.#files.get(path);
				const after = drafted === undefined ? undefined : (drafted.text ?? before);
				return { path, ...(moves.has(path) && from !== undefined && { from }), before, after };
			} catch {
				return undefined;
			}
		});
		return (await Promise.all(all)).filter((text) => text !== undefined);
	}

	#findOrigin(path: string): string | undefined {
		return typeof this.#versions.get(path) === 'number' ? path : undefined;
	}

	#listMoves(): ReadonlyMap<string, string> {
		const moved = [...this.#files].flatMap(([path, file]): [string, string][] =>
			file?.origin === undefined || file.origin === path ? [] : [[path, file.origin]],
		);
		return new Map(moved);
	}

	/** Returns a file. If there is no file, throws an error that names a similar path. */
	async #expect(path: string): Promise<void> {
		if (await this.has(path)) return;
		if (this.#files.has(path))
			throw new RunletError('invalid_argument', `path: ${path} is deleted or moved before. Name it as it is then.`);
		await this.#workspace.read(path, { to: 0 });
	}

	async #look(path: string): Promise<number | null> {
		const known = this.#versions.get(path);
		if (known !== undefined) return known;
		const info = await this.#workspace.stat(path);
		const version = info?.type === 'file' ? info.version : null;
		this.#versions.set(path, version);
		return version;
	}
}

/** Makes the first edit of each file require the file's version. */
export function addVersions(
	edits: readonly Edit[],
	versions: Readonly<Record<string, number | null>>,
): readonly Edit[] {
	const seen = new Set<string>();
	return edits.map((edit) => {
		if (edit.type === 'note') return edit;
		const path = edit.type === 'move' ? edit.from : edit.path;
		const isFirst = !seen.has(path);
		seen.add(path);
		if (edit.type === 'move') seen.add(edit.to);
		return isFirst && Object.hasOwn(versions, path) ? { ...edit, ifVersion: versions[path] } : edit;
	});
}
