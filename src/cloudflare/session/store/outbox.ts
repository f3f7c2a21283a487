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
 * A message to the owner's ledger (what a lease came to) or directory (the session's activity or end), to a child that nobody
 * waits for any more, to the parent (what came of a run), or to the bucket: a file, or all files of a session, that nobody needs any more.
 */
const message = v.variant('to', [
	v.object({
		to: v.literal('ledger'),
		owner: v.string(),
		/** The session's user. */
		user: v.optional(v.string()),
		/** The session's agent. */
		agent: v.optional(v.string()),
		call: v.string(),
		amount: v.object(amount),
		/** The same by model. Missing where an earlier version stored it. */
		parts: v.optional(v.array(part)),
	}),
	v.object({ to: v.literal('list'), activeAt: v.number(), title: v.optional(v.string()) }),
	v.object({ to: v.literal('unlist'), owner: v.string(), session: v.string() }),
	v.object({
		to: v.literal('child'),
		id: v.string(),
		owner: v.string(),
		/** Its parent. */
		parent: v.string(),
		isRemoved: v.boolean(),
		createdAt: v.number(),
	}),
	v.object({ to: v.literal('parent'), run: v.number() }),
	v.object({ to: v.literal('bucket'), key: v.string() }),
	v.object({ to: v.literal('bucket-folder'), prefix: v.string() }),
]);

export type OutboxMessage = v.InferOutput<typeof message>;

/** A message to a child. */
type ToChild = Extract<OutboxMessage, { readonly to: 'child' }>;

export interface Outgoing {
	readonly id: string;
	readonly message: OutboxMessage;
	/** Failed attempts. */
	readonly failed: number;
	/** The stored text, to tell the message from a newer message in its place. Missing if no row of the outbox holds it. */
	readonly body?: string;
	/** The lease that it is about. Missing where a row of the outbox says it. */
	readonly lease?: EndedLease;
	/** The activity that it tells. Missing where a row of the outbox says it. */
	readonly activity?: Activity;
}

/** An activity of the session, in milliseconds since 1970. Each is an object of its own. */
export interface Activity {
	readonly at: number;
}

/** The pause before the first retry, in milliseconds. */
const firstRetryMs = 10_000;
/** How long a write to the bucket may take before the alarm looks after it. A new instance of the object does it at once. */
const writingMs = 3_600_000;
/** The longest pause between two attempts. */
const longestRetryMs = 600_000;

/** Messages to other objects that were not delivered yet. They outlive the session. */
export class OutboxRows {
	readonly #sql: CachingSql;
	readonly #nextAt: () => number | undefined;
	/** Keys that this instance of the object is writing to the bucket. */
	readonly #written = new Set<string>();

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#nextAt = sql.cached(
			'outbox',
			() => sql.exec<{ at: number | null }>('SELECT MIN(due_at) AS at FROM outbox').one().at ?? undefined,
		);
	}

	/** Stores a message that other rows said until now. Replaces an earlier one of the same id. */
	add({ id, message, failed }: Outgoing, now: number): void {
		this.#put(id, message, now, { failed });
	}

	/** Stores that the session is gone. */
	unlist(owner: string, session: string, now: number): void {
		this.remove('list');
		this.#put('unlist', { to: 'unlist', owner, session }, now);
	}

	/** Stores that a child is to be cancelled, or removed with its parent. */
	endChild({ id, createdAt }: ChildRecord, about: Pick<ToChild, 'owner' | 'parent' | 'isRemoved'>, now: number): void {
		this.#put(`child ${id}`, { to: 'child', id, createdAt, ...about }, now);
	}

	/** Stores that the parent has to be told what came of a run. */
	tellParent(run: number, now: number): void {
		this.#put('parent', { to: 'parent', run }, now);
	}

	/**
	 * Stores that a key is about to be written to the bucket, where it is removed again unless `keepKey` is called: after a
	 * crash, or after `endWriting`.
	 */
	beginWriting(key: string, now: number): void {
		this.#written.add(key);
		this.#put(toKeyId(key), { to: 'bucket', key }, now, { delayMs: writingMs });
	}

	endWriting(key: string): void {
		this.#written.delete(key);
	}

	/** Stores that a file needs the content under a key. */
	keepKey(key: string): void {
		this.remove(toKeyId(key));
	}

	/** Stores that no file needs the content under a key. */
	dropKey(key: string, now: number): void {
		this.#put(toKeyId(key), { to: 'bucket', key }, now);
	}

	/** Stores that nothing of a session's folder in the bucket is needed any more. */
	dropFolder(prefix: string, now: number): void {
		this.#put(`bucket-folder ${prefix}`, { to: 'bucket-folder', prefix }, now);
	}

	/** Lists the messages that are due, oldest first. */
	listDue(now: number): Outgoing[] {
		if (this.#nextAt() === undefined) return [];
		type Row = { id: string; body: string; failed: number };
		const rows = this.#sql.exec<Row>('SELECT id, body, failed FROM outbox WHERE due_at <= ? ORDER BY due_at', now);
		const due = rows.toArray().map((row) => ({ ...row, message: v.parse(message, JSON.parse(row.body)) }));
		return due.filter(({ message: one }) => one.to !== 'bucket' || !this.#written.has(one.key));
	}

	/** Returns when the next one is due; nothing if there is none. */
	nextAt(): number | undefined {
		return this.#nextAt();
	}

	/** Stores that an attempt failed. Each pause is twice the last one, less a random part of up to half. An early attempt changes nothing. */
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

	/** Removes a delivered message, unless a newer one is in its place. */
	markReported({ id, body }: Outgoing): void {
		if (body !== undefined) this.#sql.write('outbox', 'DELETE FROM outbox WHERE id = ? AND body = ?', id, body);
	}

	remove(id: string): void {
		this.#sql.write('outbox', 'DELETE FROM outbox WHERE id = ?', id);
	}

	#put(id: string, content: OutboxMessage, now: number, { failed = 0, delayMs = firstRetryMs } = {}): void {
		this.#sql.write(
			'outbox',
			'INSERT OR REPLACE INTO outbox (id, body, failed, due_at) VALUES (?, ?, ?, ?)',
			...[id, JSON.stringify(content), failed, now + delayMs],
		);
	}
}

