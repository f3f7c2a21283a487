import { addUnits, type ChatUsage } from '../../../core/chat/usage.ts';
import { plus } from '../../objects/budget.ts';
import type { CostPart } from '../../objects/ledger/api.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { CostDetail, MessageCost } from './message-record.ts';
import type { Activity, Outgoing } from './outbox.ts';
import type { RunRows } from './runs.ts';
import { isListed, type SessionRow } from './session-row.ts';
import type { EndedLease, SpendingRows } from './spending.ts';
import type { Charge } from './spending-row.ts';

/** The rows that reports are made of. */
interface Rows {
	readonly runs: RunRows;
	readonly spending: SpendingRows;
	/** Bytes of the session. */
	readonly bytes: number;
}

/** Milliseconds until an activity without a run is stored again. */
export const visitedForMs = 60_000;

/** Milliseconds until the list of sessions is told of an activity again. */
const listedForMs = 300_000;

/** How far the bytes of a session may be from those that its owner's list knows, until it is told of them. */
const unlistedBytes = 1_048_576;

/** How long a lease is told again where nobody knows whether it was, in milliseconds: a ledger knows it for longer. */
const reportableMs = 86_400_000;

/**
 * The reports to the owner's ledger and list that are in no row of the outbox: the costs of ended leases, the activity of the
 * session, and what it waits for. Other rows say all of it, so that a report costs no row; in the outbox each lease would cost two.
 * Memory says which reports were delivered. After a crash the alarm makes the next instance of the object report again, which
 * changes nothing: a ledger counts a lease once, and the list keeps the latest activity.
 */
export class PendingReports {
	readonly #findSession: () => SessionRow | undefined;
	readonly #rows: Rows;
	readonly #sql: Sql;
	/** The activity to be told. */
	#activity: Activity | undefined;
	/** The time of the newest activity that was reported. */
	#listedAt: number | undefined;
	/** The bytes that the list knows, or the bytes at the start of this instance. */
	#listedBytes = 0;
	/** Whether this instance reports activities. */
	#isLooking = false;

	constructor(sql: Sql, findSession: () => SessionRow | undefined, rows: Rows) {
		this.#findSession = findSession;
		this.#sql = sql;
		this.#rows = rows;
	}

	/** Notes that the owner's list has to be told of an activity, unless it was told a moment ago and nothing is new. */
	noteActivity(isNew: boolean, now: number): void {
		this.#isLooking = true;
		if (!this.#isListed) return;
		const { listedAt } = this;
		if (isNew || listedAt === undefined || now - listedAt >= listedForMs) this.#activity = { at: now };
	}

	/** The newest reported activity, as far as this instance or the newest run knows. */
	get listedAt(): number | undefined {
		return this.#listedAt ?? this.#rows.runs.get()?.listedAt;
	}

	/** Notes that the owner's list has to be told what the session waits for. Call `noteActivity` where that ends. */
	noteWait(): void {
		this.#isLooking = true;
		this.#activity = this.#findActivity();
	}

	/** Notes that the list knows the bytes of the session. */
	noteListedBytes(bytes: number): void {
		this.#listedBytes = bytes;
	}

	/** Notes that the owner's list has to be told of the bytes of the session, unless it knows them nearly. */
	noteBytes(): void {
		if (this.#findSession() === undefined) return;
		if (Math.abs(this.#rows.bytes - this.#listedBytes) < unlistedBytes) return;
		this.#isLooking = true;
		this.#activity ??= this.#findActivity();
	}

	/** Reports again what an earlier instance may not have reported. */
	lookBack(): void {
		if (this.#findSession() === undefined) return;
		this.#rows.spending.lookBack();
		if (!this.#isLooking) this.noteWait();
	}

	/** Whether there is nothing to report, as far as this instance knows. */
	get isEmpty(): boolean {
		return this.#findSession() === undefined || (this.#activity === undefined && !this.#rows.spending.hasUnreported);
	}

	/** Lists the messages. */
	list(now = Date.now()): readonly Outgoing[] {
		const row = this.#findSession();
		if (row === undefined) return [];
		const { owner, user, agent, title } = row.record;
		const { runs, spending } = this.#rows;
		const ended = spending.listUnreported(now - reportableMs);
		const parts = readParts({ sql: this.#sql, runs, spending }, ended);
		const leases = ended.map((lease) => {
			const { id, amount, firstCall } = lease;
			const about = { owner, user, agent, parts: [...(parts.get(firstCall) ?? [])] };
			const message = { to: 'ledger', ...about, call: id, amount } as const;
			return { id: `ledger ${id}`, message, failed: 0, lease };
		});
		const activity = this.#activity;
		if (activity === undefined) return leases;
		const message = { to: 'list', activeAt: activity.at, title } as const;
		return [...leases, { id: 'list', message, failed: 0, activity }];
	}

	/** Notes that a message was delivered. */
	markReported(outgoing: Outgoing): void {
		const { message } = outgoing;
		if (message.to === 'list') this.#listedAt = Math.max(message.activeAt, this.#listedAt ?? 0);
		this.markStored(outgoing);
	}

	/** Notes that a message need not be told, because a row of the outbox says it now. */
	markStored({ lease, activity }: Outgoing): void {
		if (lease !== undefined) this.#rows.spending.markReported(lease);
		// A newer activity is reported, too.
		if (activity !== undefined && activity === this.#activity) this.#activity = undefined;
	}

	/** Forgets everything, because the session is gone. */
	forget(): void {
		this.#rows.spending.forget();
		this.#activity = undefined;
		this.#listedAt = undefined;
		this.#isLooking = false;
	}

	/** Whether it is in the owner's list: a session that another one waits for is shown there. */
	get #isListed(): boolean {
		return isListed(this.#findSession()?.record);
	}

	#findActivity(): Activity | undefined {
		const row = this.#findSession();
		if (row === undefined || !this.#isListed) return undefined;
		const { visitedAt = 0, record } = row;
		return { at: Math.max(this.#rows.runs.get()?.createdAt ?? record.createdAt, visitedAt) };
	}
}

/** Adds to the cost of a request what it was billed for. */
export function withDetail(cost: MessageCost | undefined, usage: ChatUsage | undefined): MessageCost | undefined {
	if (cost === undefined) return undefined;
	const { inputTokens, cachedInputTokens, units, costUsd, unpriced } = usage ?? {};
	// Without a price of the whole request only tokens have one.
	const isPart = unpriced !== undefined || units !== undefined;
	const isUnpriced = costUsd === undefined && (cost.usd === 0 || isPart);
	return {
		...cost,
		...(inputTokens !== undefined && { inputTokens }),
		...(cachedInputTokens !== undefined && cachedInputTokens > 0 && { cachedInputTokens }),
		...(units !== undefined && { units }),
		isUnpriced,
	};
}

/** Reads what each of some leases cost by model, by the number of its first request. */
function readParts(
	{ sql, spending, runs }: PartSources,
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

interface PartSources {
	readonly sql: Sql;
	readonly spending: Pick<SpendingRows, 'after'>;
	readonly runs: Pick<RunRows, 'get'>;
}

/** Reads what requests were billed for whose messages stand from a place on, by their numbers. */
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
