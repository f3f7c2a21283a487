import { type Amount, type Limit, minus, nothing } from '../../objects/budget.ts';
import type { UserScope } from '../../objects/ledger/api.ts';
import type { MessageRows } from './messages.ts';
import type { Cached, CachingSql } from './tables.ts';

export interface Charge {
	readonly call: number;
	readonly run: number;
	readonly model: string;
	/** The reservation during the request, and its cost afterwards. */
	readonly amount: Amount;
	/** Whether the cost has to be reported to the owner's ledger. */
	readonly owed: boolean;
	readonly lease: number;
	readonly estimate: Estimate;
	/** Whether the request is for vectors. Such a request has no message. */
	readonly isEmbedding?: boolean;
	/** Whether the model may think without showing it. */
	readonly mayThink?: boolean;
}

/** The size of a request's input, and its prices in US dollars. */
export interface Estimate {
	readonly inputTokens: number;
	readonly inputUsd: number;
	readonly unitsUsd?: number;
	readonly outputUsd: number;
	/** Whether the price is unknown. If so, the dollars are 0. */
	readonly isUnpriced?: boolean;
}

export type SpendingRow = {
	call: number;
	run: number;
	model: string;
	tokens: number;
	usd: number;
	total_tokens: number;
	total_usd: number;
	settled: number;
	owed: number;
	input_tokens: number;
	input_usd: number;
	output_usd: number;
	units_usd: number | null;
	lease: number;
	told: number;
	embedding: number | null;
	thinks: number | null;
	unpriced: number | null;
	created_at: number;
};

function settleRow(row: SpendingRow, { tokens, usd }: Amount): SpendingRow {
	const sums = { total_tokens: row.total_tokens + tokens, total_usd: row.total_usd + usd };
	return { ...row, ...sums, tokens, usd, settled: 1 };
}

function toCharge({ call, run, model, tokens, usd, owed, ...row }: SpendingRow): Charge {
	const { input_tokens: inputTokens, input_usd: inputUsd, output_usd: outputUsd } = row;
	const prices = { inputUsd, outputUsd, unitsUsd: row.units_usd ?? 0, isUnpriced: row.unpriced === 1 };
	const estimate = { inputTokens, ...prices };
	const about = { call, run, model, amount: { tokens, usd }, owed: owed !== 0, estimate };
	return { ...about, lease: row.lease, isEmbedding: row.embedding === 1, mayThink: row.thinks === 1 };
}

/** A part of the owner's day budget for several requests (docs/budgets.md, "Leases"). */
export interface Lease {
	/** The number of the lease's first request. */
	readonly call: number;
	readonly granted: Amount;
	/** The spending of the session before the lease. */
	readonly before: Amount;
	/** In milliseconds since 1970, and not after the end of the UTC day. */
	readonly endsAt: number;
	readonly isKept: boolean;
	readonly userLimits?: ReadonlyMap<UserScope, Limit>;
}

/** The spending of a session: a row for each request to a model, with a running total. Requests run one at a time. */
export class SpendingRows {
	readonly #sql: CachingSql;
	readonly #newest: Cached<SpendingRow | undefined>;
	readonly #messages: Pick<MessageRows, 'newestCost'>;
	/** The last request whose lease is reported. Missing until this instance reports. */
	#told: number | undefined;
	/** The current lease, which is only in memory: the leases of an earlier instance have ended. */
	#lease: Lease | undefined;
	/** The number of sessions that were removed in this instance. */
	#generation = 0;

