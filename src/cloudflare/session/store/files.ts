import { joinBytes } from '../../../core/base/bytes.ts';
import { createFieldError, type RunletError } from '../../../core/base/errors.ts';
import { close } from '../../../core/chat/event.ts';
import { type ContentInfo, markedLines } from '../../../core/workspace/content.ts';
import { findFolder, listFolders } from '../../../core/workspace/path.ts';
import type { Files } from '../../../core/workspace/plan.ts';
import type { ListQuery, StoredFile } from '../../../core/workspace/store.ts';
import type { ListedEntry } from '../../../core/workspace/workspace.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { CachingSql } from './tables.ts';

/** A content of a file. `id` is also the version of the file. `key` is the key of the bytes in the bucket. */
export interface ContentRef {
	readonly id: number;
	readonly key?: string;
}

export type SessionFile = StoredFile<ContentRef>;

export type NewContent = ContentInfo & ({ readonly bytes: Uint8Array } | { readonly key: string });

const contentColumns = 'content.id, content.size, content.lines, content.bucket_key, content.modified_at AS modified';

type ContentRow = {
	id: number | null;
	size: number | null;
	lines: number | null;
	bucket_key: string | null;
	modified: number | null;
};

/** The maximum size of a piece in bytes. A row can hold 2 MB. */
const pieceBytes = 1_048_576;
/** The maximum number of line positions in a row. A position has four bytes. */
const placesInRow = 65_536;

/** The contents of files and of earlier versions. A content never changes. */
export class ContentRows {
	readonly #sql: CachingSql;

	constructor(sql: CachingSql) {
		this.#sql = sql;
	}

	get(id: number): SessionFile | undefined {
		const [row] = this.#sql.exec<ContentRow>(`SELECT ${contentColumns} FROM content WHERE id = ?`, id).toArray();
		return row && toFile(row);
	}

	/** @param refs the number of files and journal entries that need the content */
	add({ version: id, size, lines, content, modifiedAt }: SessionFile, added: NewContent, refs: number): void {
		this.#sql.write(
			'content',
			'INSERT INTO content (id, size, lines, bucket_key, refs, modified_at) VALUES (?, ?, ?, ?, ?, ?)',
			...[id, size, lines ?? null, content.key ?? null, refs, modifiedAt],
		);
		for (let part = 0; 'bytes' in added && part * pieceBytes < size; part++)
			this.#sql.exec(
				'INSERT INTO piece (content, part, bytes) VALUES (?, ?, ?)',
				...[id, part, added.bytes.slice(part * pieceBytes, (part + 1) * pieceBytes).buffer],
			);
		// If there is only one mark, the mark is 0 and needs no row.
		for (let part = 0; added.marks.length > 1 && part * placesInRow < added.marks.length; part++)
			this.#sql.exec(
				'INSERT INTO mark (content, part, places) VALUES (?, ?, ?)',
				...[id, part, packPlaces(added.marks.slice(part * placesInRow, (part + 1) * placesInRow))],
			);
	}

	/** Changes the reference count of a content. Removes and returns the content if no reference is left. */
	count(id: number, by: number): SessionFile | undefined {
		const changed = 'UPDATE content SET refs = refs + ? WHERE id = ? RETURNING refs';
		const [row] = this.#sql.exec<{ refs: number }>(changed, by, id).toArray();
		if (row === undefined || row.refs > 0) return undefined;
		const file = this.get(id);
		this.#sql.write('content', 'DELETE FROM content WHERE id = ?', id);
		this.#sql.exec('DELETE FROM piece WHERE content = ?', id);
		this.#sql.exec('DELETE FROM mark WHERE content = ?', id);
		return file;
	}

	/** Reads bytes from the rows. Throws `not_found` if they were removed. */
	read(id: number, from: number, to: number): Uint8Array {
		const found: Uint8Array[] = [];
		for (let at = from; at < to; ) {
			const part = Math.floor(at / pieceBytes);
			const begin = at - part * pieceBytes;
			const length = Math.min(pieceBytes - begin, to - at);
			const query = 'SELECT substr(bytes, ?, ?) AS bytes FROM piece WHERE content = ? AND part = ?';
			const [row] = this.#sql.exec<{ bytes: ArrayBuffer }>(query, begin + 1, length, id, part).toArray();
			if (row === undefined) throw createGone();
			found.push(new Uint8Array(row.bytes));
			at += length;
		}
		return found.length === 1 && found[0] !== undefined ? found[0] : joinBytes(...found);
	}

	/** Keeps a piece of a file that an import receives. It belongs to no content yet. */
	keepPiece(at: number, bytes: Uint8Array): void {
		for (let from = 0; from < bytes.length; from += pieceBytes)
			this.#sql.exec(
				'INSERT INTO piece (content, part, bytes) VALUES (0, ?, ?)',
				...[at + from, bytes.slice(from, from + pieceBytes).buffer],
			);
	}

	/** Streams the kept pieces from the first byte on. */
	streamPieces(): ReadableStream<Uint8Array> {
		let at = 0;
		return new ReadableStream({
			type: 'bytes',
			pull: (controller) => {
				const query = 'SELECT bytes FROM piece WHERE content = 0 AND part = ?';
				const [row] = this.#sql.exec<{ bytes: ArrayBuffer }>(query, at).toArray();
				at += row?.bytes.byteLength ?? 0;
				if (row === undefined) close(controller);
				else controller.enqueue(new Uint8Array(row.bytes));
			},
		});
	}

	dropPieces(): void {
		this.#sql.exec('DELETE FROM piece WHERE content = 0');
	}

	/** Returns the byte position of a marked line. */
	findMark({ version: id, size, lines = 0 }: SessionFile, mark: number): number {
		if (mark === 0) return 0;
		if (mark * markedLines >= lines) return size;
		const [part, at] = [Math.floor(mark / placesInRow), mark % placesInRow];
		const query = 'SELECT substr(places, ?, 4) AS place FROM mark WHERE content = ? AND part = ?';
		const [row] = this.#sql.exec<{ place: ArrayBuffer }>(query, 4 * at + 1, id, part).toArray();
		if (row === undefined) throw createGone();
		return new DataView(row.place).getUint32(0, true);
	}
}

/** Returns nothing for a folder. */
function toFile({ id, size, lines, bucket_key: key, modified }: ContentRow): SessionFile | undefined {
	if (id === null || size === null || modified === null) return undefined;
	return {
		size,
		...(lines !== null && { lines }),
		version: id,
		content: { id, ...(key !== null && { key }) },
		modifiedAt: modified,
	};
}

export function createGone(): RunletError {
	return createFieldError('not_found', 'path', 'the file was replaced while it was read. Read it again.');
}

function packPlaces(places: readonly number[]): ArrayBuffer {
	const packed = new DataView(new ArrayBuffer(4 * places.length));
	for (const [at, place] of places.entries()) packed.setUint32(4 * at, place, true);
	return packed.buffer;
}

export interface PlacedFile {
	readonly path: string;
	readonly file: SessionFile;
}

type Row = ContentRow & { path: string };

const select = `SELECT file.path, ${contentColumns} FROM file LEFT JOIN content ON content.id = file.content`;

/** The paths of the workspace. A folder has a row as long as a file is below it. */
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

/** Returns the bounds of all paths below a folder. `0` is the character after the slash. */
function toRange(folder: string): readonly [from: string, to: string] {
	return [`${folder}/`, `${folder}0`];
}
