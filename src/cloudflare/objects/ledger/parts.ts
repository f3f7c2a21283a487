import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
import { addUnits } from '../../../core/chat/usage.ts';
import type { Amount } from '../budget.ts';
import { createAmount } from '../budget.ts';
import type { Cost, CostPart, DayPart, PartField, SpentPart } from './api.ts';
import { formatDay } from './day.ts';

/** All other names beyond the bounds of a day, erased persons, and costs without an agent or a model. */
export const others = '*';

/** Days before today. */
const partDays = 90;

/** Parts in the row of a day. A longer row takes longer to write. */
const mostInRow = 32;

/** The rows of a day from which a new part counts for all other users, models and agents. */
const [mostRows, mostOfModels, mostOfAgents] = [500, 550, 600];

/** Characters of a name, and units of a part. */
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

/** The parts of a lease. Unknown names count as `others`. */
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

/** Drops the last units: a sum of different units means nothing. */
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

export function parseParts(text: string | null): readonly SpentPart[] {
	return text === null ? [] : v.parse(v.array(stored), JSON.parse(text));
}

export function isFull(parts: Parts): boolean {
	return parts.size > mostInRow;
}

export function groupParts(parts: Iterable<DayPart>, by: readonly PartField[]): DayPart[] {
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
	return [...days].flatMap(([day, all]) => [...all.values()].map((part) => ({ day, ...part })));
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
 * The spending of days by agent, model and user, in a bounded number of rows for each day, for 90 days. The methods are
 * synchronous and belong into the transaction of their lease.
 */
export class PartRows {
	readonly #storage: DurableObjectStorage;
	/** Earlier days have no rows. */
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

	/** Finds the row of a part: of its own names, or of others if the day has many rows. */
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
