import type { DurableObjectStorage } from '@cloudflare/workers-types';
import { type Amount, createAmount, minus, plus } from '../budget.ts';

/** The part of a day's budget that a shard may spend and reserve, and what the owner's ledger knows of the shard. */
export interface Share {
	/** The number of the request that led to it. Each request of a shard has a higher number. */
	readonly n: number;
	readonly granted: Amount;
	readonly spent: Amount;
}

type Row = { shard: string; n: number; tokens: number; usd: number; spent_tokens: number; spent_usd: number };

type Sums = { readonly spent: Amount; readonly reserved: Amount };

/** The shares of a day's budget. An owner's ledger has those of all shards, a shard has its own. Synchronous. */
export class ShareRows {
	readonly #storage: DurableObjectStorage;
	#isEmpty: boolean;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		this.#isEmpty = storage.sql.exec('SELECT 1 FROM share LIMIT 1').toArray().length === 0;
	}

	get isEmpty(): boolean {
		return this.#isEmpty;
	}

	read(day: number, shard: string): Share | undefined {
		return this.#list(day).find((row) => row.shard === shard)?.share;
	}

	save(day: number, shard: string, { n, granted, spent }: Share): void {
		this.#isEmpty = false;
		this.#storage.sql.exec(
			'INSERT OR REPLACE INTO share (day, shard, n, tokens, usd, spent_tokens, spent_usd) VALUES (?, ?, ?, ?, ?, ?, ?)',
			...[day, shard, n, granted.tokens, granted.usd, spent.tokens, spent.usd],
		);
	}

	/** Adds the shares of all shards but one. A share counts as reserved until the shard reports what it spent. */
	addTo(sums: Sums, day: number, but?: string): Sums {
		return this.#list(day)
			.filter(({ shard }) => shard !== but)
			.reduce(({ spent, reserved }, { share }) => {
				return { spent: plus(spent, share.spent), reserved: plus(reserved, minus(share.granted, share.spent)) };
			}, sums);
	}

	/** Lists the days with a share, the oldest first. */
	listDays(): readonly number[] {
		const rows = this.#storage.sql.exec<{ day: number }>('SELECT DISTINCT day FROM share ORDER BY day').toArray();
		return rows.map(({ day }) => day);
	}

	/** Removes the shares of the days before `first`. */
	forget(first: number): void {
		if (!this.#isEmpty) this.#storage.sql.exec('DELETE FROM share WHERE day < ?', first);
	}

	#list(day: number): readonly { readonly shard: string; readonly share: Share }[] {
		if (this.#isEmpty) return [];
		const rows = this.#storage.sql.exec<Row>('SELECT * FROM share WHERE day = ?', day).toArray();
		return rows.map(({ shard, n, tokens, usd, spent_tokens, spent_usd }) => {
			const spent = { tokens: spent_tokens, usd: spent_usd };
			return { shard, share: { n, granted: { tokens, usd }, spent } };
		});
	}
}

/** The part of what is left that a shard gets beyond its needs. So a busy shard leaves something to the others. */
const mostExtra = 1 / 8;

/** Returns what a shard gets in addition: what it wants, but at most what it needs or an eighth of what is left. */
export function chooseExtra({ needed, wanted }: Wish, left: Amount): Amount {
	const choose = (unit: keyof Amount) =>
		Math.min(wanted[unit], left[unit], Math.max(needed[unit], left[unit] * mostExtra));
	return createAmount({ tokens: Math.floor(choose('tokens')), usd: choose('usd') });
}

/** What a shard needs and wants in addition to what it has spent and reserved. */
export interface Wish {
	readonly needed: Amount;
	readonly wanted: Amount;
}
