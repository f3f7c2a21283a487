import type { Message } from '../../../core/chat/index.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { Once } from '../../objects/once.ts';
import { splitRows } from '../../objects/storage.ts';
import type { Inbound } from './inbound.ts';
import type { CachingSql } from './tables.ts';

/** How long a webhook and a request with an `Idempotency-Key` are remembered, in milliseconds. */
const keptMs = 30 * 86_400_000;
const resentMs = 86_400_000;

/** The outcome of a request: a run, a queued message, or neither. */
export interface Outcome {
	readonly run?: number;
	/** The queue id of the message. */
	readonly waiting?: number;
}

interface Delivery extends Outcome {
	readonly request: string;
}

/** The accepted webhooks and requests with an `Idempotency-Key`. */
export class DeliveryRows {
	readonly #sql: Sql;
	#isPruned = false;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	add({ key, request, body }: Once, { run, waiting }: Outcome, createdAt: number): void {
		this.#prune(createdAt);
		this.#sql.exec(
			`INSERT INTO delivery (key, request, run, waiting, created_at, body) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET
				request = excluded.request, run = excluded.run, waiting = excluded.waiting, created_at = excluded.created_at`,
			...[key, request, run ?? null, waiting ?? null, createdAt, body ?? null],
		);
	}

	/** Finds an earlier request with this key or this body. */
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

	endWaiting(key: string, run: number | undefined): void {
		this.#sql.exec('UPDATE delivery SET run = ?, waiting = NULL WHERE key = ?', run ?? null, key);
	}

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

export interface QueuedMessage {
	readonly id: number;
	readonly runId: string;
	readonly message: Message;
	readonly inbound?: Inbound;
	readonly model?: string;
	readonly steers: boolean;
	readonly key?: string;
	readonly callback?: string;
}

/** The messages that wait for the current run, in order. A repeated request gets the run of its message. */
export class QueueRows {
	readonly #sql: CachingSql;
	readonly #deliveries: DeliveryRows;
	readonly #about: () => { readonly size: number; readonly at: number | null };

	constructor(sql: CachingSql, deliveries: DeliveryRows) {
		this.#sql = sql;
		this.#deliveries = deliveries;
		this.#about = sql.cached('queue', () =>
			sql
				.exec<{ size: number; at: number | null }>(
					'SELECT COUNT(DISTINCT id) AS size, MAX(created_at) AS at FROM queue',
				)
				.one(),
		);
	}

	add(
		{ inbound, ...waiting }: Omit<QueuedMessage, 'id' | 'key'> & { readonly inbound: Inbound },
		once: Once | undefined,
		createdAt: number,
	): QueuedMessage {
		const { last } = this.#sql.exec<{ last: number }>('SELECT COALESCE(MAX(id), 0) AS last FROM queue').one();
		const id = last + 1;
		if (once !== undefined) this.#deliveries.add(once, { waiting: id }, createdAt);
		// The id of the message on a page stays the same when its run begins.
		const named = { messageId: waiting.runId, ...inbound };
		return this.#insert({ id, ...waiting, inbound: named, key: once?.key }, createdAt);
	}

	/** Replaces a message. Its position and its run stay the same. */
	edit(waiting: QueuedMessage, editedAt: number): void {
		this.#remove(waiting.id);
		this.#insert(waiting, editedAt);
	}

	first(): QueuedMessage | undefined {
		return this.#read('id = (SELECT MIN(id) FROM queue)')[0];
	}

	after(id: number): QueuedMessage | undefined {
		return this.#read('id = (SELECT MIN(id) FROM queue WHERE id > ?)', id)[0];
	}

	findNamed(id: string | undefined): QueuedMessage | undefined {
		return id === undefined ? undefined : this.#read('TRUE').find(({ inbound }) => inbound?.messageId === id);
	}

	get(id: number): QueuedMessage | undefined {
		return this.#read('id = ?', id)[0];
	}

	steering(): QueuedMessage[] {
		return this.#read('steers = 1');
	}

	all(): QueuedMessage[] {
		return this.#read('TRUE');
	}

	get size(): number {
		return this.#about().size;
	}

	newestAt(): number | undefined {
		return this.#about().at ?? undefined;
	}

	/** Takes a message out of the queue. Its id may be used again, so its request gets the run instead. */
	take({ id, key }: Pick<QueuedMessage, 'id' | 'key'>, run: number | undefined): void {
		this.#remove(id);
		if (key !== undefined) this.#deliveries.endWaiting(key, run);
	}

	#remove(id: number): void {
		this.#sql.write('queue', 'DELETE FROM queue WHERE id = ?', id);
	}

	#insert({ id, ...waiting }: QueuedMessage, createdAt: number): QueuedMessage {
		for (const [part, text] of splitRows(JSON.stringify(waiting)).entries())
			this.#sql.insert('queue', { id, part, steers: waiting.steers ? 1 : 0, body: text, created_at: createdAt });
		return { id, ...waiting };
	}

	#read(where: string, ...values: number[]): QueuedMessage[] {
		if (this.size === 0) return [];
		type Row = { id: number; body: string };
		const bodies = new Map<number, string>();
		for (const { id, body } of this.#sql.exec<Row>(
			`SELECT id, body FROM queue WHERE ${where} ORDER BY id, part`,
			...values,
		))
			bodies.set(id, (bodies.get(id) ?? '') + body);
		return [...bodies].map(([id, body]) => {
			const waiting: Omit<QueuedMessage, 'id'> = JSON.parse(body);
			return { id, ...waiting };
		});
	}
}
