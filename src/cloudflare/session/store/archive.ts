import * as v from 'valibot';
import { fromBase64, toBase64 } from '../../../core/base/bytes.ts';
import { type Mark, migrate, readMark, writeMark } from '../../objects/migrate.ts';
import { schema } from './schema.ts';
import type { SessionRecord, Status } from './session-row.ts';
import type { CachingStorage } from './tables.ts';

/** What is stored here of a session whose rows are in the bucket (docs/data.md, "Archive"). */
export interface ArchivedSession extends Pick<SessionRecord, 'owner' | 'user' | 'rerun'> {
	/** The key of the archive in the bucket, and its size in bytes. */
	readonly key: string;
	readonly bytes: number;
	readonly status: Status;
}

const head = v.object({
	runlet: v.literal('session'),
	format: v.literal(1),
	session: v.string(),
	schema: v.number(),
});
type Head = v.InferOutput<typeof head>;

const cell = v.union([v.string(), v.number(), v.null(), v.object({ base64: v.string() })]);
/** A statement that makes a table or an index, a row behind the name of its table, or the number of all rows. */
const line = v.union([
	v.object({ sql: v.string() }),
	v.tupleWithRest([v.string()], cell),
	v.object({ rows: v.number() }),
]);

/** The tables of SQLite and of the platform. */
const foreign = /^(_cf_|sqlite_)/;

/** All rows of a session as lines of text, and back. */
export class ArchiveRows {
	readonly #storage: CachingStorage;
	readonly #mark: () => Mark;

	constructor(storage: CachingStorage) {
		this.#storage = storage;
		this.#mark = storage.sql.cached('session', () => readMark(storage.sql));
	}

	/** The version of the tables. 0 without tables, and for an archived session. */
	get version(): number {
		return this.find() === undefined ? this.#mark().version : 0;
	}

	find(): ArchivedSession | undefined {
		const { archive } = this.#mark();
		return archive === undefined ? undefined : JSON.parse(archive);
	}

	/** Yields the lines of an archive. A call of the session during that time makes the archive worthless. */
	*list(session: string): Generator<string> {
		const { sql } = this.#storage;
		const about: Head = { runlet: 'session', format: 1, session, schema: this.version };
		yield toLine(about);
		let rows = 0;
		for (const { type, name, made } of this.#listTables()) {
			yield toLine({ sql: made });
			if (type !== 'table') continue;
			const found = sql.exec(`SELECT * FROM "${name}"`).raw();
			try {
				for (const row of found) {
					yield toLine([name, ...row.map(toCell)]);
					rows++;
				}
			} finally {
				// A table with an open cursor cannot be removed.
				for (const _ of found);
			}
		}
		yield toLine({ rows });
	}

	/** Removes all rows in one transaction. From then on the session is archived. */
	leave(archived: ArchivedSession): void {
		const { version } = this;
		this.#storage.transactionSync(() => {
			this.#drop();
			writeMark(this.#storage.sql, { version, archive: JSON.stringify(archived) });
		});
	}

	/**
	 * Stores the rows of an archive and migrates them. Until all lines are stored, the session stays archived. Throws if
	 * the lines are not the whole archive of this session.
	 */
	async restore(session: string, lines: AsyncIterable<string>, now: number): Promise<void> {
		// An earlier attempt may have been interrupted.
		this.#drop();
		try {
			const version = await this.#takeAll(session, lines);
			this.#storage.transactionSync(() => {
				writeMark(this.#storage.sql, { version });
				migrate(this.#storage.sql, schema);
				this.#storage.sql.write('session', 'UPDATE session SET used_at = ?', now);
			});
		} catch (cause) {
			this.#drop();
			throw cause;
		}
	}

	/** Stores the rows of all lines. Returns the version of their tables. */
	async #takeAll(session: string, lines: AsyncIterable<string>): Promise<number> {
		const { sql } = this.#storage;
		let version: number | undefined;
		let [rows, total] = [0, -1];
		for await (const text of lines) {
			if (version === undefined) {
				const first = v.parse(head, JSON.parse(text));
				if (first.session !== session) throw new Error('The archive is of another session.');
				version = first.schema;
				continue;
			}
			const next = v.parse(line, JSON.parse(text));
			if ('sql' in next) sql.exec(next.sql);
			else if ('rows' in next) total = next.rows;
			else {
				const [name, ...values] = next;
				const marks = values.map(() => '?').join(', ');
				sql.write(name, `INSERT INTO "${name}" VALUES (${marks})`, ...values.map(fromCell));
				rows++;
			}
		}
		if (version === undefined || rows !== total) throw new Error('The archive is not whole.');
		return version;
	}

	#listTables() {
		type Row = { type: string; name: string; made: string };
		const query =
			"SELECT type, name, sql AS made FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL";
		return [...this.#storage.sql.exec<Row>(query)].filter(({ name }) => !foreign.test(name));
	}

	#drop(): void {
		for (const { type, name } of this.#listTables())
			if (type === 'table') this.#storage.sql.write(name, `DROP TABLE "${name}"`);
	}
}

function toLine(value: object): string {
	return `${JSON.stringify(value)}\n`;
}

function toCell(value: SqlStorageValue): v.InferOutput<typeof cell> {
	return value instanceof ArrayBuffer ? { base64: toBase64(new Uint8Array(value)) } : value;
}

function fromCell(value: v.InferOutput<typeof cell>): SqlStorageValue {
	return typeof value === 'object' && value !== null ? fromBase64(value.base64).buffer : value;
}
