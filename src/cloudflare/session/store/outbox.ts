import * as v from 'valibot';
import type { Sql } from '../../objects/migrate.ts';
import type { Amount } from '../../rpc/budget.ts';

const amount = { tokens: v.number(), usd: v.number() };

/** What another object has to be told: the owner's ledger of a call's cost, the owner's directory of an activity or of the end. */
const message = v.variant('to', [
	v.object({ to: v.literal('ledger'), owner: v.string(), call: v.string(), amount: v.object(amount) }),
	v.object({ to: v.literal('list'), activeAt: v.number(), title: v.optional(v.string()) }),
	v.object({ to: v.literal('unlist'), owner: v.string(), session: v.string() }),
]);

export type OutboxMessage = v.InferOutput<typeof message>;

export interface Outgoing {
	readonly id: string;
	readonly message: OutboxMessage;
	/** Attempts that failed. */
	readonly failed: number;
	/** What was stored, to tell it from what took its place meanwhile. */
	readonly body: string;
}

/** How long after it was stored a message is tried again that was not told at once, in milliseconds. */
const firstRetryMs = 5_000;
/** The longest time between two attempts. */
const longestRetryMs = 600_000;

/** What is owed to other objects and was not told yet. It outlives the session. */
export class OutboxRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Stores what a call came to. */
	owe(owner: string, call: string, cost: Amount, now: number): void {
		this.#put(`ledger ${call}`, { to: 'ledger', owner, call, amount: cost }, now);
	}

	/** Stores that the session was active, in place of an earlier time. */
	list(activity: { readonly activeAt: number; readonly title?: string }, now: number): void {
		this.#put('list', { to: 'list', ...activity }, now);
	}

	/** Stores that the session is gone. */
	unlist(owner: string, session: string, now: number): void {
		this.remove('list');
		this.#put('unlist', { to: 'unlist', owner, session }, now);
	}

	/** Those that are due, the oldest first. */
	listDue(now: number): Outgoing[] {
		type Row = { id: string; body: string; failed: number };
		const rows = this.#sql.exec<Row>('SELECT id, body, failed FROM outbox WHERE due_at <= ? ORDER BY due_at', now);
		return rows.toArray().map((row) => ({ ...row, message: v.parse(message, JSON.parse(row.body)) }));
	}

	/** When the next one is due; nothing where nothing is owed. */
	nextAt(): number | undefined {
		return this.#sql.exec<{ at: number | null }>('SELECT MIN(due_at) AS at FROM outbox').one().at ?? undefined;
	}

	/** An attempt failed: the next one comes later, each time twice as much. One that was made before its time changes nothing. */
	retry({ id, failed }: Outgoing, now: number): void {
		const delay = Math.min(longestRetryMs, firstRetryMs * 2 ** failed);
		this.#sql.exec(
			'UPDATE outbox SET failed = failed + 1, due_at = ? WHERE id = ? AND due_at <= ?',
			now + delay,
			id,
			now,
		);
	}

	/** It was told, unless something newer took its place. */
	markTold({ id, body }: Outgoing): void {
		this.#sql.exec('DELETE FROM outbox WHERE id = ? AND body = ?', id, body);
	}

	remove(id: string): void {
		this.#sql.exec('DELETE FROM outbox WHERE id = ?', id);
	}

	#put(id: string, content: OutboxMessage, now: number): void {
		this.#sql.exec(
			'INSERT OR REPLACE INTO outbox (id, body, failed, due_at) VALUES (?, ?, 0, ?)',
			...[id, JSON.stringify(content), now + firstRetryMs],
		);
	}
}

/** Somebody who wants to be told how a run ends. */
export interface Callback {
	/** The id that it is sent under, each time. */
	readonly id: string;
	/** The run's number; 0 for one that never began. */
	readonly run: number;
	readonly runId: string;
	readonly url: string;
	/** Attempts that failed. */
	readonly failed: number;
}

/**
 * Callbacks that were not delivered yet. One is due once its run has ended: that is asked of the run itself, so the end
 * and what is to be sent of it are one write.
 */
export class CallbackRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	add({ url, run, runId }: Pick<Callback, 'url' | 'run' | 'runId'>): void {
		this.#sql.exec(
			'INSERT INTO callback (id, run, run_id, url, failed, due_at) VALUES (?, ?, ?, ?, 0, 0)',
			...[`msg_${crypto.randomUUID()}`, run, runId, url],
		);
	}

	/** Those to be sent now, the oldest first. */
	listDue(now: number, most: number): Callback[] {
		type Row = { id: string; run: number; run_id: string; url: string; failed: number };
		const rows = this.#sql.exec<Row>(`SELECT callback.* ${ended} AND due_at <= ? ORDER BY due_at LIMIT ?`, now, most);
		return rows.toArray().map(({ run_id: runId, id, run, url, failed }) => ({ id, run, runId, url, failed }));
	}

	/** When the next one is to be sent; nothing where no run that has ended has one. */
	nextAt(): number | undefined {
		return this.#sql.exec<{ at: number | null }>(`SELECT MIN(due_at) AS at ${ended}`).one().at ?? undefined;
	}

	/** An attempt failed. */
	retry(id: string, dueAt: number): void {
		this.#sql.exec('UPDATE callback SET failed = failed + 1, due_at = ? WHERE id = ?', dueAt, id);
	}

	remove(id: string): void {
		this.#sql.exec('DELETE FROM callback WHERE id = ?', id);
	}
}

const ended = "FROM callback LEFT JOIN run ON run.n = callback.run WHERE (callback.run = 0 OR run.status <> 'running')";
