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

interface Rows {
	readonly runs: RunRows;
	readonly spending: SpendingRows;
	readonly bytes: number;
}

/** The shortest time between two stored activities without a run, in milliseconds. */
export const visitedForMs = 60_000;

/** The shortest time between two reports of activity to the owner's list, in milliseconds. */
const listedForMs = 300_000;

/** The difference to the bytes in the owner's list that causes a report. */
const unlistedBytes = 1_048_576;

/** How long after its end an uncertain lease is reported, in milliseconds. The ledger remembers a lease longer. */
const reportableMs = 86_400_000;

/**
 * The reports to the owner's ledger and list without a row in the outbox: the costs of ended leases, the activity of
 * the session, and what it waits for. They are computed from other rows, so a report writes no row. Only memory has the
 * delivered reports. After a crash the next instance of the object repeats them, which changes nothing: a ledger counts
 * a lease once, and the list keeps the newest activity.
 */
export class PendingReports {
	readonly #findSession: () => SessionRow | undefined;
	readonly #rows: Rows;
	readonly #sql: Sql;
	#activity: Activity | undefined;
	#listedAt: number | undefined;
	/** The bytes in the owner's list, or at the start of this instance. */
	#listedBytes = 0;
	#isLooking = false;

	constructor(sql: Sql, findSession: () => SessionRow | undefined, rows: Rows) {
		this.#findSession = findSession;
		this.#sql = sql;
		this.#rows = rows;
	}

	/** Notes an activity to report, unless the list got a report lately and nothing is new. */
	noteActivity(isNew: boolean, now: number): void {
		this.#isLooking = true;
		if (!this.#isListed) return;
		const { listedAt } = this;
		if (isNew || listedAt === undefined || now - listedAt >= listedForMs) this.#activity = { at: now };
	}

	/** The time of the newest reported activity that this instance or the newest run knows. */
	get listedAt(): number | undefined {
		return this.#listedAt ?? this.#rows.runs.get()?.listedAt;
	}

	/** Notes that the owner's list needs what the session waits for. Call `noteActivity` when the wait ends. */
	noteWait(): void {
		this.#isLooking = true;
		this.#activity = this.#findActivity();
	}

	noteListedBytes(bytes: number): void {
		this.#listedBytes = bytes;
	}

	/** Notes that the owner's list needs the bytes of the session, unless they changed little. */
	noteBytes(): void {
		if (this.#findSession() === undefined) return;
		if (Math.abs(this.#rows.bytes - this.#listedBytes) < unlistedBytes) return;
		this.#isLooking = true;
		this.#activity ??= this.#findActivity();
	}

	lookBack(): void {
		if (this.#findSession() === undefined) return;
		this.#rows.spending.lookBack();
		if (!this.#isLooking) this.noteWait();
	}

	get isEmpty(): boolean {
		return this.#findSession() === undefined || (this.#activity === undefined && !this.#rows.spending.hasUnreported);
	}

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

	markReported(outgoing: Outgoing): void {
		const { message } = outgoing;
		if (message.to === 'list') this.#listedAt = Math.max(message.activeAt, this.#listedAt ?? 0);
		this.markStored(outgoing);
	}

	/** Notes a message that is in the outbox now. */
	markStored({ lease, activity }: Outgoing): void {
		if (lease !== undefined) this.#rows.spending.markReported(lease);
		// A newer activity still has to be reported.
		if (activity !== undefined && activity === this.#activity) this.#activity = undefined;
	}

	forget(): void {
		this.#rows.spending.forget();
		this.#activity = undefined;
		this.#listedAt = undefined;
		this.#isLooking = false;
	}

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

export function withDetail(cost: MessageCost | undefined, usage: ChatUsage | undefined): MessageCost | undefined {
	if (cost === undefined) return undefined;
	const { inputTokens, cachedInputTokens, units, costUsd, unpriced } = usage ?? {};
	// Without a price of the whole request, only its tokens have a price.
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

/** Reads the costs of leases by model. The keys are the numbers of their first requests. */
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

/** Reads the billed parts of requests whose messages are behind a place, by the number of the request. */
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
