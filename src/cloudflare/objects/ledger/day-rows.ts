import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
import { addUnits } from '../../../core/chat/reply.ts';
import { type Amount, createAmount, minus, nothing, plus } from '../budget.ts';
import { type Cost, type CostPart, type Day, type DayPart, formatDay, type PartField, type SpentPart } from './api.ts';

/** Stands for names beyond a day's limit, erased persons, and costs without an agent or a model. */
const others = '*';

/** The number of days before today whose parts are kept. */
const partDays = 90;

/** The maximum number of parts in the row of a day. A longer row takes longer to write. */
const mostInRow = 32;

/** At these numbers of rows in a day, new users, models and agents respectively count as `others`. */
const [mostRows, mostOfModels, mostOfAgents] = [500, 550, 600];

/** The maximum length of a name, and the maximum number of units in a part. */
const [longestName, mostUnits] = [128, 20];

const removedAtOnce = 1_000;

export type Parts = ReadonlyMap<string, SpentPart>;

export function addParts(all: Parts, more: Iterable<SpentPart>): Map<string, SpentPart> {
	const sums = new Map(all);
	for (const part of more) {
		const key = toKey(part);
		const before = sums.get(key);
		sums.set(key, before === undefined ? part : addPart(before, part));
	}
	return sums;
}

function addPart(a: SpentPart, b: SpentPart): SpentPart {
	return {
		...a,
		...createAmount({ tokens: a.tokens + b.tokens, usd: a.usd + b.usd }),
		unpricedTokens: a.unpricedTokens + b.unpricedTokens,
		inputTokens: a.inputTokens + b.inputTokens,
		cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
		units: keepUnits(addUnits(a.units, b.units)),
	};
}

/** Lists the parts of a lease. Missing names count as `others`. */
export function listParts({ agent = others, amount, parts }: Cost, user: string | undefined): readonly SpentPart[] {
	const about = { agent: cut(agent), ...(user !== undefined && { user }) };
	const all = parts?.length ? parts : [{ ...none, model: others, ...createAmount(amount) }];
	const spent = all.filter(({ tokens, usd }) => tokens > 0 || usd > 0);
	return spent.map(({ model, tokens, usd, unpricedTokens, inputTokens, cachedInputTokens, units }) => ({
		...{ ...about, model: cut(model), ...createAmount({ tokens, usd }) },
		...{ unpricedTokens, inputTokens, cachedInputTokens, units: keepUnits(units) },
	}));
}

const none: Omit<CostPart, 'model' | keyof Amount> = { unpricedTokens: 0, inputTokens: 0, cachedInputTokens: 0 };

function cut(name: string): string {
	return name.slice(0, longestName);
}

/** Drops the last units if there are too many. Does not merge them, because different units have no sum. */
function keepUnits(units: CostPart['units']): CostPart['units'] {
	if (units === undefined) return undefined;
	return Object.fromEntries(
		Object.entries(units)
			.slice(0, mostUnits)
			.map(([name, count]) => [cut(name), count]),
	);
}

function toKey({ agent, model, user }: SpentPart): string {
	return JSON.stringify([agent, model, user]);
}

const counts = v.record(v.string(), v.number());

const stored = v.object({
	agent: v.string(),
	model: v.string(),
	user: v.optional(v.string()),
	tokens: v.number(),
	usd: v.number(),
	unpricedTokens: v.number(),
	inputTokens: v.number(),
	cachedInputTokens: v.number(),
	units: v.optional(counts),
});

export function formatParts(parts: Iterable<SpentPart>): string {
	return JSON.stringify([...parts]);
}

function parseParts(text: string | null): readonly SpentPart[] {
	return text === null ? [] : v.parse(v.array(stored), JSON.parse(text));
}

function isFull(parts: Parts): boolean {
	return parts.size > mostInRow;
}

/** Sums up parts by some fields. Lists the newest day first, and within a day the part with the most tokens first. */
export function mergeParts(parts: Iterable<DayPart>, by: readonly PartField[]): DayPart[] {
	const days = new Map<string, Map<string, SpentPart>>();
	for (const { day, ...part } of parts) {
		const { agent, model, user, ...sums } = part;
		const kept = {
			agent: by.includes('agent') ? agent : others,
			model: by.includes('model') ? model : others,
			...(by.includes('user') && user !== undefined && { user }),
		};
		days.set(day, addParts(days.get(day) ?? new Map(), [{ ...kept, ...sums }]));
	}
	const all = [...days].flatMap(([day, sums]) => [...sums.values()].map((part) => ({ day, ...part })));
	return all.sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : b.tokens - a.tokens));
}

type Row = {
	day: number;
	agent: string;
	model: string;
	user: string;
	tokens: number;
	usd: number;
	unpriced: number;
	input: number;
	cached: number;
	units: string | null;
};

/**
 * The spending of days by agent, model and user, for 90 days. Each day has a limited number of rows. The methods are
 * synchronous. Call them in the transaction of the lease.
 */
