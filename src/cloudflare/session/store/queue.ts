import type { Message } from '../../../core/chat/index.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { Inbound } from './inbound.ts';
import { splitRows } from './storage.ts';

/** A message that waits for the current run to end. */
export interface Waiting {
	/** Its place in the queue; smaller is earlier. */
	readonly id: number;
	/** The id of the run that it will begin. */
	readonly runId: string;
	readonly message: Message;
	/** Where it came from. */
	readonly inbound?: Inbound;
	/** The model of the session from its run on. */
	readonly model?: string;
	/** Whether the current run may take it up. */
	readonly steers: boolean;
	/** The `Idempotency-Key` of its request. */
	readonly key?: string;
	/** The URL that is told how its run ends. */
	readonly callback?: string;
}

/** Messages that came during a run, in order. */
export class QueueRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	add(waiting: Omit<Waiting, 'id'>, createdAt: number): Waiting {
		const { last } = this.#sql.exec<{ last: number }>('SELECT COALESCE(MAX(id), 0) AS last FROM queue').one();
		return this.#insert({ id: last + 1, ...waiting }, createdAt);
	}

	/** Replaces the text of a message, which keeps its place. */
	edit(waiting: Waiting, editedAt: number): void {
		this.remove(waiting.id);
		this.#insert(waiting, editedAt);
	}

	/** Returns the oldest message. */
	first(): Waiting | undefined {
		return this.#read('id = (SELECT MIN(id) FROM queue)')[0];
	}

	/** Returns the next message behind a place. */
	after(id: number): Waiting | undefined {
		return this.#read('id = (SELECT MIN(id) FROM queue WHERE id > ?)', id)[0];
	}

	get(id: number): Waiting | undefined {
		return this.#read('id = ?', id)[0];
	}

	/** Returns the messages that the current run may take up. */
	steering(): Waiting[] {
		return this.#read('steers = 1');
	}

	all(): Waiting[] {
		return this.#read('TRUE');
	}

	get size(): number {
		return this.#sql.exec<{ size: number }>('SELECT COUNT(DISTINCT id) AS size FROM queue').one().size;
	}

	/** Returns when the newest message came or was edited. */
	newestAt(): number | undefined {
		return this.#sql.exec<{ at: number | null }>('SELECT MAX(created_at) AS at FROM queue').one().at ?? undefined;
	}

	remove(id: number): void {
		this.#sql.exec('DELETE FROM queue WHERE id = ?', id);
	}

	#insert({ id, ...waiting }: Waiting, createdAt: number): Waiting {
		for (const [part, text] of splitRows(JSON.stringify(waiting)).entries())
			this.#sql.exec(
				'INSERT INTO queue (id, part, steers, body, created_at) VALUES (?, ?, ?, ?, ?)',
				...[id, part, waiting.steers ? 1 : 0, text, createdAt],
			);
		return { id, ...waiting };
	}

	#read(where: string, ...values: number[]): Waiting[] {
		type Row = { id: number; body: string };
		const bodies = new Map<number, string>();
		for (const { id, body } of this.#sql.exec<Row>(
			`SELECT id, body FROM queue WHERE ${where} ORDER BY id, part`,
			...values,
		))
			bodies.set(id, (bodies.get(id) ?? '') + body);
		return [...bodies].map(([id, body]) => {
			const waiting: Omit<Waiting, 'id'> = JSON.parse(body);
			return { id, ...waiting };
		});
	}
}
