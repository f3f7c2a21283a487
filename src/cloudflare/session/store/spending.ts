import { roundDollars } from '../../../core/chat/usage.ts';
import { type Amount, minus, nothing } from '../../objects/budget.ts';
import type { RememberingSql } from './remember.ts';

/** A request to a model and its cost. */
export interface Charge {
	/** Number in the session, from 1. */
	readonly call: number;
	readonly run: number;
	readonly model: string;
	/** What is set aside during the request, and what it cost afterwards. */
	readonly amount: Amount;
	/** Whether the ledger of the session's owner has to be told, or was. */
	readonly owed: boolean;
	/** The number of the request that its lease was taken for: its own, or an earlier one. */
	readonly lease: number;
	/** The size of its input, and the prices. */
	readonly estimate: Estimate;
}

/** What a request is charged by if its provider does not report the cost. */
export interface Estimate {
	readonly inputTokens: number;
	/** What the input costs, in US dollars. */
	readonly inputUsd: number;
	/** What a token of the output costs, in US dollars. */
	readonly outputUsd: number;
}

/** A block of the owner's day that requests are made from (docs/budgets.md, "Leases"). */
export interface Lease {
	/** The number of the request that it was taken for. */
	readonly call: number;
	/** What the ledger has set aside for it. */
	readonly granted: Amount;
	/** What the session had spent before it. */
	readonly before: Amount;
	/** In milliseconds since 1970: it is never used on the next day. */
	readonly endsAt: number;
	/** Whether it outlives its run. */
	readonly isKept: boolean;
}

/** What the session spends: one row for each request to a model, with the sum up to it. There is one request at a time. */
export class SpendingRows {
	readonly #sql: RememberingSql;
	readonly #last: () => (Row & Totals) | undefined;
	/** The request up to whose lease all are told. Missing while this life of the object does not look after that. */
	#told: number | undefined;
	/** The lease that goes on. No row says which: every other one has ended, and so has that of an earlier life. */
	#lease: Lease | undefined;

