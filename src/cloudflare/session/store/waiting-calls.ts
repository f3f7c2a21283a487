import type { Sql } from '../../objects/migrate.ts';
import type { WaitsFor } from '../../objects/outside-call.ts';

/** How long a call from outside waits for a person, in milliseconds. */
const longestMs = 600_000;

/** The most calls that wait. The oldest is given up for a further one. */
const mostWaiting = 100;

/** A call from outside of a run that waits for a person. */
export interface WaitingCallRecord {
	/** Its name, which nobody can guess. */
	readonly id: string;
	readonly callId: string;
	readonly for: WaitsFor;
	/** A hash of the tool and the arguments. */
	readonly hash: string;
	/** What its tool keeps for the answer, as JSON. Missing if the answer is the result. */
	readonly resume?: string;
}

/** The calls from outside of runs that wait for a person. Each can be answered once. */
export class WaitingCallRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	add({ id, callId, for: waitsFor, hash, resume }: WaitingCallRecord, now: number): void {
		this.#sql.exec('DELETE FROM waiting_call WHERE created_at <= ?', now - longestMs);
		this.#sql.exec(
			'INSERT INTO waiting_call (id, call, waits_for, hash, resume, created_at) VALUES (?, ?, ?, ?, ?, ?)',
			...[id, callId, waitsFor, hash, resume ?? null, now],
		);
		this.#sql.exec(
			'DELETE FROM waiting_call WHERE id NOT IN (SELECT id FROM waiting_call ORDER BY created_at DESC LIMIT ?)',
			mostWaiting,
		);
	}

	/** Returns a call that waits, and removes it. Nothing if it is unknown, answered, or too old. */
	take(id: string, now: number): WaitingCallRecord | undefined {
		type Row = { call: string; waits_for: WaitsFor; hash: string; resume: string | null; created_at: number };
		const [row] = this.#sql.exec<Row>('DELETE FROM waiting_call WHERE id = ? RETURNING *', id).toArray();
		if (row === undefined || row.created_at <= now - longestMs) return undefined;
		return { id, callId: row.call, for: row.waits_for, hash: row.hash, resume: row.resume ?? undefined };
	}
}
