import type { DurableObjectStorage } from '@cloudflare/workers-types';
import { RunletError } from '../../core/ground/errors.ts';
import { splitText } from '../../core/ground/text.ts';
import type { Sql } from './migrate.ts';
import { findMissingSqlite } from './sqlite.ts';

/** Seconds after which a client may retry when the storage has failed. */
const retryAfter = 2;

/** SQLite's errors of a statement that would fail again. They are no failure of the storage. */
const faultOfStatement = /SQLITE_(CONSTRAINT|ERROR|MISMATCH|MISUSE|RANGE|TOOBIG)\b/;

/** The storage of an object, as far as a session uses it. */
export type Storage = Pick<
	DurableObjectStorage,
	'transactionSync' | 'getAlarm' | 'setAlarm' | 'deleteAlarm' | 'sync' | 'deleteAll'
> & {
	readonly sql: Sql & Pick<SqlStorage, 'databaseSize'>;
};

/**
 * Wraps an object's storage so that its own failures are `storage_unavailable`, a 503 with `Retry-After`. Storage without
 * SQLite is `not_configured`. Other errors stay as they are.
 */
export function guardStorage(storage: Storage): Storage {
	const sql: Storage['sql'] = {
		exec: (query, ...values) => guarded(() => storage.sql.exec(query, ...values)),
		get databaseSize() {
			return storage.sql.databaseSize;
		},
	};
	return {
		sql,
		transactionSync: (work) => {
			let own: { readonly error: unknown } | undefined;
			const note = () => {
				try {
					return work();
				} catch (error) {
					own = { error };
					throw error;
				}
			};
			return guarded(
				() => storage.transactionSync(note),
				(error) => (own === undefined ? toStorageError(error) : own.error),
			);
		},
		getAlarm: () => eventually(() => storage.getAlarm()),
		setAlarm: (at) => eventually(() => storage.setAlarm(at)),
		deleteAlarm: () => eventually(() => storage.deleteAlarm()),
		sync: () => eventually(() => storage.sync()),
		deleteAll: () => eventually(() => storage.deleteAll()),
	};
}

/** Returns whether an error means that the storage failed. */
export function isStorageError(error: unknown): error is RunletError {
	return error instanceof RunletError && error.code === 'storage_unavailable';
}

function guarded<T>(work: () => T, toError: (error: unknown) => unknown = toStorageError): T {
	try {
		return work();
	} catch (error) {
		throw toError(error);
	}
}

async function eventually<T>(work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		throw toStorageError(error);
	}
}

function toStorageError(cause: unknown): unknown {
	if (cause instanceof RunletError || (cause instanceof Error && faultOfStatement.test(cause.message))) return cause;
	const missing = findMissingSqlite(cause);
	if (missing !== undefined) return missing;
	const message = 'The session could not be stored just now. Try again in a moment.';
	return new RunletError('storage_unavailable', message, { retryAfter }, { cause });
}

/** Characters of a body in one row. At three bytes each they stay under the 2 MB of a row. */
const partLength = 500_000;

/** Splits a body into pieces that fit a row. No piece ends within a character. */
export function splitRows(body: string): string[] {
	return splitText(body, partLength);
}
