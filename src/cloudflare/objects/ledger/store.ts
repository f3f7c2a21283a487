import type { DurableObjectStorage } from '@cloudflare/workers-types';
import {
	type Amount,
	type BudgetState,
	budgetState,
	createAmount,
	exceedsLimit,
	type Limit,
	minus,
	nothing,
	plus,
} from '../budget.ts';
import { migrate } from '../migrate.ts';
import type { Cost, Day, Reserved } from './api.ts';
import { schema } from './schema.ts';

/** Days before today that are remembered. */
const keptDays = 2;

/** The most calls of forgotten days that are removed at once, so that no request waits for a whole day's. */
const removedAtOnce = 1_000;

interface Totals {
	readonly spent: Amount;
	readonly reserved: Amount;
}

/** A lease that is asked for. */
export interface Wanted {
	readonly id: string;
	readonly amount: Amount;
	/** What is reserved instead while there is plenty. */
	readonly whole?: Amount;
}

/** A lease, under the name that its table has. */
interface Call {
	readonly day: number;
	readonly amount: Amount;
	readonly settled: boolean;
}

type TotalsRow = { spent_tokens: number; spent_usd: number; reserved_tokens: number; reserved_usd: number };

function getTotals(row: TotalsRow): Totals {
	return {
		spent: { tokens: row.spent_tokens, usd: row.spent_usd },
		reserved: { tokens: row.reserved_tokens, usd: row.reserved_usd },
	};
}

/** Formats a day: `2026-11-22`. */
function getName(day: number): string {
	return new Date(day * 86_400_000).toISOString().slice(0, 10);
}

/** Returns half of what is not spent of a limit. */
function toHalf({ tokens, usd }: Limit, spent: Amount): Limit {
	return {
		...(tokens !== undefined && { tokens: (tokens - spent.tokens) / 2 }),
		...(usd !== undefined && { usd: (usd - spent.usd) / 2 }),
	};
}

/** Turns milliseconds since 1970 into days since 1970, in UTC. */
export function toDay(time: number): number {
	return Math.floor(time / 86_400_000);
}

/**
 * The rows of a ledger. Every method is synchronous and writes all or nothing, at most two rows besides those that it
 * forgets. `LedgerApi` says what each promises. `today` is the current day.
 */
export class LedgerStore {
	readonly #storage: DurableObjectStorage;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		storage.transactionSync(() => migrate(storage.sql, schema));
	}

	reserve(today: number, { id, ...asked }: Wanted, limit: Limit): Reserved {
		const least = createAmount(asked.amount);
		const whole = createAmount(asked.whole ?? least);
		return this.#storage.transactionSync(() => {
			this.#forget(today - keptDays);
			const known = this.#call(id);
			if (known !== undefined) return { ok: true, amount: known.settled ? least : known.amount };
			const { spent, reserved } = this.#totals(today);
			const state = budgetState(limit, spent, reserved);
			if (exceedsLimit(state, least)) return { ok: false, state };
			const amount = exceedsLimit({ limit: toHalf(limit, spent), spent: nothing, reserved }, whole) ? least : whole;
			this.#saveTotals(today, { spent, reserved: plus(reserved, amount) });
			this.#saveCall(id, { day: today, amount, settled: false });
			return { ok: true, amount };
		});
	}

	settle(today: number, costs: readonly Cost[]): void {
		this.#storage.transactionSync(() => {
			this.#forget(today - keptDays);
			for (const cost of costs) this.#settle(today, cost);
		});
	}

	#settle(today: number, { id, amount: cost }: Cost): void {
		const amount = createAmount(cost);
		const call = this.#call(id) ?? { day: today, amount: nothing, settled: false };
		if (call.settled) return;
		const { spent, reserved } = this.#totals(call.day);
		this.#saveTotals(call.day, { spent: plus(spent, amount), reserved: minus(reserved, call.amount) });
		this.#saveCall(id, { day: call.day, amount, settled: true });
	}

	state(today: number, limit: Limit): BudgetState {
		const { spent, reserved } = this.#totals(today);
		return budgetState(limit, spent, reserved);
	}

	/** The call of that id, if its day is remembered. */
	#call(id: string): Call | undefined {
		type Row = { day: number; tokens: number; usd: number; settled: number };
		const [row] = this.#storage.sql
			.exec<Row>('SELECT day, tokens, usd, settled FROM call WHERE day IN (SELECT day FROM day) AND id = ? LIMIT 1', id)
			.toArray();
		if (row === undefined) return undefined;
		return { day: row.day, amount: { tokens: row.tokens, usd: row.usd }, settled: row.settled === 1 };
	}

	#saveCall(id: string, { day, amount, settled }: Call): void {
		this.#storage.sql.exec(
			'INSERT OR REPLACE INTO call (day, id, tokens, usd, settled) VALUES (?, ?, ?, ?, ?)',
			day,
			id,
			amount.tokens,
			amount.usd,
			settled ? 1 : 0,
		);
	}

	#totals(day: number): Totals {
		const [row] = this.#storage.sql
			.exec<TotalsRow>('SELECT spent_tokens, spent_usd, reserved_tokens, reserved_usd FROM day WHERE day = ?', day)
			.toArray();
		return row === undefined ? { spent: nothing, reserved: nothing } : getTotals(row);
	}

	#saveTotals(day: number, { spent, reserved }: Totals): void {
		this.#storage.sql.exec(
			`INSERT OR REPLACE INTO day (day, spent_tokens, spent_usd, reserved_tokens, reserved_usd)
			VALUES (?, ?, ?, ?, ?)`,
			day,
			spent.tokens,
			spent.usd,
			reserved.tokens,
			reserved.usd,
		);
	}

	/** The days since `first` on which something was spent, the newest first. */
	days(first: number): Day[] {
		const rows = this.#storage.sql.exec<TotalsRow & { day: number }>(
			`SELECT * FROM day WHERE day >= ?1 UNION ALL
			SELECT * FROM past WHERE day >= ?1 AND day NOT IN (SELECT day FROM day) ORDER BY day DESC`,
			first,
		);
		return rows.toArray().map(({ day, ...row }) => ({ day: getName(day), ...getTotals(row) }));
	}

	/** Forgets the calls of the days before `first` at once, and removes their rows bit by bit. */
	#forget(first: number): void {
		this.#storage.sql.exec('INSERT OR REPLACE INTO past SELECT * FROM day WHERE day < ?', first);
		this.#storage.sql.exec('DELETE FROM day WHERE day < ?', first);
		this.#storage.sql.exec(
			'DELETE FROM call WHERE (day, id) IN (SELECT day, id FROM call WHERE day < ? LIMIT ?)',
			first,
			removedAtOnce,
		);
	}
}
