import type { DurableObjectStorage } from '@cloudflare/workers-types';
import { migrate, type Schema } from '../migrate.ts';
import { splitRows } from '../storage.ts';

/** The KV documents that change in place. */
export interface Documents {
	readonly index: string | null;
	readonly retired: string | null;
}

/** The last write, at a time in milliseconds since 1970. It is `pending` until KV has stored it. */
export interface Written extends Documents {
	readonly at: number;
	readonly pending: boolean;
}

/** A publisher's copy of its last write. The methods are synchronous, and write all or nothing. */
export class PublisherStore {
	readonly #storage: DurableObjectStorage;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		storage.transactionSync(() => migrate(storage.sql, schema));
	}

	read(): Written | undefined {
		const [row] = this.#storage.sql.exec<{ at: number; pending: number }>('SELECT at, pending FROM written').toArray();
		if (row === undefined) return undefined;
		return { index: this.#text('index'), retired: this.#text('retired'), at: row.at, pending: row.pending === 1 };
	}

	/** Stores the last write. Undefined removes everything. */
	save(written: Written | undefined): void {
		this.#storage.transactionSync(() => {
			const { sql } = this.#storage;
			sql.exec('DELETE FROM part');
			sql.exec('DELETE FROM written');
			if (written === undefined) return;
			const { index, retired, at, pending } = written;
			for (const [document, text] of Object.entries({ index, retired })) {
				for (const [position, piece] of splitRows(text ?? '').entries())
					sql.exec('INSERT INTO part VALUES (?, ?, ?)', document, position, piece);
			}
			sql.exec('INSERT INTO written VALUES (0, ?, ?)', at, pending ? 1 : 0);
		});
	}

	settle(): void {
		this.#storage.sql.exec('UPDATE written SET pending = 0');
	}

	#text(document: keyof Documents): string | null {
		const rows = this.#storage.sql
			.exec<{ text: string }>('SELECT text FROM part WHERE document = ? ORDER BY position', document)
			.toArray();
		return rows.length === 0 ? null : rows.map(({ text }) => text).join('');
	}
}

/** `part` has the last documents, in pieces that fit a row. `written` has the time, and whether KV has them. */
const tables = `
	CREATE TABLE part (document TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (document, position)) WITHOUT ROWID;
	CREATE TABLE written (id INTEGER PRIMARY KEY CHECK (id = 0), at INTEGER NOT NULL, pending INTEGER NOT NULL);
`;

const schema: Schema = { tables, migrations: [] };
