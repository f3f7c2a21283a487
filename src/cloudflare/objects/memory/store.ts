import type { DurableObjectStorage } from '@cloudflare/workers-types';
import { RunletError } from '../../../core/base/errors.ts';
import { listFolders } from '../../../core/workspace/path.ts';
import { migrate, readMark, type Schema } from '../migrate.ts';
import { toIndexedText, tokenizer } from '../words.ts';
import {
	isSameSource,
	keepOutside,
	type MemoryChange,
	type MemoryPage,
	type MemoryRecord,
	type MemorySource,
	type NearQuery,
	type WrittenMemory,
} from './api.ts';
import { assertLength, assertTotal, joinRanks, toMatch } from './search.ts';
import { MemoryVectors } from './vectors.ts';

type Row = {
	id: number;
	path: string;
	text: string;
	version: string;
	source: string;
	created_at: number;
	updated_at: number;
};

const mostRanked = 100;

/** `MemoryApi` describes the methods, which are synchronous. A reading method creates no tables. */
export class MemoryStore {
	readonly #storage: DurableObjectStorage;
	readonly #vectors: MemoryVectors;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		this.#vectors = new MemoryVectors(storage.sql);
		if (this.#hasTables) storage.transactionSync(() => migrate(storage.sql, schema));
	}

	list({ cursor, limit }: { readonly cursor?: string; readonly limit: number }): MemoryPage {
		const rows = this.#read('SELECT * FROM memory WHERE path > ? ORDER BY path LIMIT ?', cursor ?? '', limit + 1);
		const memories = rows.slice(0, limit).map(toRecord);
		return rows.length > limit ? { memories, cursor: memories.at(-1)?.path } : { memories };
	}

