import { type Amount, type Limit, minus, nothing } from '../../objects/budget.ts';
import type { UserScope } from '../../objects/ledger/api.ts';
import type { MessageRows } from './messages.ts';
import { type Charge, type SpendingRow as Row, settleRow, toCharge } from './spending-row.ts';
import type { Cached, CachingSql } from './tables.ts';

/** A block of the owner's day that requests are made from (docs/budgets.md, "Leases"). */
export interface Lease {
	/** The number of the request that it was taken for. */
	readonly call: number;
	/** The amount that the ledger has set aside for it. */
	readonly granted: Amount;
	/** The amount that the session had spent before it. */
	readonly before: Amount;
	/** In milliseconds since 1970: it is never used on the next day. */
	readonly endsAt: number;
	/** Whether it outlives its run. */
	readonly isKept: boolean;
	/** The caps of the session's user, as far as they were known when the lease was given. */
	readonly userLimits?: ReadonlyMap<UserScope, Limit>;
}

/** The spending of a session: one row for each request to a model, with the sum up to it. Requests run one at a time. */
export class SpendingRows {
	readonly #sql: CachingSql;
	readonly #newest: Cached<Row | undefined>;
	readonly #messages: Pick<MessageRows, 'newestCost'>;
	/** The last request whose lease is reported. Missing while this instance does not report. */
	#told: number | undefined;
	/** The run that has begun to spend in this instance of the object, and what was spent before it. */
	#run: { readonly n: number; readonly before: Amount } | undefined;
	/** The current lease. It is in memory only: all other leases have ended, also those of an earlier instance. */
	#lease: Lease | undefined;
	/** How many sessions of this instance of the object were removed. */
	#generation = 0;

