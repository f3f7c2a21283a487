import * as v from 'valibot';
import type { ChildRecord } from './children.ts';
import type { EndedLease } from './spending.ts';
import type { CachingSql } from './tables.ts';

const amount = { tokens: v.number(), usd: v.number() };
const part = v.object({
	...amount,
	model: v.string(),
	unpricedTokens: v.number(),
	inputTokens: v.number(),
	cachedInputTokens: v.number(),
	units: v.optional(v.record(v.string(), v.number())),
	longestReply: v.optional(v.number()),
});

/**
 * A message to another object: the cost of a lease to the owner's ledger, the session's activity or removal to its
 * directory, the end to an abandoned child, the end of a run to the parent, or the removal of files to the bucket.
 */
const message = v.variant('to', [
	v.object({
		to: v.literal('ledger'),
		owner: v.string(),
		user: v.optional(v.string()),
		agent: v.string(),
		/** The id of the lease. */
		call: v.string(),
		amount: v.object(amount),
		parts: v.array(part),
	}),
	v.object({ to: v.literal('list'), activeAt: v.number(), title: v.optional(v.string()) }),
	v.object({ to: v.literal('unlist'), owner: v.string(), session: v.string() }),
	v.object({
		to: v.literal('child'),
		id: v.string(),
		owner: v.string(),
		parent: v.string(),
		isRemoved: v.boolean(),
		createdAt: v.number(),
	}),
	v.object({ to: v.literal('parent'), run: v.number() }),
	v.object({ to: v.literal('bucket'), key: v.string() }),
	v.object({ to: v.literal('bucket-folder'), prefix: v.string() }),
]);

export type OutboxMessage = v.InferOutput<typeof message>;

type ToChild = Extract<OutboxMessage, { readonly to: 'child' }>;

export interface Outgoing {
	readonly id: string;
	readonly message: OutboxMessage;
	readonly failed: number;
	/** The text of the row, which differs from that of a newer message with this id. Missing without a row. */
	readonly body?: string;
	/** The reported lease. Missing if the message has a row. */
	readonly lease?: EndedLease;
	/** The reported activity. Missing if the message has a row. */
	readonly activity?: Activity;
}

/** An activity of the session. Two activities at one time are two objects. */
export interface Activity {
	/** In milliseconds since 1970. */
	readonly at: number;
}

/** The pause before the first retry, in milliseconds. */
const firstRetryMs = 10_000;
/** How long a write to the bucket may take before the alarm removes its key, in milliseconds. */
const writingMs = 3_600_000;
/** The longest pause between two attempts, in milliseconds. */
const longestRetryMs = 600_000;

