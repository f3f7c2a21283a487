import { findFolder, listFolders } from '../../../core/workspace/path.ts';
import type { Files } from '../../../core/workspace/plan.ts';
import type { ListQuery } from '../../../core/workspace/store.ts';
import type { ListedEntry } from '../../../core/workspace/workspace.ts';
import type { Sql } from '../../objects/migrate.ts';
import { type ContentRef, type ContentRow, contentColumns, type SessionFile, toFile } from './contents.ts';

/** A file and where it is. */
export interface PlacedFile {
	readonly path: string;
	readonly file: SessionFile;
}

type Row = ContentRow & { path: string };

const select = `SELECT file.path, ${contentColumns} FROM file LEFT JOIN content ON content.id = file.content`;

/** The paths of the workspace. Folders have rows, too, as long as a file is below them. */
export class FileRows implements Files<ContentRef> {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	find(path: string): SessionFile | 'folder' | undefined {
		if (path === '') return 'folder';
		const [row] = this.#sql.exec<Row>(`${select} WHERE file.path = ?`, path).toArray();
		return row && (toFile(row) ?? 'folder');
	}

	hasBelow(path: string, gone: ReadonlySet<string>): boolean {
		const query = 'SELECT path FROM file WHERE path > ? AND path < ? AND content IS NOT NULL ORDER BY path';
		for (const row of this.#sql.exec<{ path: string }>(query, ...toRange(path))) if (!gone.has(row.path)) return true;
		return false;
	}

	list({ path, recursive, limit, after = '' }: ListQuery): readonly ListedEntry[] {
		return this.#select(path, recursive, after, limit).map((row) => {
			const file = toFile(row);
			return file === undefined
				? { path: row.path, type: 'folder' }
				: { path: row.path, type: 'file', size: file.size };
		});
	}

	/** Files behind a path, without folders, sorted by path. */
	listFiles(after: string, limit: number): readonly PlacedFile[] {
		const query = `${select} WHERE file.path > ? AND file.content IS NOT NULL ORDER BY file.path LIMIT ?`;
		const rows = this.#sql.exec<Row>(query, after, limit).toArray();
		return rows.flatMap((row) => {
			const file = toFile(row);
			return file === undefined ? [] : [{ path: row.path, file }];
		});
	}

	add(path: string, content: number): void {
		this.#insert(path, content);
		for (const folder of listFolders(path).toReversed()) {
			if (this.#sql.exec('SELECT 1 FROM file WHERE path = ?', folder).toArray().length > 0) return;
			this.#insert(folder, null);
		}
	}

	replace(path: string, content: number): void {
		this.#sql.exec('UPDATE file SET content = ? WHERE path = ?', content, path);
	}

	/** Removes a file, and its folders as far as nothing else is in them. */
	remove(path: string): void {
		this.#sql.exec('DELETE FROM file WHERE path = ?', path);
		for (const folder of listFolders(path).toReversed()) {
			const query = 'SELECT 1 FROM file WHERE path > ? AND path < ? LIMIT 1';
			if (this.#sql.exec(query, ...toRange(folder)).toArray().length > 0) return;
			this.#sql.exec('DELETE FROM file WHERE path = ?', folder);
		}
	}

	#insert(path: string, content: number | null): void {
		const row = [path, findFolder(path), content];
		this.#sql.exec('INSERT INTO file (path, folder, content) VALUES (?, ?, ?)', ...row);
	}

	#select(path: string, recursive: boolean, after: string, limit: number): readonly Row[] {
		if (!recursive) {
			const query = `${select} WHERE file.folder = ? AND file.path > ? ORDER BY file.path LIMIT ?`;
			return this.#sql.exec<Row>(query, path, after, limit).toArray();
		}
		if (path === '')
			return this.#sql.exec<Row>(`${select} WHERE file.path > ? ORDER BY file.path LIMIT ?`, after, limit).toArray();
		const [from, to] = toRange(path);
		const query = `${select} WHERE file.path > ? AND file.path < ? ORDER BY file.path LIMIT ?`;
		return this.#sql.exec<Row>(query, after.startsWith(from) ? after : from, to, limit).toArray();
	}
}

/** Everything below a folder lies between these two: 0 is the character behind the slash. */
function toRange(folder: string): readonly [from: string, to: string] {
	return [`${folder}/`, `${folder}0`];
}
