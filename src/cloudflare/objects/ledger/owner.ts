import type { BudgetState, Limit } from '../budget.ts';
import { plus } from '../budget.ts';
import { type FindShardCount, listShards, nameShard } from '../shards.ts';
import {
	askLedger,
	type BudgetScope,
	type Day,
	type DayPart,
	type LedgerApi,
	type LedgerNamespace,
	type PartField,
} from './api.ts';
import { mergeParts } from './day-rows.ts';

export interface Ledgers {
	readonly ledgers: LedgerNamespace;
	readonly findShardCount: FindShardCount;
}

interface Whose {
	readonly owner: string;
	readonly user?: string;
	/** The id of the session. */
	readonly id?: string;
}

/** Returns a new stub each time, because a failed stub stays broken. */
export type FindLedger = () => ReturnType<LedgerNamespace['get']>;

/** Returns the name of the ledger with a session's leases: the same for all sessions of a user. */
export function nameLedger({ findShardCount }: Ledgers, { owner, user, id }: Whose): string {
	const key = user ?? id;
	return key === undefined ? owner : nameShard(owner, findShardCount(owner), key);
}

export function createFinder({ ledgers }: Pick<Ledgers, 'ledgers'>, name: string): FindLedger {
	return () => ledgers.get(ledgers.idFromName(name));
}

/** Reads the state of a budget. The owner's own ledger has the budget of the day, and the user's ledger has the others. */
export async function readState(
	ledgers: Ledgers,
	whose: Whose,
	{ scope, dayLimit }: { readonly scope: BudgetScope; readonly dayLimit: Limit },
	timeoutMs?: number,
): Promise<BudgetState> {
	const { owner, user } = whose;
	if (scope === 'day' || user === undefined)
		return askLedger(createFinder(ledgers, owner), (one, deadline) => one.state(dayLimit, deadline), timeoutMs);
	const { daily, total } = await askUserLedger(ledgers, whose, (one, deadline) => one.userState(user, deadline));
	return scope === 'user-day' ? daily : total;
}

/** Asks the ledger that has the budgets of a user. */
export function askUserLedger<T>(
	ledgers: Ledgers,
	whose: Whose,
	ask: (one: LedgerApi, deadline: number) => Promise<T>,
): Promise<T> {
	return askLedger(createFinder(ledgers, nameLedger(ledgers, whose)), ask);
}

/** Lists what an owner or a user of it spent on each of the last `count` days, the newest day first. */
export async function listDays(ledgers: Ledgers, { owner, user }: Whose, count: number): Promise<readonly Day[]> {
	const found = await askAll(ledgers, { owner, user }, (one) =>
		user === undefined ? one.days(count) : one.userDays(user, count),
	);
	const days = new Map<string, Day>();
	for (const day of found) {
		const before = days.get(day.day);
		days.set(day.day, before === undefined ? day : addDay(before, day));
	}
	return [...days.values()].sort((a, b) => (a.day < b.day ? 1 : -1));
}

/** Lists the parts of what an owner or a user of it spent (`LedgerApi.parts`). */
export async function listParts(
	ledgers: Ledgers,
	{ owner, user }: Whose,
	{ by, count }: { readonly by: readonly PartField[]; readonly count: number },
): Promise<readonly DayPart[]> {
	return mergeParts(await askAll(ledgers, { owner, user }, (one) => one.parts(by, count, user)), by);
}

/** Erases a user in all ledgers with the user's spending (`LedgerApi.eraseUser`). */
export async function eraseUser(ledgers: Ledgers, whose: Whose & { readonly user: string }): Promise<void> {
	await askAll(ledgers, whose, async (one) => {
		await one.eraseUser(whose.user);
		return [];
	});
}

/** Asks all ledgers of an owner, or those that may have spending of a user. */
async function askAll<T>(
	ledgers: Ledgers,
	whose: Whose,
	ask: (one: LedgerApi) => Promise<readonly T[]>,
): Promise<readonly T[]> {
	const names = listShards(whose.owner, ledgers.findShardCount(whose.owner), whose.user);
	return (await Promise.all(names.map((name) => askLedger(createFinder(ledgers, name), ask)))).flat();
}

function addDay(a: Day, b: Day): Day {
	const unpricedTokens = (a.unpricedTokens ?? 0) + (b.unpricedTokens ?? 0);
	const sums = { spent: plus(a.spent, b.spent), reserved: plus(a.reserved, b.reserved) };
	return { day: a.day, ...sums, ...(unpricedTokens > 0 && { unpricedTokens }) };
}