/** The messages to other objects that are not delivered yet. They outlive the session. */
export class OutboxRows {
	readonly #sql: CachingSql;
	readonly #nextAt: () => number | undefined;
	/** The keys that this instance of the object writes to the bucket now. */
	readonly #written = new Set<string>();

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#nextAt = sql.cached(
			'outbox',
			() => sql.exec<{ at: number | null }>('SELECT MIN(due_at) AS at FROM outbox').one().at ?? undefined,
		);
	}

	/** Stores a message. Replaces an earlier message with this id. */
	add({ id, message, failed }: Outgoing, now: number): void {
		this.#put(id, message, now, { failed });
	}

	unlist(owner: string, session: string, now: number): void {
		this.remove('list');
		this.#put('unlist', { to: 'unlist', owner, session }, now);
	}

	/** Stores that a child has to be cancelled, or removed with its parent. */
	endChild({ id, createdAt }: ChildRecord, about: Pick<ToChild, 'owner' | 'parent' | 'isRemoved'>, now: number): void {
		this.#put(`child ${id}`, { to: 'child', id, createdAt, ...about }, now);
	}

	tellParent(run: number, now: number): void {
		this.#put('parent', { to: 'parent', run }, now);
	}

	/** Stores a key before its bytes are written. After a crash or `endWriting` they are removed, unless kept. */
	beginWriting(key: string, now: number): void {
		this.#written.add(key);
		this.#put(toKeyId(key), { to: 'bucket', key }, now, { delayMs: writingMs });
	}

	endWriting(key: string): void {
		this.#written.delete(key);
	}

	keepKey(key: string): void {
		this.remove(toKeyId(key));
	}

	dropKey(key: string, now: number): void {
		this.#put(toKeyId(key), { to: 'bucket', key }, now);
	}

	dropFolder(prefix: string, now: number): void {
		this.#put(`bucket-folder ${prefix}`, { to: 'bucket-folder', prefix }, now);
	}

	listDue(now: number): Outgoing[] {
		if (this.#nextAt() === undefined) return [];
		type Row = { id: string; body: string; failed: number };
		const rows = this.#sql.exec<Row>('SELECT id, body, failed FROM outbox WHERE due_at <= ? ORDER BY due_at', now);
		const due = rows.toArray().map((row) => ({ ...row, message: v.parse(message, JSON.parse(row.body)) }));
		return due.filter(({ message: due }) => due.to !== 'bucket' || !this.#written.has(due.key));
	}

	nextAt(): number | undefined {
		return this.#nextAt();
	}

	/** Stores a failed attempt. Each pause is twice the last, less up to half. An early attempt changes nothing. */
	retry({ id, failed }: Outgoing, now: number): void {
		const delay = Math.round(Math.min(longestRetryMs, firstRetryMs * 2 ** failed) * (0.5 + Math.random() / 2));
		this.#sql.write(
			'outbox',
			'UPDATE outbox SET failed = failed + 1, due_at = ? WHERE id = ? AND due_at <= ?',
			now + delay,
			id,
			now,
		);
	}

	markReported({ id, body }: Outgoing): void {
		if (body !== undefined) this.#sql.write('outbox', 'DELETE FROM outbox WHERE id = ? AND body = ?', id, body);
	}

	remove(id: string): void {
		this.#sql.write('outbox', 'DELETE FROM outbox WHERE id = ?', id);
	}

	#put(id: string, content: OutboxMessage, now: number, { failed = 0, delayMs = firstRetryMs } = {}): void {
		this.#sql.insert('outbox', { id, body: JSON.stringify(content), failed, due_at: now + delayMs }, 'REPLACE');
	}
}

function toKeyId(key: string): string {
	return `bucket ${key}`;
}

/** A URL that gets the end of a run. */
export interface Callback {
	/** The id of the request, the same for each attempt. */
	readonly id: string;
	/** The number of the run, or 0 for a run that never began. */
	readonly run: number;
	readonly runId: string;
	readonly url: string;
	readonly failed: number;
}

/** The callbacks that are not delivered yet. A callback is due once the row of its run has an end. */
export class CallbackRows {
	readonly #sql: CachingSql;
	readonly #hasAny: () => boolean;

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#hasAny = sql.cached('callback', () => sql.exec('SELECT 1 FROM callback LIMIT 1').toArray().length > 0);
	}

	add({ url, run, runId }: Pick<Callback, 'url' | 'run' | 'runId'>): void {
		const id = `msg_${crypto.randomUUID()}`;
		this.#sql.insert('callback', { id, run, run_id: runId, url, failed: 0, due_at: 0 });
	}

	listDue(now: number, most: number): Callback[] {
		if (!this.#hasAny()) return [];
		type Row = { id: string; run: number; run_id: string; url: string; failed: number };
		const rows = this.#sql.exec<Row>(`SELECT callback.* ${ended} AND due_at <= ? ORDER BY due_at LIMIT ?`, now, most);
		return rows.toArray().map(({ run_id: runId, id, run, url, failed }) => ({ id, run, runId, url, failed }));
	}

	nextAt(): number | undefined {
		if (!this.#hasAny()) return undefined;
		return this.#sql.exec<{ at: number | null }>(`SELECT MIN(due_at) AS at ${ended}`).one().at ?? undefined;
	}

	retry(id: string, dueAt: number): void {
		this.#sql.write('callback', 'UPDATE callback SET failed = failed + 1, due_at = ? WHERE id = ?', dueAt, id);
	}

	remove(id: string): void {
		this.#sql.write('callback', 'DELETE FROM callback WHERE id = ?', id);
	}
}

const ended = "FROM callback LEFT JOIN run ON run.n = callback.run WHERE (callback.run = 0 OR run.status <> 'running')";
