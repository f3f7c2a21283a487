import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
import {
	type Amount,
	type BudgetState,
	budgetState,
	createAmount,
	everything,
	exceedsLimit,
	isBounded,
	type Limit,
	minus,
	nothing,
	plus,
} from '../budget.ts';
import { migrate } from '../migrate.ts';
import type { BudgetScope, Cost, Day, Refusal, Reserved } from './api.ts';
import { formatDay, keptDays } from './day.ts';
import { schema } from './schema.ts';
import { UserRows } from './users.ts';

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
	/** The user of its session. */
	readonly user?: string;
}

/** What is reserved for a lease, and the user of its session. */
interface OpenLease {
	readonly amount: Amount;
	readonly user?: string;
}

/** A lease, under the name that its table has. */
interface Call extends OpenLease {
	readonly day: number;
	readonly settled: boolean;
	/** Whether it stands in the row of its day. */
	readonly isOpen?: boolean;
}

/** A day with its leases that are open. */
interface OpenDay extends Totals {
	readonly open: ReadonlyMap<string, OpenLease>;
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

/** Whether all that is reserved, with this amount, is no more than half of what is not spent of a limit. */
function isPlenty({ limit, spent, reserved }: BudgetState, amount: Amount): boolean {
	return !exceedsLimit({ limit: toHalf(limit, spent), spent: nothing, reserved }, amount);
}

/** Returns half of what is not spent of a limit. */
function toHalf({ tokens, usd }: Limit, spent: Amount): Limit {
	return {
		...(tokens !== undefined && { tokens: (tokens - spent.tokens) / 2 }),
		...(usd !== undefined && { usd: (usd - spent.usd) / 2 }),
	};
}

/** Turns the amount of a lease into what is counted: an infinite part is not, because no cap bounds it. */
function toCounted({ tokens, usd }: Amount): Amount {
	return createAmount({ tokens: tokens === everything.tokens ? 0 : tokens, usd: usd === everything.usd ? 0 : usd });
}

/** Returns an amount with those parts infinite that are so in the request. */
function withInfinite({ tokens, usd }: Amount, asked: Amount): Amount {
	return {
		tokens: asked.tokens === everything.tokens ? asked.tokens : tokens,
		usd: asked.usd === everything.usd ? asked.usd : usd,
	};
}

/**
 * The rows of a ledger. Every method is synchronous and writes all or nothing. A lease costs a row when it is reserved and
 * one when it is settled; where many are open at once, two each. The lease of a user costs one more each time. `LedgerApi`
 * says what each promises. `today` is the current day.
 */
export class LedgerStore {
	readonly users: UserRows;
	readonly #storage: DurableObjectStorage;
	/** Before this day nothing is left. */
	#keptFrom: number | undefined;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		this.users = new UserRows(storage);
		storage.transactionSync(() => migrate(storage.sql, schema));
	}

