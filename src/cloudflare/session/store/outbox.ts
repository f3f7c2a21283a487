import * as v from 'valibot';
import { addUnits, type ChatUsage } from '../../../core/chat/reply.ts';
import { plus } from '../../objects/budget.ts';
import type { CostPart } from '../../objects/ledger/api.ts';
import type { Sql } from '../../objects/migrate.ts';
import { rating } from '../../wire/feedback.ts';
import type { ChildRecord } from './calls.ts';
import type { CostDetail, MessageCost } from './messages.ts';
import type { RunRows } from './runs.ts';
import { isListed, type SessionRow } from './session-row.ts';
import type { Charge, EndedLease, SpendingRows } from './spending.ts';
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

/** Whether the list of all owners gets the message. */
const isForAll = v.optional(v.boolean());

/**
 * A message to another object: a lease's cost to the owner's ledger, the session's activity, feedback or removal to the
 * directory, a cancellation to an abandoned child, the end of a run to the parent, or removed files to the bucket.
 */
const message = v.variant('to', [
	v.object({
		to: v.literal('ledger'),
		owner: v.string(),
		/** Missing in messages of older versions. */
		session: v.optional(v.string()),
		user: v.optional(v.string()),
		agent: v.string(),
		/** The id of the lease. */
		call: v.string(),
		amount: v.object(amount),
		parts: v.array(part),
	}),
	v.object({ to: v.literal('list'), activeAt: v.number(), title: v.optional(v.string()), isForAll }),
	v.object({
		to: v.literal('feedback'),
		run: v.number(),
		runId: v.string(),
		at: v.number(),
		/** Missing if the feedback was removed. */
		rating: v.optional(v.object({ rating, note: v.optional(v.string()) })),
		isForAll,
	}),
	/** `owner` is the name of the directory. */
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
	/** The text of the row, to recognise a newer message with the same id. Missing if there is no row. */
	readonly body?: string;
	/** The reported lease. Missing if the message has a row. */
	readonly lease?: EndedLease;
	/** The reported activity. Missing if the message has a row. */
	readonly activity?: Activity;
}

/** An activity of the session. Each activity is a separate object, even if two have the same time. */
export interface Activity {
	/** In milliseconds since 1970. */
	readonly at: number;
	/** When its report is due. Missing for a report that is due at once. */
	readonly dueAt?: number;
}

/** The ids of the session's reports to its owner's list, and to the list of all owners. */
const [toOwner, toAll] = ['list', 'list *'];

/** The pause before the first retry, in milliseconds. */
const firstRetryMs = 10_000;
/** The milliseconds that a write to the bucket may take. After that the alarm removes the key. */
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

	unlist(directory: string, session: string, now: number): void {
		this.#sql.write('outbox', "DELETE FROM outbox WHERE id LIKE 'list%' OR id LIKE 'feedback %'");
		this.#put(`unlist ${directory}`, { to: 'unlist', owner: directory, session }, now);
	}

	/** Takes the removal of an earlier session with the same id and the same directory back. */
	relist(directory: string): void {
		this.remove(`unlist ${directory}`);
	}

	tellFeedback(about: Omit<Extract<OutboxMessage, { readonly to: 'feedback' }>, 'to'>, now: number): void {
		this.#put(`feedback ${about.run}${about.isForAll ? ' *' : ''}`, { to: 'feedback', ...about }, now);
	}

	/** Stores that a child has to be cancelled, or removed with its parent. */
	endChild({ id, createdAt }: ChildRecord, about: Pick<ToChild, 'owner' | 'parent' | 'isRemoved'>, now: number): void {
		this.#put(`child ${id}`, { to: 'child', id, createdAt, ...about }, now);
	}

	tellParent(run: number, now: number): void {
		this.#put('parent', { to: 'parent', run }, now);
	}

	/** Stores a key before its bytes are written. Without `keepKey`, the bytes are removed after the write. */
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

	/** Stores a failed attempt of a due message. Each pause is twice the last, minus a random part of up to half. */
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

/** A URL that is called with the end of a run. */
export interface Callback {
	/** The id of the request, the same for each attempt. */
	readonly id: string;
	/** The number of the run, or 0 for a run that never began. */
	readonly run: number;
	readonly runId: string;
	readonly url: string;
	readonly failed: number;
}

const receiver = 'receiver ';

/** Whether a callback stays while its run waits (docs/a2a.md, "Push notifications"). */
export function isReceiver({ id }: Pick<Callback, 'id'>): boolean {
	return id.startsWith(receiver);
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

	/** Stores a receiver. It stays until the run, or the last of the runs that go on with it, ends. */
	putReceiver(id: string, { url, run, runId }: Pick<Callback, 'url' | 'run' | 'runId'>): void {
		this.#sql.insert('callback', { id: `${receiver}${id}`, run, run_id: runId, url, failed: 0, due_at: 0 }, 'REPLACE');
	}

	removeReceiver(id: string): void {
		this.remove(`${receiver}${id}`);
	}

	/** Lists receivers by the beginning of their ids. */
	listReceivers(prefix: string): { readonly id: string; readonly url: string }[] {
		if (!this.#hasAny()) return [];
		const from = `${receiver}${prefix}`;
		return this.#sql
			.exec<{ id: string; url: string }>('SELECT id, url FROM callback WHERE substr(id, 1, ?) = ?', from.length, from)
			.toArray();
	}

	/** Lets a receiver wait for the run that goes on with its run. */
	moveOn(id: string): void {
		this.#sql.write('callback', 'UPDATE callback SET run = run + 1, failed = 0, due_at = 0 WHERE id = ?', id);
	}

	/** Tells the receivers that wait for a run after this one of the run's new end. */
	moveBack(run: number): void {
		if (this.#hasAny()) this.#sql.write('callback', 'UPDATE callback SET run = ?, due_at = 0 WHERE run > ?', run, run);
	}

	remove(id: string): void {
		this.#sql.write('callback', 'DELETE FROM callback WHERE id = ?', id);
	}
}

const ended = "FROM callback LEFT JOIN run ON run.n = callback.run WHERE (callback.run = 0 OR run.status <> 'running')";

interface Rows {
	readonly runs: RunRows;
	readonly spending: SpendingRows;
	readonly bytes: number;
}

/** The shortest time between two stored activities outside of runs, in milliseconds. */
export const visitedForMs = 60_000;

/** The shortest time between two reports of activity to the owner's list, in milliseconds. */
const listedForMs = 300_000;

/** A session reports its size when that differs by this many bytes from the size in the owner's list. */
const unlistedBytes = 1_048_576;

/** How long after a run's end its leases can still be reported, in milliseconds. The ledger remembers them longer. */
const reportableMs = 86_400_000;

/**
 * The reports to the owner's ledger and list without a row in the outbox: the costs of ended leases, the activity of
 * the session, and what it waits for. They are computed from other rows, so a report writes no row. Which reports were
 * delivered is known only in memory. After a crash the next instance of the object repeats them, which changes nothing:
 * a ledger counts a lease once, and the list keeps the newest activity.
 */
export class PendingReports {
	readonly #findSession: () => SessionRow | undefined;
	readonly #rows: Rows;
	readonly #sql: Sql;
	/** The activities to report, by the ids of their messages. */
	readonly #activities = new Map<string, Activity>();
	#listedAt: number | undefined;
	/** The session's bytes in the owner's list, or its bytes when this instance started. */
	#listedBytes = 0;
	#isLooking = false;
	/** When the last report of the text was or is due. Missing if this instance has noted none. */
	#textAt: number | undefined;

	constructor(sql: Sql, findSession: () => SessionRow | undefined, rows: Rows) {
		this.#findSession = findSession;
		this.#sql = sql;
		this.#rows = rows;
	}

	/** Notes an activity to report, unless the list got a report lately and `isNew` is false. */
	noteActivity(isNew: boolean, now: number): void {
		this.#isLooking = true;
		if (!this.#isListed) return;
		const { listedAt } = this;
		if (isNew || listedAt === undefined || now - listedAt >= listedForMs) this.#note({ at: now });
	}

	/**
	 * The time of the newest reported activity, as far as this instance or the newest run has noted it. Undefined while
	 * the list of all owners lacks a report: if this instance crashes, the next one reports the activity again.
	 */
	get listedAt(): number | undefined {
		return this.#activities.has(toAll) ? undefined : (this.#listedAt ?? this.#rows.runs.get()?.listedAt);
	}

	/** Notes that the owner's list needs a report of what the session waits for. Call `noteActivity` after the wait. */
	noteWait(): void {
		this.#isLooking = true;
		this.#note(this.#findActivity());
	}

	/** Plans a report of the session's text, five minutes after the last one was due. Every report to the list has the text. */
	noteText(now: number): void {
		const [activity, pending] = [this.#findActivity(), this.#activities.get(toOwner)];
		const dueAt = pending === undefined ? (this.#textAt ?? -listedForMs) + listedForMs : (pending.dueAt ?? now);
		this.#textAt = Math.max(now, dueAt);
		this.#note(activity && { ...activity, ...(dueAt > now && { dueAt }) });
	}

	noteListedBytes(bytes: number): void {
		this.#listedBytes = bytes;
	}

	/** Notes that the owner's list needs a report of the session's bytes, unless they changed little. */
	noteBytes(): void {
		if (this.#findSession() === undefined) return;
		if (Math.abs(this.#rows.bytes - this.#listedBytes) < unlistedBytes) return;
		this.#isLooking = true;
		const [activity, pending] = [this.#findActivity(), this.#activities.get(toOwner)];
		const isPending = pending !== undefined && pending.dueAt === undefined;
		if (activity !== undefined && !isPending) this.#activities.set(toOwner, activity);
	}

	/** Repeats the reports that an earlier instance may not have delivered, that of a text only with `withText`. */
	lookBack({ withText = false } = {}): void {
		if (this.#findSession() === undefined) return;
		this.#rows.spending.lookBack();
		if (this.#isLooking && (!withText || this.#textAt !== undefined)) return;
		this.noteWait();
		if (withText) this.#textAt ??= Date.now();
	}

	get isEmpty(): boolean {
		return this.#findSession() === undefined || (this.#activities.size === 0 && !this.#hasLeases);
	}

	/** When the next report is due, in milliseconds since 1970. Missing without reports. */
	findDueAt(now: number): number | undefined {
		if (this.isEmpty) return undefined;
		if (this.#hasLeases) return now;
		return Math.min(...[...this.#activities.values()].map(({ dueAt = now }) => dueAt));
	}

	list(now = Date.now()): readonly Outgoing[] {
		const row = this.#findSession();
		if (row === undefined) return [];
		const { id: session, owner, user, agent, title } = row.record;
		const { runs, spending } = this.#rows;
		const ended = this.#listLeases(now);
		const parts = readParts({ sql: this.#sql, runs, spending }, ended);
		const leases = ended.map((lease) => {
			const { id, amount, firstCall } = lease;
			const about = { owner, session, user, agent, parts: [...(parts.get(firstCall) ?? [])] };
			const message = { to: 'ledger', ...about, call: id, amount } as const;
			return { id: `ledger ${id}`, message, failed: 0, lease };
		});
		const due = [...this.#activities].filter(([, { dueAt = now }]) => dueAt <= now);
		const activities = due.map(([id, activity]) => {
			const message = { to: 'list', activeAt: activity.at, title, ...(id === toAll && { isForAll: true }) } as const;
			return { id, message, failed: 0, activity };
		});
		return [...leases, ...activities];
	}

	/** Whether a lease can still be reported. */
	get #hasLeases(): boolean {
		return this.#rows.spending.hasUnreported && this.#listLeases(Date.now()).length > 0;
	}

	#listLeases(now: number): readonly EndedLease[] {
		return this.#rows.spending.listUnreported(now - reportableMs);
	}

	markReported(outgoing: Outgoing): void {
		const { id, message } = outgoing;
		if (message.to === 'list' && id === toOwner) this.#listedAt = Math.max(message.activeAt, this.#listedAt ?? 0);
		this.markStored(outgoing);
	}

	/** Notes that a message is now stored in the outbox. */
	markStored({ id, lease, activity }: Outgoing): void {
		if (lease !== undefined) this.#rows.spending.markReported(lease);
		// A newer activity still has to be reported.
		if (activity !== undefined && activity === this.#activities.get(id)) this.#activities.delete(id);
	}

	forget(): void {
		this.#rows.spending.forget();
		this.#activities.clear();
		this.#listedAt = undefined;
		this.#textAt = undefined;
		this.#isLooking = false;
	}

	get #isListed(): boolean {
		return isListed(this.#findSession()?.record);
	}

	#note(activity: Activity | undefined): void {
		if (activity === undefined) return;
		this.#activities.set(toOwner, activity);
		if (this.#findSession()?.record.shardsOfAll !== undefined) this.#activities.set(toAll, activity);
	}

	#findActivity(): Activity | undefined {
		const row = this.#findSession();
		if (row === undefined || !this.#isListed) return undefined;
		const { visitedAt = 0, record } = row;
		return { at: Math.max(this.#rows.runs.get()?.createdAt ?? record.createdAt, visitedAt) };
	}
}

export function withDetail(cost: MessageCost | undefined, usage: ChatUsage | undefined): MessageCost | undefined {
	if (cost === undefined) return undefined;
	const { inputTokens, cachedInputTokens, units, costUsd, unpriced } = usage ?? {};
	// Without a total price from the provider, only tokens have a price, so a request with other units is unpriced.
	const hasOtherParts = unpriced !== undefined || units !== undefined;
	const isUnpriced = costUsd === undefined && (cost.usd === 0 || hasOtherParts);
	return {
		...cost,
		...(inputTokens !== undefined && { inputTokens }),
		...(cachedInputTokens !== undefined && cachedInputTokens > 0 && { cachedInputTokens }),
		...(units !== undefined && { units }),
		isUnpriced,
	};
}

/** Reads each lease's costs, with a part for each model. A key is the number of a lease's first request. */
function readParts(
	{ sql, spending, runs }: Pick<Rows, 'runs' | 'spending'> & { readonly sql: Sql },
	leases: readonly Pick<EndedLease, 'firstCall' | 'lastCall'>[],
): ReadonlyMap<number, readonly CostPart[]> {
	const found = new Map<number, Map<string, CostPart>>(leases.map(({ firstCall }) => [firstCall, new Map()]));
	const [first] = leases;
	const last = leases.at(-1);
	if (first === undefined || last === undefined) return new Map();
	const calls = spending.after(first.firstCall - 1, last.lastCall - first.firstCall + 1);
	const details = readDetails(sql, runs.get(calls[0]?.run)?.firstSeq ?? 0);
	for (const charge of calls) {
		const parts = found.get(charge.lease);
		const part = toPart(charge, details.get(charge.call));
		parts?.set(part.model, addUp(parts.get(part.model), part));
	}
	return new Map([...found].map(([lease, parts]) => [lease, [...parts.values()]]));
}

/** Reads the billed parts of requests. A key is the number of a request. Skips messages before a place. */
function readDetails(sql: Sql, from: number): ReadonlyMap<number, CostDetail> {
	const rows = sql.exec<{ cost: string }>('SELECT cost FROM message WHERE seq >= ? AND cost IS NOT NULL', from);
	return new Map(
		rows.toArray().map(({ cost }) => {
			const detail: MessageCost = JSON.parse(cost);
			return [detail.call, detail];
		}),
	);
}

function toPart({ model, amount, estimate }: Charge, detail: CostDetail | undefined): CostPart {
	const { tokens, usd } = amount;
	const isUnpriced = detail?.isUnpriced ?? estimate.isUnpriced === true;
	const inputTokens = Math.min(tokens, detail?.inputTokens ?? estimate.inputTokens);
	return {
		...{ model, tokens, usd, unpricedTokens: isUnpriced ? tokens : 0, inputTokens },
		cachedInputTokens: Math.min(inputTokens, detail?.cachedInputTokens ?? 0),
		...(detail?.units !== undefined && { units: detail.units }),
		...(detail !== undefined && { longestReply: tokens - inputTokens }),
	};
}

function addUp(a: CostPart | undefined, b: CostPart): CostPart {
	if (a === undefined) return b;
	const units = addUnits(a.units, b.units);
	return {
		...{ model: a.model, ...plus(a, b), unpricedTokens: a.unpricedTokens + b.unpricedTokens },
		...{ inputTokens: a.inputTokens + b.inputTokens, cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens },
		...(units !== undefined && { units }),
		longestReply: Math.max(a.longestReply ?? 0, b.longestReply ?? 0),
	};
}
