import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
import { type Amount, type BudgetState, budgetState, isBounded, type Limit, minus, nothing, plus } from '../budget.ts';
import { type Day, formatDay, keptDays, type Opening, type UserCaps, type UserState } from './api.ts';

export interface Change {
	readonly spend?: Amount;
	readonly reserve?: Amount;
	/** The reserved amount to release. */
	readonly release?: Amount;
}

interface Sums {
	readonly spent: Amount;
	readonly reserved: Amount;
	/** The amount spent and reserved on all earlier days. */
	readonly before: Amount;
}

type Row = {
	user: string;
	day: number;
	spent_tokens: number;
	spent_usd: number;
	reserved_tokens: number;
	reserved_usd: number;
	before_tokens: number;
	before_usd: number;
};

/** The caps and the spending of users. A change on an earlier day also updates all later rows of the user. */
export class UserRows {
	readonly #storage: DurableObjectStorage;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
	}

	state(user: string, today: number): UserState {
		const caps = this.#readCaps(user);
		const { spent, reserved } = this.#readSums(user, today);
		const total = this.#sumUp(user, today);
		return {
			caps,
			daily: budgetState(caps.daily ?? {}, spent, reserved),
			total: budgetState(caps.total ?? {}, total.spent, total.reserved),
		};
	}

	/** What a user has spent and reserved, as the beginning in a shard. Undefined if the ledger has no users. */
	findOpening(user: string, today: number): Opening | undefined {
		const { sql } = this.#storage;
		const isEmpty = sql.exec('SELECT 1 FROM user_day UNION ALL SELECT 1 FROM user_cap LIMIT 1').toArray().length === 0;
		if (isEmpty) return undefined;
		const { caps, total } = this.state(user, today);
		return { caps, spent: plus(total.spent, total.reserved) };
	}

	/** Whether the user began here with an opening. */
	isOpen(user: string): boolean {
		const rows = this.#storage.sql.exec('SELECT 1 FROM user_day WHERE user = ? AND day = 0', user);
		return rows.toArray().length > 0;
	}

	/** Begins a user with what it spent at the owner's ledger. */
	open(user: string, { caps, spent }: Opening): void {
		this.#storage.transactionSync(() => {
			this.change(user, 0, { spend: spent });
			if (caps.daily !== undefined || caps.total !== undefined) this.setCaps(user, caps);
		});
	}

	setCaps(user: string, { daily, total }: UserCaps): void {
		const { sql } = this.#storage;
		const caps = { daily: keepLimit(daily), total: keepLimit(total) };
		if (caps.daily === undefined && caps.total === undefined) sql.exec('DELETE FROM user_cap WHERE user = ?', user);
		else sql.exec('INSERT OR REPLACE INTO user_cap (user, caps) VALUES (?, ?)', user, JSON.stringify(caps));
	}

	change(user: string, day: number, { spend = nothing, reserve = nothing, release = nothing }: Change): void {
		const { spent, reserved, before } = this.#readSums(user, day);
		const after = { spent: plus(spent, spend), reserved: minus(plus(reserved, reserve), release), before };
		this.#save(user, day, after);
		const later = this.#storage.sql.exec<Row>('SELECT * FROM user_day WHERE user = ? AND day > ?', user, day);
		for (const row of later.toArray()) {
			const sums = toSums(row);
			this.#save(user, row.day, { ...sums, before: minus(plus(sums.before, plus(spend, reserve)), release) });
		}
	}

	days(user: string, first: number): Day[] {
		return this.#storage.sql
			.exec<Row>('SELECT * FROM user_day WHERE user = ? AND day >= ? ORDER BY day DESC', user, first)
			.toArray()
			.map(({ day, ...row }) => {
				const { spent, reserved } = toSums(row);
				return { day: formatDay(day), spent, reserved };
			});
	}

	/** Returns the total of a user. Reservations older than the kept days count as spent. */
	#sumUp(user: string, today: number): Pick<BudgetState, 'spent' | 'reserved'> {
		const { before: all } = this.#readSums(user, Number.MAX_SAFE_INTEGER);
		const kept = this.#storage.sql
			.exec<Row>('SELECT * FROM user_day WHERE user = ? AND day >= ?', user, today - keptDays)
			.toArray();
		const reserved = kept.map((row) => toSums(row).reserved).reduce(plus, nothing);
		return { spent: minus(all, reserved), reserved };
	}

	/** Reads the sums of a user's day. For a day without a row, `before` is the total of the earlier days. */
	#readSums(user: string, day: number): Sums {
		const [row] = this.#storage.sql
			.exec<Row>('SELECT * FROM user_day WHERE user = ? AND day <= ? ORDER BY day DESC LIMIT 1', user, day)
			.toArray();
		if (row === undefined) return { spent: nothing, reserved: nothing, before: nothing };
		const sums = toSums(row);
		if (row.day === day) return sums;
		return { spent: nothing, reserved: nothing, before: plus(plus(sums.before, sums.spent), sums.reserved) };
	}

	#save(user: string, day: number, { spent, reserved, before }: Sums): void {
		this.#storage.sql.exec(
			`INSERT OR REPLACE INTO user_day (
				user, day, spent_tokens, spent_usd, reserved_tokens, reserved_usd, before_tokens, before_usd
			) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			...[user, day, spent.tokens, spent.usd, reserved.tokens, reserved.usd, before.tokens, before.usd],
		);
	}

	#readCaps(user: string): UserCaps {
		const [row] = this.#storage.sql.exec<{ caps: string }>('SELECT caps FROM user_cap WHERE user = ?', user).toArray();
		return row === undefined ? {} : v.parse(storedCaps, JSON.parse(row.caps));
	}
}

const storedLimit = v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) });
const storedCaps = v.object({ daily: v.optional(storedLimit), total: v.optional(storedLimit) });

function keepLimit(limit: Limit | undefined): Limit | undefined {
	return limit !== undefined && isBounded(limit) ? limit : undefined;
}

function toSums(row: Omit<Row, 'day'>): Sums {
	return {
		spent: { tokens: row.spent_tokens, usd: row.spent_usd },
		reserved: { tokens: row.reserved_tokens, usd: row.reserved_usd },
		before: { tokens: row.before_tokens, usd: row.before_usd },
	};
}
