import { DatabaseSync } from 'node:sqlite';
import type { DurableObjectStorage } from '@cloudflare/workers-types';

/** A storage in memory with the methods that the rows of an object use. It has SQLite, and transactions one in another. */
export function createStorage(): DurableObjectStorage {
	const database = new DatabaseSync(':memory:');
	const prepared = new Map<string, ReturnType<DatabaseSync['prepare']>>();
	const exec = (query: string, ...values: readonly (string | number | null)[]) => {
		const statement = prepared.get(query) ?? prepare(database, query);
		if (statement === undefined) return toCursor([], 0);
		prepared.set(query, statement);
		const before = readChanges(database);
		const rows = statement.all(...values);
		return toCursor(rows, readChanges(database) - before);
	};
	let depth = 0;
	const transactionSync = <T>(work: () => T): T => {
		const name = `level_${depth++}`;
		database.exec(`SAVEPOINT ${name}`);
		try {
			return work();
		} catch (error) {
			database.exec(`ROLLBACK TO ${name}`);
			throw error;
		} finally {
			database.exec(`RELEASE ${name}`);
			depth--;
		}
	};
	return Object.assign(Object.create(null), { sql: { exec }, transactionSync });
}

/** Prepares one statement. Runs a text of several statements at once. */
function prepare(database: DatabaseSync, query: string): ReturnType<DatabaseSync['prepare']> | undefined {
	if (!/;\s*\S/.test(query)) return database.prepare(query);
	database.exec(query);
	return undefined;
}

function readChanges(database: DatabaseSync): number {
	return Number(Object(database.prepare('SELECT total_changes() AS changes').get()).changes);
}

function toCursor(rows: readonly unknown[], rowsWritten: number) {
	const one = () => rows[0];
	return { toArray: () => rows, one, rowsWritten, [Symbol.iterator]: () => rows[Symbol.iterator]() };
}
