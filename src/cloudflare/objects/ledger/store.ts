import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
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

/** The most leases in the row of a day. A longer row would take longer to write. */
const mostOpen = 32;

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
	/** Whether it stands in the row of its day. */
	readonly isOpen?: boolean;
}

/** A day with its leases that are open. */
interface OpenDay extends Totals {
	readonly open: ReadonlyMap<string, Amount>;
}

type DayRow = {
	day: number;
	spent_tokens: number;
	spent_usd: number;
	reserved_tokens: number;
	reserved_usd: number;
	open: string;
};

function getTotals(row: DayRow): Totals {
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
 * The rows of a ledger. Every method is synchronous and writes all or nothing. A lease costs a row when it is reserved and
 * one when it is settled; where many are open at once, two each. `LedgerApi` says what each promises. `today` is the current day.
 */
export class LedgerStore {
	readonly #storage: DurableObjectStorage;
	/** Before this day nothing is left. */
	#keptFrom: number | undefined;

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
			const { spent, reserved, open } = this.#readDay(today);
			const state = budgetState(limit, spent, reserved);
			if (exceedsLimit(state, least)) return { ok: false, state };
			const amount = exceedsLimit({ limit: toHalf(limit, spent), spent: nothing, reserved }, whole) ? least : whole;
			const all = new Map(open);
			if (open.size < mostOpen) all.set(id, amount);
			else this.#saveCall(id, { day: today, amount, settled: false });
			this.#save('day', today, { spent, reserved: plus(reserved, amount), open: all });
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
		if (call.isOpen !== true) {
			const { spent, reserved, open } = this.#readDay(call.day);
			this.#save('day', call.day, { spent: plus(spent, amount), reserved: minus(reserved, call.amount), open });
		}
		this.#saveCall(id, { day: call.day, amount, settled: true });
	}

	state(today: number, limit: Limit): BudgetState {
		const { spent, reserved } = this.#readDay(today);
		return budgetState(limit, spent, reserved);
	}

	/** The call of that id, if its day is remembered. */
	#call(id: string): Call | undefined {
		type Row = { day: number; tokens: number; usd: number; settled: number };
		const [row] = this.#storage.sql
			.exec<Row>('SELECT day, tokens, usd, settled FROM call WHERE day IN (SELECT day FROM day) AND id = ? LIMIT 1', id)
			.toArray();
		if (row !== undefined)
			return { day: row.day, amount: { tokens: row.tokens, usd: row.usd }, settled: row.settled === 1 };
		for (const one of this.#storage.sql.exec<DayRow>('SELECT * FROM day')) {
			const amount = parseOpen(one.open).get(id);
			if (amount !== undefined) return { day: one.day, amount, settled: false, isOpen: true };
		}
		return undefined;
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

	#readDay(day: number): OpenDay {
		const [row] = this.#storage.sql.exec<DayRow>('SELECT * FROM day WHERE day = ?', day).toArray();
		return row === undefined ? { spent: nothing, reserved: nothing, open: new Map() } : this.#sumUp(row);
	}

	/** Adds the leases to a day's sums that were settled since they were stored. */
	#sumUp(row: DayRow): OpenDay {
		let { spent, reserved } = getTotals(row);
		const open = parseOpen(row.open);
		if (open.size === 0) return { spent, reserved, open };
		const settled = this.#storage.sql.exec<{ id: string; tokens: number; usd: number }>(
			'SELECT id, tokens, usd FROM call WHERE day = ? AND id IN (SELECT value FROM json_each(?))',
			row.day,
			JSON.stringify([...open.keys()]),
		);
		for (const { id, ...amount } of settled.toArray()) {
			spent = plus(spent, amount);
			reserved = minus(reserved, open.get(id) ?? nothing);
			open.delete(id);
		}
		return { spent, reserved, open };
	}

	#save(table: 'day' | 'past', day: number, { spent, reserved, open }: OpenDay): void {
		this.#storage.sql.exec(
			`INSERT OR REPLACE INTO ${table} (day, spent_tokens, spent_usd, reserved_tokens, reserved_usd, open)
			VALUES (?, ?, ?, ?, ?, ?)`,
			...[day, spent.tokens, spent.usd, reserved.tokens, reserved.usd],
			JSON.stringify([...open].map(([id, { tokens, usd }]) => [id, tokens, usd])),
		);
	}

	/** The days since `first` on which something was spent, the newest first. */
	days(first: number): Day[] {
		const { sql } = this.#storage;
		const days = sql.exec<DayRow>('SELECT * FROM day WHERE day >= ? ORDER BY day DESC', first).toArray();
		const past = sql.exec<DayRow>(
			'SELECT * FROM past WHERE day >= ? AND day NOT IN (SELECT day FROM day) ORDER BY day DESC',
			first,
		);
		return [
			...days.map((row) => ({ day: getName(row.day), ...this.#sumUp(row) })),
			...past.toArray().map((row) => ({ day: getName(row.day), ...getTotals(row) })),
		]
			.map(({ day, spent, reserved }) => ({ day, spent, reserved }))
			.toSorted((a, b) => (a.day < b.day ? 1 : -1));
	}

	/** Forgets the calls of the days before `first` at once, and removes their rows bit by bit until none is found. */
	#forget(first: number): void {
		if (this.#keptFrom === first) return;
		const { sql } = this.#storage;
		const days = sql.exec<DayRow>('SELECT * FROM day WHERE day < ?', first).toArray();
		for (const row of days) this.#save('past', row.day, { ...this.#sumUp(row), open: new Map() });
		sql.exec('DELETE FROM day WHERE day < ?', first);
		const { rowsWritten } = sql.exec(
			'DELETE FROM call WHERE (day, id) IN (SELECT day, id FROM call WHERE day < ? LIMIT ?)',
			first,
			removedAtOnce,
		);
		if (days.length === 0 && rowsWritten === 0) this.#keptFrom = first;
	}
}

/** The leases in the row of a day. */
const openLeases = v.array(v.tuple([v.string(), v.number(), v.number()]));

function parseOpen(text: string): Map<string, Amount> {
	return new Map(v.parse(openLeases, JSON.parse(text)).map(([id, tokens, usd]) => [id, { tokens, usd }]));
}
