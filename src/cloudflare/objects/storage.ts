import type { DurableObjectStorage } from '@cloudflare/workers-types';
import { RunletError } from '../../core/base/errors.ts';
import { splitText } from '../../core/base/text.ts';
import type { Sql } from './migrate.ts';
import { findMissingSqlite } from './missing-sqlite.ts';

/** Seconds after which a client should try again. */
const retryAfter = 2;

/** SQLite's errors for a statement that would fail again. The storage itself works. */
const faultOfStatement = /SQLITE_(CONSTRAINT|ERROR|MISMATCH|MISUSE|RANGE|TOOBIG)\b/;

export type Storage = Pick<
	DurableObjectStorage,
	'transactionSync' | 'getAlarm' | 'setAlarm' | 'deleteAlarm' | 'sync' | 'deleteAll'
> & {
	readonly sql: Sql & Pick<SqlStorage, 'databaseSize'>;
};

/** Failures of the storage become `storage_unavailable` (503 with `Retry-After`), or `not_configured` without SQLite. */
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

/** The maximum length of a piece, in characters. Even at three bytes each, a piece fits the 2 MB of a row. */
const partLength = 500_000;

/** Splits a text into pieces that fit a row. Does not split within a character. */
export function splitRows(body: string): string[] {
	return splitText(body, partLength);
}

/** Returns NULL for undefined. */
export function toJsonText(value: object | string | undefined): string | null {
	return value === undefined ? null : JSON.stringify(value);
}

/** The alarm of an object, and its time as far as this instance knows. */
export class StoredAlarm {
	readonly #storage: Storage;
	#at: number | undefined;
	/** Counts how often the alarm was set, was removed or has fired. */
	#changes = 0;

	constructor(storage: Storage) {
		this.#storage = storage;
	}

	/** The time of the alarm. Undefined until this instance has set or read the alarm. */
	get at(): number | undefined {
		return this.#at;
	}

	/** Reads the alarm. If the alarm changes during the read, returns the newer value. */
	async read(): Promise<number | undefined> {
		const before = this.#changes;
		const at = (await this.#storage.getAlarm()) ?? undefined;
		if (before === this.#changes) this.#at = at;
		return this.#at;
	}

	async set(at: number | undefined): Promise<void> {
		this.#change(at);
		try {
			await (at === undefined ? this.#storage.deleteAlarm() : this.#storage.setAlarm(at));
		} catch (cause) {
			this.#change(undefined);
			throw cause;
		}
	}

	/** Notes that the alarm has fired. */
	noteGone(): void {
		this.#change(undefined);
	}

	#change(at: number | undefined): void {
		this.#at = at;
		this.#changes++;
	}
}