export class PartRows {
	readonly #storage: DurableObjectStorage;
	/** Days before this day have no rows. */
	#keptFrom: number | undefined;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
	}

	add(day: number, parts: Iterable<SpentPart>): void {
		let size = this.#count(day);
		for (const part of parts) {
			const { named, before } = this.#findPlace(day, part, size);
			if (before === undefined) size++;
			this.#save(day, before === undefined ? named : addPart(before, named));
		}
	}

	list(first: number, user?: string): DayPart[] {
		const { sql } = this.#storage;
		const rows =
			user === undefined
				? sql.exec<Row>('SELECT * FROM part WHERE day >= ?', first)
				: sql.exec<Row>('SELECT * FROM part WHERE day >= ? AND user = ?', first, user);
		return rows.toArray().map((row) => ({ day: formatDay(row.day), ...toPart(row) }));
	}

	erase(user: string): void {
		const { sql } = this.#storage;
		const rows = sql.exec<Row>('SELECT * FROM part WHERE user = ?', user).toArray();
		sql.exec('DELETE FROM part WHERE user = ?', user);
		for (const row of rows) this.add(row.day, [{ ...toPart(row), user: others }]);
	}

	/** Removes old parts, a bounded number at a time. */
	forget(today: number): void {
		const first = today - partDays + 1;
		if (this.#keptFrom === first) return;
		const { rowsWritten } = this.#storage.sql.exec(
			`DELETE FROM part WHERE (day, agent, model, user) IN (
				SELECT day, agent, model, user FROM part WHERE day < ? LIMIT ?
			)`,
			first,
			removedAtOnce,
		);
		if (rowsWritten === 0) this.#keptFrom = first;
	}

	/** Finds the row of a part: the row of its own names, or a row of `others` if the day has many rows. */
	#findPlace(day: number, part: SpentPart, size: number) {
		const ofModel = { ...part, user: others };
		const ofAgent = { ...ofModel, model: others };
		const all = { ...ofAgent, agent: others };
		for (const [named, most] of [
			[part, mostRows],
			[ofModel, mostOfModels],
			[ofAgent, mostOfAgents],
		] as const) {
			const before = this.#find(day, named);
			if (before !== undefined || size < most) return { named, before };
		}
		return { named: all, before: this.#find(day, all) };
	}

	#find(day: number, { agent, model, user = '' }: SpentPart): SpentPart | undefined {
		const query = 'SELECT * FROM part WHERE day = ? AND agent = ? AND model = ? AND user = ?';
		const [row] = this.#storage.sql.exec<Row>(query, day, agent, model, user).toArray();
		return row && toPart(row);
	}

	#count(day: number): number {
		return this.#storage.sql.exec<{ size: number }>('SELECT COUNT(*) AS size FROM part WHERE day = ?', day).one().size;
	}

	#save(day: number, { agent, model, user = '', tokens, usd, units, ...counted }: SpentPart): void {
		this.#storage.sql.exec(
			`INSERT OR REPLACE INTO part (day, agent, model, user, tokens, usd, unpriced, input, cached, units)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			...[day, agent, model, user, tokens, usd],
			...[counted.unpricedTokens, counted.inputTokens, counted.cachedInputTokens],
			units === undefined ? null : JSON.stringify(units),
		);
	}
}

function toPart({ agent, model, user, tokens, usd, unpriced, input, cached, units }: Row): SpentPart {
	return {
		...{ agent, model, ...(user !== '' && { user }), tokens, usd, unpricedTokens: unpriced },
		...{ inputTokens: input, cachedInputTokens: cached },
		...(units !== null && { units: v.parse(counts, JSON.parse(units)) }),
	};
}

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
	/** The parts that are not in rows of the table `part` yet. */
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

/** The days of a ledger, with the sums of their leases, and their parts. Call writing methods in a transaction. */
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

	/** Reads a row, and adds the leases that were settled after the row was written. */
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

	/** Writes a day. Moves its parts to rows of their own if there are many, or if the day is over. */
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

	/** Moves the days before `first` to `past`, without their leases. Returns whether there were such days. */
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

	listParts(by: readonly PartField[], first: number, user?: string): DayPart[] {
		const rows = this.#storage.sql.exec<DayRow>('SELECT * FROM day WHERE day >= ?', first).toArray();
		const newest = rows.flatMap((row) => {
			const day = formatDay(row.day);
			return [...this.#sumUp(row).parts.values()].map((part) => ({ day, ...part }));
		});
		const chosen = user === undefined ? newest : newest.filter((part) => part.user === user);
		return mergeParts([...chosen, ...this.parts.list(first, user)], by);
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

/** The fourth field is the user. It is missing for a lease without a user. */
const openLeases = v.array(
	v.union([v.tuple([v.string(), v.number(), v.number(), v.string()]), v.tuple([v.string(), v.number(), v.number()])]),
);

function parseOpen(text: string): Map<string, OpenLease> {
	return new Map(
		v.parse(openLeases, JSON.parse(text)).map(([id, tokens, usd, user]) => [id, { amount: { tokens, usd }, user }]),
	);
}
