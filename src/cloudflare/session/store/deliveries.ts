import type { Sql } from '../../objects/migrate.ts';
import type { Once } from '../../rpc/session.ts';

/** How long a webhook is remembered, and a request that its client may send again, in milliseconds. */
const keptMs = 30 * 86_400_000;
const resentMs = 86_400_000;

/** What a request has begun: a run, a message that waits for one, or neither. */
export interface Outcome {
	/** The number of its run. */
	readonly run?: number;
	/** The place of its message in the queue. */
	readonly waiting?: number;
}

interface Delivery extends Outcome {
	/** A hash of what was asked. */
	readonly request: string;
}

/** The requests with an `Idempotency-Key`, and the webhooks, that were accepted. */
export class DeliveryRows {
	readonly #sql: Sql;
	#isPruned = false;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Stores that a request was accepted, and what it has begun. */
	add({ key, request, body }: Once, { run, waiting }: Outcome, createdAt: number): void {
		this.#prune(createdAt);
		this.#sql.exec(
			`INSERT INTO delivery (key, request, run, waiting, created_at, body) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET
				request = excluded.request, run = excluded.run, waiting = excluded.waiting, created_at = excluded.created_at`,
			...[key, request, run ?? null, waiting ?? null, createdAt, body ?? null],
		);
	}

	/** Finds an earlier request with the same key or the same body. */
	find({ key, body }: Pick<Once, 'key' | 'body'>, now: number): Delivery | undefined {
		const byKey = this.#read('key = ?', key);
		return byKey ?? (body === undefined ? undefined : this.#read('body = ? AND created_at > ?', body, now - keptMs));
	}

	#read(where: string, ...values: (string | number)[]): Delivery | undefined {
		type Row = { request: string; run: number | null; waiting: number | null };
		const query = `SELECT request, run, waiting FROM delivery WHERE ${where} LIMIT 1`;
		const [row] = this.#sql.exec<Row>(query, ...values).toArray();
		return row && { request: row.request, run: row.run ?? undefined, waiting: row.waiting ?? undefined };
	}

	/** Stores that a request's message waits no more: it has its run, or was dropped and has none. */
	endWaiting(key: string, run: number | undefined): void {
		this.#sql.exec('UPDATE delivery SET run = ?, waiting = NULL WHERE key = ?', run ?? null, key);
	}

	/** Removes what nobody sends again, once in the object's life. */
	#prune(now: number): void {
		if (this.#isPruned) return;
		this.#isPruned = true;
		this.#sql.exec(
			"DELETE FROM delivery WHERE key >= 'webhook ' AND key < 'webhook!' AND created_at < ? AND waiting IS NULL",
			now - keptMs,
		);
		this.#sql.exec(
			"DELETE FROM delivery WHERE key >= 'resent ' AND key < 'resent!' AND created_at < ? AND waiting IS NULL",
			now - resentMs,
		);
	}
}