	constructor(sql: CachingSql, messages: Pick<MessageRows, 'newestCost'>) {
		this.#sql = sql;
		this.#messages = messages;
		this.#newest = sql.cached(
			'spending',
			() => sql.exec<SpendingRow>('SELECT * FROM spending ORDER BY call DESC LIMIT 1').toArray()[0],
		);
	}

	/** Reserves an amount for a request. Without a lease the request begins one. */
	reserve(
		{ run, model, amount, owed, estimate, isEmbedding = false, mayThink = false, ...charge }: NewCharge,
		at: number,
	): Charge {
		const { tokens, usd } = amount;
		const last = this.#last();
		const call = (last?.call ?? 0) + 1;
		const { lease = call } = charge;
		const total = this.total();
		const row: SpendingRow = {
			...{ call, run, model, tokens, usd, total_tokens: total.tokens, total_usd: total.usd, settled: 0 },
			...{ owed: owed ? 1 : 0, created_at: at, input_tokens: estimate.inputTokens, input_usd: estimate.inputUsd },
			...{
				output_usd: estimate.outputUsd,
				units_usd: estimate.unitsUsd ?? null,
				lease,
				told: this.#toldCall,
				embedding: isEmbedding ? 1 : null,
				thinks: mayThink ? 1 : null,
				unpriced: estimate.isUnpriced === true ? 1 : null,
			},
		};
		this.#newest.change(
			() => this.#sql.insert('spending', row),
			() => row,
		);
		return { call, run, model, amount, owed, estimate, lease, isEmbedding, mayThink };
	}

	shorten(charge: Charge, { tokens, usd }: Amount): Charge {
		const amount = { tokens, usd };
		this.#newest.change(
			() =>
				this.#sql.write('spending', 'UPDATE spending SET tokens = ?, usd = ? WHERE call = ?', tokens, usd, charge.call),
			(row) => (row?.call === charge.call ? { ...row, tokens, usd } : row),
		);
		return { ...charge, amount };
	}

	open(): (Charge & { readonly createdAt: number }) | undefined {
		const row = this.#last();
		return row === undefined || row.settled === 1 ? undefined : { ...toCharge(row), createdAt: row.created_at };
	}

	/** Whether the newest request of a run has no message. Requests for vectors do not count. */
	isUnanswered(run: number): boolean {
		const newest = this.#newest();
		const row = newest?.embedding === 1 ? this.#findNewestTurn() : newest;
		return row?.run === run && this.#messages.newestCost()?.call !== row.call;
	}

	#findNewestTurn(): SpendingRow | undefined {
		return this.#sql
			.exec<SpendingRow>('SELECT * FROM spending WHERE embedding IS NULL ORDER BY call DESC LIMIT 1')
			.toArray()[0];
	}

	/** Stores the cost of a request without a message: it failed, or it was for vectors. */
	settle(call: number, { tokens, usd }: Amount): void {
		this.lookBack();
		this.#newest.change(
			() =>
				this.#sql.write(
					'spending',
					`UPDATE spending SET tokens = ?, usd = ?, total_tokens = total_tokens + ?, total_usd = total_usd + ?, settled = 1
					WHERE call = ? AND settled = 0`,
					...[tokens, usd, tokens, usd, call],
				),
			(row) => (row?.call === call && row.settled === 0 ? settleRow(row, { tokens, usd }) : row),
		);
	}

	get lease(): Lease | undefined {
		return this.#lease;
	}

	beginLease(lease: Lease): void {
		this.#lease = lease;
	}

	/** Ends the lease. The report to the ledger releases the unspent rest. */
	endLease(): void {
		this.#lease = undefined;
	}

	/** Lists ended leases that the ledger may not know, the oldest first. Skips runs that ended before `since`. */
	listUnreported(since: number): readonly EndedLease[] {
		const last = this.#last();
		const lease = this.#lease?.call;
		if (last === undefined || (lease ?? last.call + 1) <= this.#toldCall + 1) return [];
		type Found = { call: number; lease: number; run_id: string } & Record<'tokens' | 'usd', number>;
		const isBegun = last.settled === 0 ? last.call : 0;
		const rows = this.#sql.exec<Found>(
			`SELECT lease.call, first AS lease, first_run.id AS run_id,
				COALESCE(${before('b', 'tokens')}, ?) - ${before('a', 'tokens')} AS tokens,
				COALESCE(${before('b', 'usd')}, ?) - ${before('a', 'usd')} AS usd
			FROM (
				SELECT lease AS first, MAX(call) AS call, run FROM spending WHERE call > ? AND owed <> 0 GROUP BY lease
			) AS lease
			JOIN spending AS a ON a.call = first LEFT JOIN spending AS b ON b.call = lease.call + 1
				LEFT JOIN run ON run.n = lease.run LEFT JOIN run AS first_run ON first_run.n = a.run
			WHERE lease.call <> ? AND first <> ? AND (run.ended_at IS NULL OR run.ended_at > ?) ORDER BY lease.call`,
			...[last.total_tokens, last.total_usd, this.#toldCall, isBegun, lease ?? 0, since],
		);
		return rows.toArray().map(({ call, lease: first, run_id: run, ...amount }) => {
			const about = { firstCall: first, lastCall: call, id: ledgerId(run, first), generation: this.#generation };
			return { ...about, amount: minus(amount, nothing) };
		});
	}

	/**
	 * Notes that the ledger has all leases up to this lease. The row of the next request stores this. Ignores a lease
	 * of a removed session.
	 */
	markReported({ lastCall, generation }: EndedLease): void {
		if (generation === this.#generation) this.#told = Math.max(lastCall, this.#told ?? 0);
	}

	lookBack(): void {
		this.#told ??= this.#toldCall;
	}

	/** Whether the newest lease has ended and is not reported. */
	get hasUnreported(): boolean {
		const last = this.#last();
		if (last === undefined || last.owed === 0 || last.settled === 0 || this.#told === undefined) return false;
		return last.call > this.#told && last.lease !== this.#lease?.call;
	}

	forget(): void {
		this.#told = undefined;
		this.#lease = undefined;
		this.#generation++;
	}

	/** Returns the newest request, settled with the cost of its message. */
	#last(): SpendingRow | undefined {
		const row = this.#newest();
		if (row === undefined || row.settled === 1) return row;
		const cost = this.#messages.newestCost();
		return cost?.call === row.call ? settleRow(row, cost) : row;
	}

	get #toldCall(): number {
		return this.#told ?? this.#last()?.told ?? 0;
	}

	/** Returns at most `limit` requests after a number, the oldest first. */
	after(call: number, limit: number): (Charge & { readonly isSettled: boolean; readonly createdAt: number })[] {
		type Found = SpendingRow & { next_tokens: number | null; next_usd: number | null };
		const rows = this.#sql.exec<Found>(
			`SELECT a.*, ${before('b', 'tokens')} AS next_tokens, ${before('b', 'usd')} AS next_usd
			FROM spending AS a LEFT JOIN spending AS b ON b.call = a.call + 1 WHERE a.call > ? ORDER BY a.call LIMIT ?`,
			...[call, limit],
		);
		const last = this.#last();
		return rows.toArray().map(({ next_tokens: tokens, next_usd: usd, ...stored }) => {
			const sum = tokens === null || usd === null ? undefined : { tokens, usd };
			const cost = sum && minus(sum, { tokens: stored.total_tokens, usd: stored.total_usd });
			const row = last?.call === stored.call ? last : cost && stored.settled === 0 ? settleRow(stored, cost) : stored;
			return { ...toCharge(row), isSettled: row.settled === 1, createdAt: row.created_at };
		});
	}

	/** Returns the spending from the beginning of a run on. */
	getRun(run: number): Amount {
		const [first] = this.#sql
			.exec<{ tokens: number; usd: number }>(
				`SELECT ${before('a', 'tokens')} AS tokens, ${before('a', 'usd')} AS usd FROM spending AS a
				WHERE call > COALESCE((SELECT call FROM spending WHERE run < ? ORDER BY call DESC LIMIT 1), 0)
				ORDER BY call LIMIT 1`,
				run,
			)
			.toArray();
		return first === undefined ? nothing : minus(this.total(), first);
	}

	total(): Amount {
		const row = this.#last();
		return row === undefined ? nothing : { tokens: row.total_tokens, usd: row.total_usd };
	}
}

export interface EndedLease {
	readonly firstCall: number;
	readonly lastCall: number;
	readonly id: string;
	readonly amount: Amount;
	/** The number of sessions that this instance had removed before. */
	readonly generation: number;
}

export type NewCharge = Omit<Charge, 'call' | 'lease'> & Partial<Pick<Charge, 'lease'>>;

function before(row: string, unit: 'tokens' | 'usd'): string {
	return `(${row}.total_${unit} - ${row}.settled * ${row}.${unit})`;
}

/** Returns the id of a lease in the ledger. A session that is created again has the same id, but other runs. */
export function ledgerId(runId: string, call: number): string {
	return `${runId}.${call}`;
}