	/** @param messages says what the newest message has cost. */
	constructor(sql: CachingSql, messages: Pick<MessageRows, 'newestCost'>) {
		this.#sql = sql;
		this.#messages = messages;
		this.#newest = sql.cached(
			'spending',
			() => sql.exec<Row>('SELECT * FROM spending ORDER BY call DESC LIMIT 1').toArray()[0],
		);
	}

	/** Sets an amount aside for a request. Without a lease it begins one. */
	reserve(
		{ run, model, amount, owed, estimate, isEmbedding = false, mayThink = false, ...given }: NewCharge,
		at: number,
	): Charge {
		const { tokens, usd } = amount;
		const last = this.#last();
		const call = (last?.call ?? 0) + 1;
		const { lease = call } = given;
		const total = this.total();
		if (last?.run !== run) this.#run = { n: run, before: total };
		const row: Row = {
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
		const columns = Object.keys(row);
		this.#newest.change(
			() =>
				this.#sql.write(
					'spending',
					`INSERT INTO spending (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
					...Object.values(row),
				),
			() => row,
		);
		return { call, run, model, amount, owed, estimate, lease, isEmbedding, mayThink };
	}

	/** Sets less aside for the current request. */
	shorten(charge: Charge, { tokens, usd }: Amount): Charge {
		const amount = { tokens, usd };
		this.#newest.change(
			() =>
				this.#sql.write('spending', 'UPDATE spending SET tokens = ?, usd = ? WHERE call = ?', tokens, usd, charge.call),
			(row) => (row?.call === charge.call ? { ...row, tokens, usd } : row),
		);
		return { ...charge, amount };
	}

	/** Returns the current request, which is not settled yet. */
	open(): (Charge & { readonly createdAt: number }) | undefined {
		const row = this.#last();
		return row === undefined || row.settled === 1 ? undefined : { ...toCharge(row), createdAt: row.created_at };
	}

	/** Returns whether a run has made a request that no message came of, or not yet. */
	isUnanswered(run: number): boolean {
		const newest = this.#newest();
		const row = newest?.embedding === 1 ? this.#findNewestTurn() : newest;
		return row?.run === run && this.#messages.newestCost()?.call !== row.call;
	}

	/** Returns the newest request that a message may come of. */
	#findNewestTurn(): Row | undefined {
		return this.#sql
			.exec<Row>('SELECT * FROM spending WHERE embedding IS NULL ORDER BY call DESC LIMIT 1')
			.toArray()[0];
	}

	/** Stores the cost of a request that failed. */
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

	/** The lease that requests may be made from. */
	get lease(): Lease | undefined {
		return this.#lease;
	}

	/** Notes that requests may be made from a lease. */
	beginLease(lease: Lease): void {
		this.#lease = lease;
	}

	/** Ends the lease, if there is one. The ledger takes back the rest when it is told. */
	endLease(): void {
		this.#lease = undefined;
	}

	/**
	 * Lists the leases that ended, oldest first, of which the ledger may not know. One whose run ended before `since` is not
	 * among them.
	 */
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
				SELECT COALESCE(lease, call) AS first, MAX(call) AS call, run FROM spending WHERE call > ? AND owed <> 0 GROUP BY first
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
	 * Notes that the ledger knows of all leases up to this one. It is stored with the next request. Of a session that was
	 * removed meanwhile the next one under its id has no request.
	 */
	markReported({ lastCall, generation }: EndedLease): void {
		if (generation === this.#generation) this.#told = Math.max(lastCall, this.#told ?? 0);
	}

	/** Reports again what an earlier instance may not have reported. */
	lookBack(): void {
		this.#told ??= this.#toldCall;
	}

	/** Whether the newest lease has ended and is not reported. */
	get hasUnreported(): boolean {
		const last = this.#last();
		if (last === undefined || last.owed === 0 || last.settled === 0 || this.#told === undefined) return false;
		return last.call > this.#told && (last.lease ?? last.call) !== this.#lease?.call;
	}

	/** Forgets leases and reports, because all rows are gone. */
	forget(): void {
		this.#told = undefined;
		this.#lease = undefined;
		this.#run = undefined;
		this.#generation++;
	}

	/** The newest request. If a message came of it, that says what it cost. */
	#last(): Row | undefined {
		const row = this.#newest();
		if (row === undefined || row.settled === 1) return row;
		const cost = this.#messages.newestCost();
		return cost?.call === row.call ? settleRow(row, cost) : row;
	}

	get #toldCall(): number {
		return this.#told ?? this.#last()?.told ?? 0;
	}

	/** Returns at most `limit` requests after a number, oldest first. */
	after(call: number, limit: number): (Charge & { readonly isSettled: boolean; readonly createdAt: number })[] {
		type Found = Row & { next_tokens: number | null; next_usd: number | null };
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

	/** Returns what the requests of a run cost. */
	getRun(run: number): Amount {
		if (this.#run?.n === run) return minus(this.total(), this.#run.before);
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

	/** Returns what was spent until now. */
	total(): Amount {
		const row = this.#last();
		return row === undefined ? nothing : { tokens: row.total_tokens, usd: row.total_usd };
	}
}

/** A lease that has ended. */
export interface EndedLease {
	/** The number of its first request. */
	readonly firstCall: number;
	/** The number of its last request. */
	readonly lastCall: number;
	/** Its name in the ledger. */
	readonly id: string;
	/** The cost of its requests together. */
	readonly amount: Amount;
	/** How many sessions were removed in front of its own, in this instance of the object. */
	readonly generation: number;
}

/** A request that is about to be made. */
export type NewCharge = Omit<Charge, 'call' | 'lease'> & Partial<Pick<Charge, 'lease'>>;

/** The sum before the request of a row, in SQL. */
function before(row: string, unit: 'tokens' | 'usd'): string {
	return `(${row}.total_${unit} - ${row}.settled * ${row}.${unit})`;
}

/** Returns the name of a lease in the ledger, by the request that it was taken for. A session that is created again under its key has the same id, but other runs. */
export function ledgerId(runId: string, call: number): string {
	return `${runId}.${call}`;
}
