import { RunletError, toMessageText } from '../../core/base/errors.ts';

/** What the platform says in an object whose class has no SQLite. */
const noSqlite = /SQL is not enabled for this Durable Object|Durable Object is not backed by SQL/;

/** The field of the error's data. */
const field = 'new_sqlite_classes';

/**
 * Returns `not_configured` with the remedy if an object failed because its class has no SQLite, which no other try would
 * mend.
 */
export function findMissingSqlite(cause: unknown): RunletError | undefined {
	if (isMissingSqlite(cause)) return cause;
	if (!noSqlite.test(toMessageText(cause))) return undefined;
	const message =
		'A Durable Object of this Worker has no SQLite: nothing in wrangler.toml gives it to its class. Add [[migrations]], or [exports] if the file has that, as docs/own-worker.md says; npm start and GET /healthz?deep name the classes.';
	return new RunletError('not_configured', message, { field }, { cause });
}

/** Whether this is the error that `findMissingSqlite` makes. */
export function isMissingSqlite(error: unknown): error is RunletError {
	return error instanceof RunletError && error.code === 'not_configured' && error.data?.field === field;
}
