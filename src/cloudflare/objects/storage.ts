import type { DurableObjectStorage } from '@cloudflare/workers-types';
import { RunletError } from '../../core/base/errors.ts';
import { splitText } from '../../core/base/text.ts';
import type { Sql } from './migrate.ts';
import { findMissingSqlite } from './missing-sqlite.ts';

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

/** Turns a value into the text of a column; into NULL where there is none. */
export function toJsonText(value: object | string | undefined): string | null {
	return value === undefined ? null : JSON.stringify(value);
}

/** The object's one alarm, and when it goes off as far as this life of the object knows. */
export class StoredAlarm {
	readonly #storage: Storage;
	#at: number | undefined;
	/** How often it was set, was removed or went off. */
	#changes = 0;

	constructor(storage: Storage) {
		this.#storage = storage;
	}

	/** When it goes off, if this life of the object has set or read it. */
	get at(): number | undefined {
		return this.#at;
	}

	/** Returns when it goes off, if it is set. What changes meanwhile is newer than what is read. */
	async read(): Promise<number | undefined> {
		const before = this.#changes;
		const at = (await this.#storage.getAlarm()) ?? undefined;
		if (before === this.#changes) this.#at = at;
		return this.#at;
	}

	/** Sets it, or removes it. */
	async set(at: number | undefined): Promise<void> {
		this.#change(at);
		try {
			await (at === undefined ? this.#storage.deleteAlarm() : this.#storage.setAlarm(at));
		} catch (cause) {
			this.#change(undefined);
			throw cause;
		}
	}

	/** Notes that it has gone off: none stands any more. */
	noteGone(): void {
		this.#change(undefined);
	}

	#change(at: number | undefined): void {
		this.#at = at;
		this.#changes++;
	}
}
