import { joinBytes } from '../../../core/ground/bytes.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import { type ContentInfo, markedLines } from '../../../core/workspace/content.ts';
import type { StoredFile } from '../../../core/workspace/store.ts';
import type { Sql } from '../../objects/migrate.ts';

/** What a file's bytes are found by: a number, which is the file's version, and a key if they are in the bucket. */
export interface ContentRef {
	readonly id: number;
	readonly key?: string;
}

/** A file of a session. */
export type SessionFile = StoredFile<ContentRef>;

/** Bytes that are about to be stored, or that the bucket has under a key. */
export type NewContent = ContentInfo & ({ readonly bytes: Uint8Array } | { readonly key: string });

/** The columns of a content, for a query that joins them. */
export const contentColumns =
	'content.id, content.size, content.lines, content.bucket_key, content.modified_at AS modified';

/** A row of these columns. */
export type ContentRow = {
	id: number | null;
	size: number | null;
	lines: number | null;
	bucket_key: string | null;
	modified: number | null;
};

/** Bytes of a piece. A row may hold 2 MB. */
const pieceBytes = 1_048_576;
/** Places of lines in a row, of four bytes each. */
const placesInRow = 65_536;

/** What files hold or held. A content never changes. */
export class ContentRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	get(id: number): SessionFile | undefined {
		const [row] = this.#sql.exec<ContentRow>(`SELECT ${contentColumns} FROM content WHERE id = ?`, id).toArray();
		return row && toFile(row);
	}

	/** @param refs how many files and entries of the journal need it */
	add({ version: id, size, lines, content, modifiedAt }: SessionFile, given: NewContent, refs: number): void {
		this.#sql.exec(
			'INSERT INTO content (id, size, lines, bucket_key, refs, modified_at) VALUES (?, ?, ?, ?, ?, ?)',
			...[id, size, lines ?? null, content.key ?? null, refs, modifiedAt],
		);
		for (let part = 0; 'bytes' in given && part * pieceBytes < size; part++)
			this.#sql.exec(
				'INSERT INTO piece (content, part, bytes) VALUES (?, ?, ?)',
				...[id, part, given.bytes.slice(part * pieceBytes, (part + 1) * pieceBytes).buffer],
			);
		// The first line of a file begins at 0.
		for (let part = 0; given.marks.length > 1 && part * placesInRow < given.marks.length; part++)
			this.#sql.exec(
				'INSERT INTO mark (content, part, places) VALUES (?, ?, ?)',
				...[id, part, packPlaces(given.marks.slice(part * placesInRow, (part + 1) * placesInRow))],
			);
	}

	/** Counts who needs a content. Returns it if nobody does any more: then it is gone. */
	count(id: number, by: number): SessionFile | undefined {
		const changed = 'UPDATE content SET refs = refs + ? WHERE id = ? RETURNING refs';
		const [row] = this.#sql.exec<{ refs: number }>(changed, by, id).toArray();
		if (row === undefined || row.refs > 0) return undefined;
		const file = this.get(id);
		this.#sql.exec('DELETE FROM content WHERE id = ?', id);
		this.#sql.exec('DELETE FROM piece WHERE content = ?', id);
		this.#sql.exec('DELETE FROM mark WHERE content = ?', id);
		return file;
	}

	/** Reads bytes that are stored here. Throws `not_found` if they are gone meanwhile. */
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

	/** The place where a marked line begins. */
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

/** A file of a joined row; nothing for a folder. */
export function toFile({ id, size, lines, bucket_key: key, modified }: ContentRow): SessionFile | undefined {
	if (id === null || size === null || modified === null) return undefined;
	return {
		size,
		...(lines !== null && { lines }),
		version: id,
		content: { id, ...(key !== null && { key }) },
		modifiedAt: modified,
	};
}

/** The error for bytes that were replaced while somebody read them. */
export function createGone(): RunletError {
	return new RunletError('not_found', 'path: the file was replaced while it was read. Read it again.', {
		field: 'path',
	});
}

function packPlaces(places: readonly number[]): ArrayBuffer {
	const packed = new DataView(new ArrayBuffer(4 * places.length));
	for (const [at, place] of places.entries()) packed.setUint32(4 * at, place, true);
	return packed.buffer;
}
