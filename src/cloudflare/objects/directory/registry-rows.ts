import type { DurableObjectStorage } from '@cloudflare/workers-types';

type Row = {
	name: string;
	version: string;
	definition: string;
	sealed: string | null;
	created_at: number;
	updated_at: number;
};

const columns = 'name, version, definition, sealed, created_at, updated_at';

import type { Entry, EntryChange, EntryKind, EntryOutcome } from './registry.ts';

/** The methods are synchronous. `RegistryApi` describes them. */
export class RegistryStore {
	readonly #storage: DurableObjectStorage;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
	}

	put({ kind, name, definition, sealed, replaces, most }: EntryChange, now: number): EntryOutcome {
		const { sql } = this.#storage;
		return this.#storage.transactionSync(() => {
			const before = this.get(kind, name);
			if (before?.version !== replaces) return 'changed';
			if (before === undefined && this.#count(kind) >= most) return 'full';
			sql.exec(
				`INSERT INTO entry (kind, ${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (kind, name) DO UPDATE SET version = excluded.version, definition = excluded.definition,
					sealed = excluded.sealed, updated_at = excluded.updated_at`,
				...[kind, name, crypto.randomUUID(), definition, sealed ?? null, now, now],
			);
			return 'stored';
		});
	}

	get(kind: EntryKind, name: string): Entry | undefined {
		const rows = this.#storage.sql.exec<Row>(`SELECT ${columns} FROM entry WHERE kind = ? AND name = ?`, kind, name);
		return rows.toArray().map(toEntry)[0];
	}

	list(kind: EntryKind): Entry[] {
		const rows = this.#storage.sql.exec<Row>(`SELECT ${columns} FROM entry WHERE kind = ? ORDER BY name`, kind);
		return rows.toArray().map(toEntry);
	}

	remove(kind: EntryKind, name: string): boolean {
		const rows = this.#storage.sql.exec('DELETE FROM entry WHERE kind = ? AND name = ? RETURNING name', kind, name);
		return rows.toArray().length > 0;
	}

	#count(kind: EntryKind): number {
		return this.#storage.sql.exec<{ n: number }>('SELECT count(*) AS n FROM entry WHERE kind = ?', kind).one().n;
	}
}

function toEntry({ sealed, created_at: createdAt, updated_at: updatedAt, ...rest }: Row): Entry {
	return { ...rest, ...(sealed !== null && { sealed }), createdAt, updatedAt };
}
