import type { DurableObjectStorage } from '@cloudflare/workers-types';
import type { LastWake } from '../../core/tool/index.ts';
import { toActors } from '../auth/rights.ts';
import type { ScheduleQuery, StoredSchedule, WakeTarget } from '../objects/schedule-api.ts';

export interface DueSchedule extends StoredSchedule {
	readonly dueAt: number;
	/** The number of failed attempts. */
	readonly failed: number;
	/** The request that runs the schedule between its due times. */
	readonly request?: string;
}

export interface Settled {
	readonly last: LastWake;
	/** The next due time. Missing if there is none. */
	readonly dueAt?: number;
}

/** The schedules of an owner. The methods are synchronous. */
export class ScheduleRows {
	readonly #storage: DurableObjectStorage;
	/** The number of schedules. Unknown until it is read, and after a rollback. */
	#count: number | undefined;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
	}

	transaction<T>(work: () => T): T {
		try {
			return this.#storage.transactionSync(work);
		} catch (cause) {
			this.#count = undefined;
			throw cause;
		}
	}

	/** Stores a schedule. `isNew`: there is none at its place. */
	put({ target, name, owner, user, time, text, askers, dueAt, createdAt }: StoredSchedule, isNew: boolean): void {
		if (isNew && this.#count !== undefined) this.#count++;
		this.#storage.sql.exec(
			`INSERT OR REPLACE INTO schedule (target, name, owner, time, text, due_at, try_at, created_at, askers, user)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9)`,
			...[toKey(target), name, owner, JSON.stringify(time), text ?? null, dueAt ?? null, createdAt],
			askers === undefined ? null : JSON.stringify(askers),
			user ?? null,
		);
	}

	get(target: WakeTarget, name: string): StoredSchedule | undefined {
		return this.#read('WHERE target = ? AND name = ?', toKey(target), name)[0];
	}

	/** Lists schedules, sorted by target and name. */
	list({ session, after, limit = -1 }: ScheduleQuery = {}): readonly StoredSchedule[] {
		const place = after === undefined ? ['', ''] : [toKey(after.target), after.name];
		if (session === undefined)
			return this.#read('WHERE (target, name) > (?, ?) ORDER BY target, name LIMIT ?', ...place, limit);
		const key = toKey({ kind: 'session', session });
		return this.#read('WHERE target = ? AND (target, name) > (?, ?) ORDER BY name LIMIT ?', key, ...place, limit);
	}

	/** Counts all schedules. Reads them once. */
	count(): number {
		this.#count ??= this.#storage.sql.exec<{ n: number }>('SELECT count(*) AS n FROM schedule').one().n;
		return this.#count;
	}

	countOf(target: WakeTarget): number {
		const query = 'SELECT count(*) AS n FROM schedule WHERE target = ?';
		return this.#storage.sql.exec<{ n: number }>(query, toKey(target)).one().n;
	}

	remove(target: WakeTarget, name: string): boolean {
		return this.#delete('target = ? AND name = ?', toKey(target), name);
	}

	removeSession(session: string): void {
		this.#delete('target = ?', toKey({ kind: 'session', session }));
	}

	/** Removes schedules that are over and were last due before the given time. */
	removeOver(before: number): void {
		this.#delete("try_at IS NULL AND last ->> 'at' < ?", new Date(before).toISOString());
	}

	/** Returns whether there was anything to delete. */
	#delete(where: string, ...values: readonly string[]): boolean {
		const { length } = this.#storage.sql.exec(`DELETE FROM schedule WHERE ${where} RETURNING 1`, ...values).toArray();
		if (this.#count !== undefined) this.#count -= length;
		return length > 0;
	}

	/** Lists due schedules, oldest first. */
	listDue(now: number, most: number): readonly DueSchedule[] {
		return this.#read('WHERE try_at <= ? ORDER BY try_at LIMIT ?', now, most).flatMap(({ dueAt, ...one }) =>
			dueAt === undefined ? [] : [{ ...one, dueAt }],
		);
	}

	nextAt(): number | undefined {
		return (
			this.#storage.sql
				.exec<{ at: number | null }>('SELECT MIN(try_at) AS at FROM schedule WHERE try_at IS NOT NULL')
				.one().at ?? undefined
		);
	}

	/** Stores the outcome of a due time. Changes nothing if the schedule was changed in the meantime. */
	settle({ target, name, dueAt }: DueSchedule, { last, dueAt: next }: Settled): void {
		this.#storage.sql.exec(
			'UPDATE schedule SET last = ?1, due_at = ?2, try_at = ?2, failed = 0 WHERE target = ?3 AND name = ?4 AND due_at = ?5',
			...[JSON.stringify(last), next ?? null, toKey(target), name, dueAt],
		);
	}

	/** Stores the outcome of a wake-up between the due times. */
	noteWake({ target, name }: StoredSchedule, last: LastWake): void {
		const query = 'UPDATE schedule SET last = ? WHERE target = ? AND name = ?';
		this.#storage.sql.exec(query, JSON.stringify(last), toKey(target), name);
	}

	retry({ target, name, dueAt }: DueSchedule, tryAt: number): void {
		this.#storage.sql.exec(
			'UPDATE schedule SET failed = failed + 1, try_at = ? WHERE target = ? AND name = ? AND due_at = ?',
			...[tryAt, toKey(target), name, dueAt],
		);
	}

	#read(where: string, ...values: (string | number)[]): (StoredSchedule & { readonly failed: number })[] {
		return this.#storage.sql
			.exec<Row>(`SELECT * FROM schedule ${where}`, ...values)
			.toArray()
			.map(toSchedule);
	}
}

type Row = {
	target: string;
	name: string;
	owner: string;
	time: string;
	text: string | null;
	due_at: number | null;
	failed: number;
	last: string | null;
	created_at: number;
	askers: string | null;
	user: string | null;
};

function toSchedule({
	target,
	name,
	owner,
	time,
	text,
	due_at: dueAt,
	failed,
	last,
	askers,
	user,
	created_at: createdAt,
}: Row) {
	return {
		target: parseKey(target),
		name,
		owner,
		time: JSON.parse(time),
		text: text ?? undefined,
		askers: askers === null ? undefined : toActors(JSON.parse(askers)),
		user: user ?? undefined,
		dueAt: dueAt ?? undefined,
		failed,
		last: last === null ? undefined : JSON.parse(last),
		createdAt,
	};
}

function toKey(target: WakeTarget): string {
	return target.kind === 'agent' ? `agent ${target.agent}` : `session ${target.session}`;
}

function parseKey(key: string): WakeTarget {
	const [kind, name = ''] = key.split(' ');
	return kind === 'agent' ? { kind, agent: name } : { kind: 'session', session: name };
}
