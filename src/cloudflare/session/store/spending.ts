import { roundDollars } from '../../../core/chat/usage.ts';
import type { Amount } from '../../objects/budget.ts';
import type { Sql } from '../../objects/migrate.ts';

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
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Sets an amount aside for a request. */
	reserve({ run, model, amount, owed, estimate }: Omit<Charge, 'call'>, at: number): Charge {
		const { tokens, usd } = amount;
		const { last } = this.#sql.exec<{ last: number }>('SELECT COALESCE(MAX(call), 0) AS last FROM spending').one();
		const total = this.total();
		this.#sql.exec(
			`INSERT INTO spending (
				call, run, model, tokens, usd, total_tokens, total_usd, settled, owed, created_at, input_tokens, input_usd, output_usd
			) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)`,
			...[last + 1, run, model, tokens, usd, total.tokens, total.usd, owed ? 1 : 0, at],
			...[estimate.inputTokens, estimate.inputUsd, estimate.outputUsd],
		);
		return { call: last + 1, run, model, amount, owed, estimate };
	}

	/** Returns the current request, which is not settled yet. */
	open(): Charge | undefined {
		const [row] = this.#sql.exec<Row>('SELECT * FROM spending ORDER BY call DESC LIMIT 1').toArray();
		return row === undefined || row.settled === 1 ? undefined : toCharge(row);
	}

	/** Stores what a request cost. */
	settle(call: number, { tokens, usd }: Amount): void {
		this.#sql.exec(
			`UPDATE spending SET tokens = ?, usd = ?, total_tokens = total_tokens + ?, total_usd = total_usd + ?, settled = 1
			WHERE call = ? AND settled = 0`,
			...[tokens, usd, tokens, usd, call],
		);
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
		type Total = { tokens: number; usd: number };
		const [row] = this.#sql
			.exec<Total>('SELECT total_tokens AS tokens, total_usd AS usd FROM spending ORDER BY call DESC LIMIT 1')
			.toArray();
		return row ?? { tokens: 0, usd: 0 };
	}
}

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
};

function toCharge({ call, run, model, tokens, usd, owed, ...row }: Row): Charge {
	const { input_tokens: inputTokens, input_usd: inputUsd, output_usd: outputUsd } = row;
	const estimate = { inputTokens, inputUsd, outputUsd };
	return { call, run, model, amount: { tokens, usd }, owed: owed === 1, estimate };
}

/** Returns a request's name in the ledger. A session that is created again under its key has the same id, but other runs. */
export function ledgerId(runId: string, call: number): string {
	return `${runId}.${call}`;
}