function toKeyId(key: string): string {
	return `bucket ${key}`;
}

/** A URL that is told how a run ends. */
export interface Callback {
	/** The id of the request, the same at each attempt. */
	readonly id: string;
	/** The run's number; 0 if it never began. */
	readonly run: number;
	readonly runId: string;
	readonly url: string;
	/** Failed attempts. */
	readonly failed: number;
}

/**
 * Callbacks that were not delivered yet. One is due once its run has ended. The run's own row says so, and no second
 * write is needed.
 */
export class CallbackRows {
	readonly #sql: CachingSql;
	readonly #hasAny: () => boolean;

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#hasAny = sql.cached('callback', () => sql.exec('SELECT 1 FROM callback LIMIT 1').toArray().length > 0);
	}

	add({ url, run, runId }: Pick<Callback, 'url' | 'run' | 'runId'>): void {
		this.#sql.write(
			'callback',
			'INSERT INTO callback (id, run, run_id, url, failed, due_at) VALUES (?, ?, ?, ?, 0, 0)',
			...[`msg_${crypto.randomUUID()}`, run, runId, url],
		);
	}

	/** Lists the callbacks to send now, oldest first. */
	listDue(now: number, most: number): Callback[] {
		if (!this.#hasAny()) return [];
		type Row = { id: string; run: number; run_id: string; url: string; failed: number };
		const rows = this.#sql.exec<Row>(`SELECT callback.* ${ended} AND due_at <= ? ORDER BY due_at LIMIT ?`, now, most);
		return rows.toArray().map(({ run_id: runId, id, run, url, failed }) => ({ id, run, runId, url, failed }));
	}

	/** Returns when the next one is due; nothing if no run that has ended has one. */
	nextAt(): number | undefined {
		if (!this.#hasAny()) return undefined;
		return this.#sql.exec<{ at: number | null }>(`SELECT MIN(due_at) AS at ${ended}`).one().at ?? undefined;
	}

	/** Stores that an attempt failed. */
	retry(id: string, dueAt: number): void {
		this.#sql.write('callback', 'UPDATE callback SET failed = failed + 1, due_at = ? WHERE id = ?', dueAt, id);
	}

	remove(id: string): void {
		this.#sql.write('callback', 'DELETE FROM callback WHERE id = ?', id);
	}
}

const ended = "FROM callback LEFT JOIN run ON run.n = callback.run WHERE (callback.run = 0 OR run.status <> 'running')";