	reserve(today: number, { id, user, ...asked }: Wanted, limit: Limit): Reserved {
		const least = toCounted(asked.amount);
		const whole = toCounted(asked.whole ?? asked.amount);
		const answer = (amount: Amount): Reserved => ({ ok: true, amount: withInfinite(amount, asked.amount) });
		return this.#storage.transactionSync(() => {
			this.#forget(today - keptDays);
			const known = this.#call(id);
			if (known !== undefined) return answer(known.settled ? least : known.amount);
			const { spent, reserved, open } = this.#readDay(today);
			const budgets = [
				{ scope: 'day', state: budgetState(limit, spent, reserved) } as const,
				...(user === undefined ? [] : this.#listBudgets(user, today)),
			];
			const needed = withInfinite(least, asked.amount);
			const refusal = budgets.find(({ state }) => exceedsLimit(state, needed));
			if (refusal !== undefined) return { ok: false, ...refusal };
			if (user !== undefined && !budgets.some(({ state }) => isBounded(state.limit)))
				return { ok: true, amount: everything };
			const amount = budgets.every(({ state }) => isPlenty(state, whole)) ? whole : least;
			const all = new Map(open);
			if (open.size < mostOpen) all.set(id, { amount, user });
			else this.#saveCall(id, { day: today, amount, settled: false, user });
			this.#save('day', today, { spent, reserved: plus(reserved, amount), open: all });
			if (user !== undefined) this.users.change(user, today, { reserve: amount });
			return answer(amount);
		});
	}

	/** The budgets of a user, as a refusal names them. */
	#listBudgets(user: string, today: number): readonly (Refusal & { readonly scope: BudgetScope })[] {
		const { daily, total } = this.users.state(user, today);
		return [
			{ scope: 'user-day', state: daily },
			{ scope: 'user-total', state: total },
		];
	}

	settle(today: number, costs: readonly Cost[]): void {
		this.#storage.transactionSync(() => {
			this.#forget(today - keptDays);
			for (const cost of costs) this.#settle(today, cost);
		});
	}

	#settle(today: number, { id, amount: cost, user: payer }: Cost): void {
		const amount = createAmount(cost);
		const call = this.#call(id) ?? { day: today, amount: nothing, settled: false };
		if (call.settled) return;
		if (call.isOpen !== true) {
			const { spent, reserved, open } = this.#readDay(call.day);
			this.#save('day', call.day, { spent: plus(spent, amount), reserved: minus(reserved, call.amount), open });
		}
		const user = call.user ?? payer;
		this.#saveCall(id, { day: call.day, amount, settled: true, user });
		if (user === undefined) return;
		const release = call.user === undefined ? nothing : call.amount;
		this.users.change(user, call.day, { spend: amount, release });
	}

	state(today: number, limit: Limit): BudgetState {
		const { spent, reserved } = this.#readDay(today);
		return budgetState(limit, spent, reserved);
	}

	/** The call of that id, if its day is remembered. */
	#call(id: string): Call | undefined {
		type Row = { day: number; tokens: number; usd: number; settled: number; user: string | null };
		const [row] = this.#storage.sql
			.exec<Row>('SELECT * FROM call WHERE day IN (SELECT day FROM day) AND id = ? LIMIT 1', id)
			.toArray();
		if (row !== undefined) {
			const { day, settled, user, ...amount } = row;
			return {
				day,
				amount: { tokens: amount.tokens, usd: amount.usd },
				settled: settled === 1,
				user: user ?? undefined,
			};
		}
		for (const { day, open } of this.#storage.sql.exec<DayRow>('SELECT * FROM day')) {
			const lease = parseOpen(open).get(id);
			if (lease !== undefined) return { ...lease, day, settled: false, isOpen: true };
		}
		return undefined;
	}

	#saveCall(id: string, { day, amount, settled, user }: Call): void {
		this.#storage.sql.exec(
			'INSERT OR REPLACE INTO call (day, id, tokens, usd, settled, user) VALUES (?, ?, ?, ?, ?, ?)',
			...[day, id, amount.tokens, amount.usd, settled ? 1 : 0, user ?? null],
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
			reserved = minus(reserved, open.get(id)?.amount ?? nothing);
			open.delete(id);
		}
		return { spent, reserved, open };
	}

	#save(table: 'day' | 'past', day: number, { spent, reserved, open }: OpenDay): void {
		this.#storage.sql.exec(
			`INSERT OR REPLACE INTO ${table} (day, spent_tokens, spent_usd, reserved_tokens, reserved_usd, open)
			VALUES (?, ?, ?, ?, ?, ?)`,
			...[day, spent.tokens, spent.usd, reserved.tokens, reserved.usd],
			JSON.stringify(
				[...open].map(([id, { amount, user }]) => [
					...[id, amount.tokens, amount.usd],
					...(user === undefined ? [] : [user]),
				]),
			),
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
			...days.map((row) => ({ day: formatDay(row.day), ...this.#sumUp(row) })),
			...past.toArray().map((row) => ({ day: formatDay(row.day), ...getTotals(row) })),
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

/** The leases in the row of a day. Those of an earlier version, and those without a user, have three fields. */
const openLeases = v.array(
	v.union([v.tuple([v.string(), v.number(), v.number(), v.string()]), v.tuple([v.string(), v.number(), v.number()])]),
);

function parseOpen(text: string): Map<string, OpenLease> {
	return new Map(
		v.parse(openLeases, JSON.parse(text)).map(([id, tokens, usd, user]) => [id, { amount: { tokens, usd }, user }]),
	);
}
