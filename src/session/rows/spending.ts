import type { SqlStorage } from '@cloudflare/workers-types';
import { dollars } from '../../chat/usage.ts';
import type { Amount } from '../../ledger/amount.ts';

/** A request to a model, as it is paid for. */
export interface Charge {
	/** Number in the session, from 1. */
	readonly call: number;
	readonly run: number;
	readonly model: string;
	/** What is set aside while it goes on, what it came to afterwards. */
	readonly amount: Amount;
	/** Whether the ledger of the session's owner has to be told. */
	readonly owed: boolean;
}

/** What the session spends: a row a request to a model, each with the sum up to it. One request goes on at a time. */
export class SpendingRows {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
	}

	/** Sets an amount aside for a request that is about to be made. */
	reserve({ run, model, amount: { tokens, usd }, owed }: Omit<Charge, 'call'>, at: number): Charge {
		const { last } = this.#sql.exec<{ last: number }>('SELECT COALESCE(MAX(call), 0) AS last FROM spending').one();
		const total = this.total();
		this.#sql.exec(
			`INSERT INTO spending (call, run, model, tokens, usd, total_tokens, total_usd, settled, owed, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
			...[last + 1, run, model, tokens, usd, total.tokens, total.usd, owed ? 1 : 0, at],
		);
		return { call: last + 1, run, model, amount: { tokens, usd }, owed };
	}

	/** The request that goes on: what is set aside for it is not settled. */
	open(): Charge | undefined {
		const [row] = this.#sql.exec<Row>('SELECT * FROM spending ORDER BY call DESC LIMIT 1').toArray();
		return row === undefined || row.settled === 1 ? undefined : chargeOf(row);
	}

	/** What the request came to. */
	settle(call: number, { tokens, usd }: Amount): void {
		this.#sql.exec(
			`UPDATE spending SET tokens = ?, usd = ?, total_tokens = total_tokens + ?, total_usd = total_usd + ?, settled = 1
			WHERE call = ? AND settled = 0`,
			...[tokens, usd, tokens, usd, call],
		);
	}

	/** Requests that are settled here, and of which the owner's ledger was not told yet. */
	owed(): Charge[] {
		return this.#sql.exec<Row>('SELECT * FROM spending WHERE settled = 1 AND owed = 1').toArray().map(chargeOf);
	}

	/** The owner's ledger has it. */
	told(call: number): void {
		this.#sql.exec('UPDATE spending SET owed = 0 WHERE call = ?', call);
	}

	/** What the requests of a run came to. */
	ofRun(run: number): Amount {
		type Total = { tokens: number; usd: number };
		const before = this.#sql
			.exec<Total>(
				'SELECT total_tokens AS tokens, total_usd AS usd FROM spending WHERE run < ? ORDER BY call DESC LIMIT 1',
				run,
			)
			.toArray()[0];
		const { tokens, usd } = this.total();
		return { tokens: tokens - (before?.tokens ?? 0), usd: dollars(usd - (before?.usd ?? 0)) ?? 0 };
	}

	/** What was spent until now. */
	total(): Amount {
		type Total = { tokens: number; usd: number };
		const [row] = this.#sql
			.exec<Total>('SELECT total_tokens AS tokens, total_usd AS usd FROM spending ORDER BY call DESC LIMIT 1')
			.toArray();
		return row ?? { tokens: 0, usd: 0 };
	}
}

type Row = { call: number; run: number; model: string; tokens: number; usd: number; settled: number; owed: number };

function chargeOf({ call, run, model, tokens, usd, owed }: Row): Charge {
	return { call, run, model, amount: { tokens, usd }, owed: owed === 1 };
}
