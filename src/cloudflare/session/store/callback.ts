import type { Sql } from '../../migrate.ts';

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
