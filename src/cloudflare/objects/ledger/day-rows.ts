import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
import { type Amount, minus, nothing, plus } from '../budget.ts';
import type { Day, DayPart, PartField } from './api.ts';
import { formatDay } from './day.ts';
import { addParts, formatParts, groupParts, isFull, others, PartRows, type Parts, parseParts } from './parts.ts';

interface Totals {
	readonly spent: Amount;
	readonly reserved: Amount;
}

export interface OpenLease {
	readonly amount: Amount;
	readonly user?: string;
}

interface OpenDay extends Totals {
	readonly open: ReadonlyMap<string, OpenLease>;
	/** The parts that are not in `part` yet. */
	readonly parts: Parts;
}

type DayRow = {
	day: number;
	spent_tokens: number;
	spent_usd: number;
	reserved_tokens: number;
	reserved_usd: number;
	open: string;
	parts: string;
};

function getTotals(row: DayRow): Totals {
	return {
		spent: { tokens: row.spent_tokens, usd: row.spent_usd },
		reserved: { tokens: row.reserved_tokens, usd: row.reserved_usd },
	};
}

/** The days of a ledger, with the sums of their leases, and their parts. A writing method belongs into a transaction. */
export class DayRows {
	readonly parts: PartRows;
	readonly #storage: DurableObjectStorage;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		this.parts = new PartRows(storage);
	}

	read(day: number): OpenDay {
		const [row] = this.#storage.sql.exec<DayRow>('SELECT * FROM day WHERE day = ?', day).toArray();
		if (row !== undefined) return this.#sumUp(row);
		return { spent: nothing, reserved: nothing, open: new Map(), parts: new Map() };
	}

	/** Adds the leases that were settled after the row was written. */
	#sumUp(row: DayRow): OpenDay {
		let { spent, reserved } = getTotals(row);
		const open = parseOpen(row.open);
		let parts = addParts(new Map(), parseParts(row.parts));
		if (open.size === 0) return { spent, reserved, open, parts };
		const settled = this.#storage.sql.exec<{ id: string; tokens: number; usd: number; parts: string | null }>(
			'SELECT id, tokens, usd, parts FROM call WHERE day = ? AND id IN (SELECT value FROM json_each(?))',
			row.day,
			JSON.stringify([...open.keys()]),
		);
		for (const { id, parts: more, ...amount } of settled.toArray()) {
			spent = plus(spent, amount);
			parts = addParts(parts, parseParts(more));
			reserved = minus(reserved, open.get(id)?.amount ?? nothing);
			open.delete(id);
		}
		return { spent, reserved, open, parts };
	}

	/** Moves the parts to rows of their own if they are many, or complete. */
	save(table: 'day' | 'past', day: number, { spent, reserved, open, parts }: OpenDay): void {
		const isMoved = table === 'past' || isFull(parts);
		if (isMoved) this.parts.add(day, parts.values());
		this.#storage.sql.exec(
			`INSERT OR REPLACE INTO ${table} (day, spent_tokens, spent_usd, reserved_tokens, reserved_usd, open, parts)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			...[day, spent.tokens, spent.usd, reserved.tokens, reserved.usd],
			JSON.stringify(
				[...open].map(([id, { amount, user }]) => [
					...[id, amount.tokens, amount.usd],
					...(user === undefined ? [] : [user]),
				]),
			),
			formatParts(isMoved ? [] : parts.values()),
		);
	}

	findOpen(id: string): (OpenLease & { readonly day: number }) | undefined {
		for (const { day, open } of this.#storage.sql.exec<DayRow>('SELECT * FROM day')) {
			const lease = parseOpen(open).get(id);
			if (lease !== undefined) return { ...lease, day };
		}
		return undefined;
	}

	/** Moves the days before `first` to `past`, without their leases. Returns whether there were any. */
	forget(first: number): boolean {
		const { sql } = this.#storage;
		const days = sql.exec<DayRow>('SELECT * FROM day WHERE day < ?', first).toArray();
		for (const row of days) this.save('past', row.day, { ...this.#sumUp(row), open: new Map() });
		sql.exec('DELETE FROM day WHERE day < ?', first);
		return days.length > 0;
	}

	list(first: number): Day[] {
		const { sql } = this.#storage;
		const days = sql.exec<DayRow>('SELECT * FROM day WHERE day >= ? ORDER BY day DESC', first).toArray();
		const past = sql.exec<DayRow>(
			'SELECT * FROM past WHERE day >= ? AND day NOT IN (SELECT day FROM day) ORDER BY day DESC',
			first,
		);
		const all = [
			...days.map((row) => ({ day: formatDay(row.day), ...this.#sumUp(row) })),
			...past.toArray().map((row) => ({ day: formatDay(row.day), ...getTotals(row) })),
		];
		return this.withUnpriced(all, first).toSorted((a, b) => (a.day < b.day ? 1 : -1));
	}

	withUnpriced(days: readonly Day[], first: number, user?: string): Day[] {
		const unpriced = new Map(this.listParts([], first, user).map(({ day, unpricedTokens }) => [day, unpricedTokens]));
		return days.map(({ day, spent, reserved }) => {
			const unpricedTokens = unpriced.get(day) ?? 0;
			return { day, spent, reserved, ...(unpricedTokens > 0 && { unpricedTokens }) };
		});
	}

	/** The newest day first, then the most tokens. */
	listParts(by: readonly PartField[], first: number, user?: string): DayPart[] {
		const rows = this.#storage.sql.exec<DayRow>('SELECT * FROM day WHERE day >= ?', first).toArray();
		const newest = rows.flatMap((row) => {
			const day = formatDay(row.day);
			return [...this.#sumUp(row).parts.values()].map((part) => ({ day, ...part }));
		});
		const chosen = user === undefined ? newest : newest.filter((part) => part.user === user);
		const all = [...chosen, ...this.parts.list(first, user)];
		return groupParts(all, by).toSorted((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : b.tokens - a.tokens));
	}

	erase(user: string): void {
		this.parts.erase(user);
		for (const row of this.#storage.sql.exec<DayRow>('SELECT * FROM day').toArray()) {
			const { parts, ...day } = this.#sumUp(row);
			const erased = [...parts.values()].map((part) => (part.user === user ? { ...part, user: others } : part));
			this.save('day', row.day, { ...day, parts: addParts(new Map(), erased) });
		}
	}
}

/** A lease without a user has three fields. */
const openLeases = v.array(
	v.union([v.tuple([v.string(), v.number(), v.number(), v.string()]), v.tuple([v.string(), v.number(), v.number()])]),
);

function parseOpen(text: string): Map<string, OpenLease> {
	return new Map(
		v.parse(openLeases, JSON.parse(text)).map(([id, tokens, usd, user]) => [id, { amount: { tokens, usd }, user }]),
	);
}