	search(query: string, limit: number, near?: NearQuery): readonly MemoryRecord[] {
		const byWords = this.#rankByWords(query);
		if (near === undefined || !this.#hasTables) return this.#take(byWords.slice(0, limit));
		const byMeaning = this.#storage.transactionSync(() => {
			this.#vectors.keep(near.model, near.fresh);
			return this.#vectors.rank(near.model, near.vector);
		});
		return this.#take(joinRanks([byWords, byMeaning], limit));
	}

	listUnembedded(model: string, limit: number) {
		return this.#hasTables ? this.#vectors.listMissing(model, limit) : [];
	}

	get(path: string): MemoryRecord | undefined {
		const [row] = this.#read('SELECT * FROM memory WHERE path = ?', path);
		return row && toRecord(row);
	}

	put({ path, text, source, ifMatch, ifNoneMatch }: MemoryChange, now: number): WrittenMemory {
		assertLength(text);
		return this.#storage.transactionSync(() => {
			migrate(this.#storage.sql, schema);
			const before = this.get(path);
			// A request that is repeated after a lost answer finds its own change (RFC 9110, section 13.1.1).
			if (ifMatch !== undefined && before?.text === text) return { memory: before, isNew: false };
			if (ifMatch !== undefined) assertMatch(before, ifMatch);
			if (ifNoneMatch && before !== undefined)
				throw new RunletError('precondition_failed', `${path}: it is there already. Change it under its ETag.`);
			if (before === undefined) this.#assertFree(path);
			const memory = {
				path,
				text,
				version: crypto.randomUUID(),
				source,
				createdAt: before?.createdAt ?? now,
				updatedAt: now,
			};
			this.#write(memory);
			assertTotal(this.#measure());
			return { memory, isNew: before === undefined };
		});
	}

	rename(from: string, to: string, source: MemorySource, now: number): number {
		return this.#storage.transactionSync(() => {
			const before = this.#listUnder(from).map(toRecord);
			const there = this.#listUnder(to).map(toRecord);
			const isDone = before.length === 0 && there.some((memory) => isSameSource(memory.source, source));
			if (isDone) return there.length;
			if (before.length === 0) throw noSuchMemory(from);
			if (there.length > 0 || to.startsWith(`${from}/`))
				throw new RunletError(
					'conflict',
					`The destination ${to} already exists, or is in ${from}. Choose another path.`,
				);
			for (const { path } of before) this.#remove(path);
			this.#assertFree(to);
			for (const memory of before) {
				const path = `${to}${memory.path.slice(from.length)}`;
				const moved = { path, version: crypto.randomUUID(), source: keepOutside(source, memory.source) };
				this.#write({ ...memory, ...moved, updatedAt: now });
			}
			return before.length;
		});
	}

	/** Removes a memory and the memories below its path. */
	remove(path: string): number {
		return this.#storage.transactionSync(() => {
			const under = this.#listUnder(path);
			for (const row of under) this.#remove(row.path);
			return under.length;
		});
	}

	removeIf(path: string, ifMatch: '*' | readonly string[]): number {
		return this.#storage.transactionSync(() => {
			const before = this.get(path);
			if (before === undefined) throw noSuchMemory(path);
			assertMatch(before, ifMatch);
			this.#remove(path);
			return 1;
		});
	}

	get #hasTables(): boolean {
		return readMark(this.#storage.sql).version > 0;
	}

	#rankByWords(query: string): readonly string[] {
		const match = toMatch(query);
		if (match === undefined) return [];
		const rows = this.#read(
			`SELECT memory.* FROM word JOIN memory ON memory.id = word.rowid
			WHERE word MATCH ? ORDER BY bm25(word, 2.0, 1.0), memory.updated_at DESC LIMIT ?`,
			match,
			mostRanked,
		);
		return rows.map(({ path }) => path);
	}

	#take(paths: readonly string[]): readonly MemoryRecord[] {
		return paths.flatMap((path) => this.get(path) ?? []);
	}

	#read(query: string, ...values: readonly (string | number)[]): Row[] {
		return this.#hasTables ? this.#storage.sql.exec<Row>(query, ...values).toArray() : [];
	}

	#listUnder(path: string): Row[] {
		const query = 'SELECT * FROM memory WHERE path = ?1 OR substr(path, 1, length(?2)) = ?2 ORDER BY path';
		return this.#read(query, path, `${path}/`);
	}

	/** Throws `conflict` if a path would be both a memory and a folder. */
	#assertFree(path: string): void {
		const folder = listFolders(path).find((one) => this.get(one) !== undefined);
		if (folder !== undefined) throw new RunletError('conflict', `${path}: ${folder} is a memory, and no folder.`);
		const [under] = this.#read('SELECT * FROM memory WHERE substr(path, 1, length(?1)) = ?1 LIMIT 1', `${path}/`);
		if (under !== undefined) throw new RunletError('conflict', `${path}: this is a folder, with ${under.path} in it.`);
	}

	#write({ path, text, version, source, createdAt, updatedAt }: MemoryRecord): void {
		const { sql } = this.#storage;
		const { id } = sql
			.exec<{ id: number }>(
				`INSERT INTO memory (path, text, version, source, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT (path) DO UPDATE SET text = excluded.text, version = excluded.version, source = excluded.source,
					updated_at = excluded.updated_at RETURNING id`,
				...[path, text, version, JSON.stringify(source), createdAt, updatedAt],
			)
			.one();
		sql.exec('DELETE FROM word WHERE rowid = ?', id);
		this.#vectors.dropStale();
		sql.exec('INSERT INTO word (rowid, path, text) VALUES (?, ?, ?)', id, toIndexedText(path), toIndexedText(text));
	}

	#remove(path: string): void {
		const { sql } = this.#storage;
		const removed = sql.exec<{ id: number }>('DELETE FROM memory WHERE path = ? RETURNING id', path).toArray();
		for (const { id } of removed) sql.exec('DELETE FROM word WHERE rowid = ?', id);
		this.#vectors.dropStale();
	}

	#measure() {
		return this.#storage.sql
			.exec<{ count: number; characters: number }>(
				'SELECT count(*) AS count, coalesce(sum(length(text)), 0) AS characters FROM memory',
			)
			.one();
	}
}

function assertMatch(before: MemoryRecord | undefined, ifMatch: '*' | readonly string[]): void {
	if (before !== undefined && (ifMatch === '*' || ifMatch.includes(before.version))) return;
	const message =
		before === undefined ? 'If-Match: there is no such memory.' : 'If-Match: the memory was changed. Read it again.';
	throw new RunletError('precondition_failed', message, { field: 'If-Match' });
}

function noSuchMemory(path: string): RunletError {
	return new RunletError('not_found', `${path}: there is no such memory.`);
}

function toRecord({ path, text, version, source, created_at: createdAt, updated_at: updatedAt }: Row): MemoryRecord {
	return { path, text, version, source: JSON.parse(source), createdAt, updatedAt };
}

/**
 * The tables of a memory. `source` is JSON. `word` is the index of prepared words (`words.ts`), by the ids of
 * `memory`. `vector` has the vector of each version, by its model, as floats of 32 bits.
 */
const tables = `
	CREATE TABLE memory (
		id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, text TEXT NOT NULL, version TEXT NOT NULL, source TEXT NOT NULL,
		created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
	);
	CREATE VIRTUAL TABLE word USING fts5 (path, text, ${tokenizer});
	CREATE TABLE vector (
		version TEXT NOT NULL, model TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (version, model)
	) WITHOUT ROWID;
`;

const schema: Schema = { tables, migrations: [] };
