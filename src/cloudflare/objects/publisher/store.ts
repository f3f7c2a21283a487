import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
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

const begunSchema = v.array(v.tuple([v.string(), v.nullable(v.string())]));

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

	/** Remembers the keys of values that are now written to KV, until `settle`. The keys of texts have their skills. */
	begin(keys: ReadonlyMap<string, string | undefined>): void {
		this.#storage.sql.exec("INSERT OR REPLACE INTO part VALUES ('keys', 0, ?)", JSON.stringify([...keys]));
	}

	/** Returns the keys of values that an interrupted write possibly left in KV. */
	readBegun(): Map<string, string | undefined> {
		const keys = v.parse(begunSchema, JSON.parse(this.#text('keys') ?? '[]'));
		return new Map(keys.map(([key, skill]) => [key, skill ?? undefined]));
	}

	/** Stores the last write. Undefined removes everything. */
	save(written: Written | undefined): void {
		this.#storage.transactionSync(() => {
			const { sql } = this.#storage;
			sql.exec("DELETE FROM part WHERE document <> 'keys'");
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

	/** Notes that KV has the last write. */
	settle(): void {
		this.#storage.transactionSync(() => {
			this.#storage.sql.exec('UPDATE written SET pending = 0');
			this.#storage.sql.exec("DELETE FROM part WHERE document = 'keys'");
		});
	}

	#text(document: keyof Documents | 'keys'): string | null {
		const rows = this.#storage.sql
			.exec<{ text: string }>('SELECT text FROM part WHERE document = ? ORDER BY position', document)
			.toArray();
		return rows.length === 0 ? null : rows.map(({ text }) => text).join('');
	}
}

/** `part` has the last documents, in pieces that fit a row, and the keys of an unfinished write. `written` has the time, and whether KV has them. */
const tables = `
	CREATE TABLE part (document TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (document, position)) WITHOUT ROWID;
	CREATE TABLE written (id INTEGER PRIMARY KEY CHECK (id = 0), at INTEGER NOT NULL, pending INTEGER NOT NULL);
`;

const schema: Schema = { tables, migrations: [] };