	constructor(sql: RememberingSql) {
		this.#sql = sql;
		this.#last = sql.remember(
			'spending',
			() => sql.exec<Row & Totals>('SELECT * FROM spending ORDER BY call DESC LIMIT 1').toArray()[0],
		);
	}

	/** Sets an amount aside for a request. Without a lease it begins one. */
	reserve({ run, model, amount, owed, estimate, ...given }: NewCharge, at: number): Charge {
		const { tokens, usd } = amount;
		const call = (this.#last()?.call ?? 0) + 1;
		const { lease = call } = given;
		const total = this.total();
		this.#sql.exec(
			`INSERT INTO spending (
				call, run, model, tokens, usd, total_tokens, total_usd, settled, owed, created_at, input_tokens, input_usd, output_usd, lease, told
			) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)`,
			...[call, run, model, tokens, usd, total.tokens, total.usd, owed ? 1 : 0, at],
			...[estimate.inputTokens, estimate.inputUsd, estimate.outputUsd, lease, this.#toldCall],
		);
		return { call, run, model, amount, owed, estimate, lease };
	}

	/** Returns the current request, which is not settled yet. */
	open(): Charge | undefined {
		const row = this.#last();
		return row === undefined || row.settled === 1 ? undefined : toCharge(row);
	}

	/** Stores what a request cost. */
	settle(call: number, { tokens, usd }: Amount): void {
		this.lookBack();
		this.#sql.exec(
			`UPDATE spending SET tokens = ?, usd = ?, total_tokens = total_tokens + ?, total_usd = total_usd + ?, settled = 1
			WHERE call = ? AND settled = 0`,
			...[tokens, usd, tokens, usd, call],
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

	/** Ends the lease, if there is one: the ledger has to be told, and takes back what is left of it. */
	endLease(): void {
		this.#lease = undefined;
	}

	/**
	 * Lists the leases that ended, oldest first, of which the ledger may not know. One whose run ended before `since` is not
	 * among them.
	 */
	listUntold(since: number): readonly EndedLease[] {
		const last = this.#last();
		if (last === undefined || last.call <= this.#toldCall) return [];
		type Found = { call: number; lease: number; run_id: string } & Totals & {
				before_tokens: number | null;
				before_usd: number | null;
			};
		const rows = this.#sql.exec<Found>(
			`WITH lease AS (
				SELECT COALESCE(lease, call) AS first, MAX(call) AS call, run, settled, total_tokens, total_usd FROM spending
				WHERE call > ? AND owed <> 0 GROUP BY first
			)
			SELECT lease.call, first AS lease, begun.id AS run_id, lease.total_tokens, lease.total_usd,
				b.total_tokens AS before_tokens, b.total_usd AS before_usd
			FROM lease JOIN run ON run.n = lease.run JOIN spending AS a ON a.call = first JOIN run AS begun ON begun.n = a.run
				LEFT JOIN spending AS b ON b.call = first - 1
			WHERE lease.settled = 1 AND first <> ? AND (run.ended_at IS NULL OR run.ended_at > ?) ORDER BY lease.call`,
			...[this.#toldCall, this.#lease?.call ?? 0, since],
		);
		return rows.toArray().map(({ call, lease, ...row }) => {
			const before = { tokens: row.before_tokens ?? 0, usd: row.before_usd ?? 0 };
			const amount = minus({ tokens: row.total_tokens, usd: row.total_usd }, before);
			return { lastCall: call, id: ledgerId(row.run_id, lease), amount };
		});
	}

	/** Notes that the ledger knows of all leases up to that of a request. It is stored with the next request. */
	markTold(call: number): void {
		this.#told = Math.max(call, this.#told ?? 0);
	}

	/** Makes this life of the object look after what an earlier one may not have told. */
	lookBack(): void {
		this.#told ??= this.#toldCall;
	}

	/** Whether the newest lease has ended, and this life of the object looks after it and has not told the ledger. */
	get hasUntold(): boolean {
		const last = this.#last();
		if (last === undefined || last.owed === 0 || last.settled === 0 || this.#told === undefined) return false;
		return last.call > this.#told && (last.lease ?? last.call) !== this.#lease?.call;
	}

	/** Forgets what is told and leased, because all rows are gone. */
	forget(): void {
		this.#told = undefined;
		this.#lease = undefined;
	}

	get #toldCall(): number {
		return this.#told ?? this.#last()?.told ?? 0;
	}

	/** Returns at most `limit` requests after a number, oldest first. */
	after(call: number, limit: number): (Charge & { readonly isSettled: boolean; readonly createdAt: number })[] {
		type Dated = Row & { created_at: number };
		const rows = this.#sql.exec<Dated>('SELECT * FROM spending WHERE call > ? ORDER BY call LIMIT ?', call, limit);
		return rows.toArray().map((row) => ({ ...toCharge(row), isSettled: row.settled === 1, createdAt: row.created_at }));
	}

	/** Returns what the requests of a run cost. */
	getRun(run: number): Amount {
		type Total = { tokens: number; usd: number };
		const before = this.#sql
			.exec<Total>(
				'SELECT total_tokens AS tokens, total_usd AS usd FROM spending WHERE run < ? ORDER BY call DESC LIMIT 1',
				run,
			)
			.toArray()[0];
		const { tokens, usd } = this.total();
		return { tokens: tokens - (before?.tokens ?? 0), usd: roundDollars(usd - (before?.usd ?? 0)) ?? 0 };
	}

	/** Returns what was spent until now. */
	total(): Amount {
		const row = this.#last();
		return row === undefined ? nothing : { tokens: row.total_tokens, usd: row.total_usd };
	}
}

/** A lease that has ended. */
export interface EndedLease {
	/** The number of its last request. */
	readonly lastCall: number;
	/** Its name in the ledger. */
	readonly id: string;
	/** What its requests cost together. */
	readonly amount: Amount;
}

/** A request that is about to be made. */
export type NewCharge = Omit<Charge, 'call' | 'lease'> & Partial<Pick<Charge, 'lease'>>;

/** The sums up to a request. */
type Totals = { total_tokens: number; total_usd: number };

type Row = {
	call: number;
	run: number;
	model: string;
	tokens: number;
	usd: number;
	settled: number;
	owed: number;
	input_tokens: number;
	input_usd: number;
	output_usd: number;
	/** Missing from requests of an earlier version, each of which is told by itself. */
	lease: number | null;
	told: number;
};

function toCharge({ call, run, model, tokens, usd, owed, ...row }: Row): Charge {
	const { input_tokens: inputTokens, input_usd: inputUsd, output_usd: outputUsd } = row;
	const estimate = { inputTokens, inputUsd, outputUsd };
	return { call, run, model, amount: { tokens, usd }, owed: owed !== 0, estimate, lease: row.lease ?? call };
}

/** Returns the name of a lease in the ledger, by the request that it was taken for. A session that is created again under its key has the same id, but other runs. */
export function ledgerId(runId: string, call: number): string {
	return `${runId}.${call}`;
}
