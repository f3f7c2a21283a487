import type { Sql } from '../../objects/migrate.ts';
import type { Once } from '../../rpc/session.ts';

/** How long a webhook is known after it came, and a request that its client may send again, in milliseconds. */
const keptMs = 30 * 86_400_000;
const resentMs = 86_400_000;

/** A request that was taken, and the run that it began. */
interface Delivery {
	readonly request: string;
	readonly run: number;
}

/** The requests that were taken under an `Idempotency-Key`, and the webhooks. */
export class DeliveryRows {
	readonly #sql: Sql;
	#isPruned = false;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Notes that a request was taken: the run that it began, 0 for none, or its place in the queue, below 0. */
	add({ key, request, body }: Once, run: number, createdAt: number): void {
		this.#prune(createdAt);
		this.#sql.exec(
			`INSERT INTO delivery (key, request, run, created_at, body) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET request = excluded.request, run = excluded.run, created_at = excluded.created_at`,
			...[key, request, run, createdAt, body ?? null],
		);
	}

	/** What came before: under the same key, or with the same body. */
	find({ key, body }: Pick<Once, 'key' | 'body'>, now: number): Delivery | undefined {
		const byKey = this.#read('key = ?', key);
		return byKey ?? (body === undefined ? undefined : this.#read('body = ? AND created_at > ?', body, now - keptMs));
	}

	#read(where: string, ...values: (string | number)[]): Delivery | undefined {
		type Row = { request: string; run: number };
		return this.#sql.exec<Row>(`SELECT request, run FROM delivery WHERE ${where} LIMIT 1`, ...values).toArray()[0];
	}

	/** What waited in the queue has its run, or none: 0. */
	findBegun(key: string, run: number): void {
		this.#sql.exec('UPDATE delivery SET run = ? WHERE key = ?', run, key);
	}

	/** Forgets what nobody sends again: webhooks of a month ago and more, and such; once in the object's life. */
	#prune(now: number): void {
		if (this.#isPruned) return;
		this.#isPruned = true;
		this.#sql.exec(
			"DELETE FROM delivery WHERE key >= 'webhook ' AND key < 'webhook!' AND created_at < ? AND run >= 0",
			now - keptMs,
		);
		this.#sql.exec(
			"DELETE FROM delivery WHERE key >= 'resent ' AND key < 'resent!' AND created_at < ? AND run >= 0",
			now - resentMs,
		);
	}
}
