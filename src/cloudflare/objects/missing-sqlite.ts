import { RunletError, toMessageText } from '../../core/base/errors.ts';

const noSqlite = /SQL is not enabled for this Durable Object|Durable Object is not backed by SQL/;

const field = 'new_sqlite_classes';

/** Returns `not_configured` for an object without SQLite, because a retry would fail, too. */
export function findMissingSqlite(cause: unknown): RunletError | undefined {
	if (isMissingSqlite(cause)) return cause;
	if (!noSqlite.test(toMessageText(cause))) return undefined;
	const message =
		'A Durable Object of this Worker has no SQLite: nothing in wrangler.toml gives it to its class. Add [[migrations]], or [exports] if the file has that, as docs/own-worker.md says; npm start and GET /healthz?deep name the classes.';
	return new RunletError('not_configured', message, { field }, { cause });
}

export function isMissingSqlite(error: unknown): error is RunletError {
	return error instanceof RunletError && error.code === 'not_configured' && error.data?.field === field;
}
