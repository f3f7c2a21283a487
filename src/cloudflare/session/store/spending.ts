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
	/** Whether the ledger of the session's owner has to be told. */
	readonly owed: boolean;
	/** The number of the request that its lease was taken for: its own, or an earlier one of its run. */
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

/** What the session spends: one row for each request to a model, with the sum up to it. There is one request at a time. */
export class SpendingRows {
	readonly #sql: RememberingSql;
	readonly #last: () => (Row & Totals) | undefined;

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
				call, run, model, tokens, usd, total_tokens, total_usd, settled, owed, created_at, input_tokens, input_usd, output_usd, lease
			) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`,
			...[call, run, model, tokens, usd, total.tokens, total.usd, owed ? 1 : 0, at],
			...[estimate.inputTokens, estimate.inputUsd, estimate.outputUsd, lease],
		);
		return { call, run, model, amount, owed, estimate, lease };
	}

	/** Returns the current request, which is not settled yet. */
	open(): Charge | undefined {
		const row = this.#last();
		return row === undefined || row.settled === 1 ? undefined : toCharge(row);
	}

	/**
	 * Stores what a request cost, and whether its lease ends with it. Returns whether it was open.
	 */
	settle(call: number, { tokens, usd }: Amount, isLast: boolean): boolean {
		const changed = this.#sql.exec(
			`UPDATE spending SET tokens = ?, usd = ?, total_tokens = total_tokens + ?, total_usd = total_usd + ?, settled = 1,
				owed = owed AND ? WHERE call = ? AND settled = 0 RETURNING call`,
			...[tokens, usd, tokens, usd, isLast ? 0 : 1, call],
		);
		return changed.toArray().length > 0;
	}

	/** Ends the lease of a run whose requests are all settled. Returns its last request, if there was a lease to end. */
	endLease(run: number): Charge | undefined {
		const row = this.#last();
		if (row === undefined || row.run !== run || row.settled === 0 || row.owed === 0) return undefined;
		this.#sql.exec('UPDATE spending SET owed = 0 WHERE call = ?', row.call);
		return toCharge(row);
	}

	/** Returns what the requests from a number on cost. */
	sumFrom(call: number): Amount {
		type Total = { tokens: number; usd: number };
		const [before = { tokens: 0, usd: 0 }] = this.#sql
			.exec<Total>(
				'SELECT total_tokens AS tokens, total_usd AS usd FROM spending WHERE call < ? ORDER BY call DESC LIMIT 1',
				call,
			)
			.toArray();
		return minus(this.total(), before);
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
};

function toCharge({ call, run, model, tokens, usd, owed, ...row }: Row): Charge {
	const { input_tokens: inputTokens, input_usd: inputUsd, output_usd: outputUsd } = row;
	const estimate = { inputTokens, inputUsd, outputUsd };
	return { call, run, model, amount: { tokens, usd }, owed: owed === 1, estimate, lease: row.lease ?? call };
}

/** Returns the name of a lease in the ledger, by the request that it was taken for. A session that is created again under its key has the same id, but other runs. */
export function ledgerId(runId: string, call: number): string {
	return `${runId}.${call}`;
}
