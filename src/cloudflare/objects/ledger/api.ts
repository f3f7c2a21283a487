import type { Amount, BudgetState, Limit } from '../budget.ts';
import { reach, usualLimitMs } from '../reach.ts';

/** How much was reserved. If nothing, the state of the budget. */
export type Reserved =
	/** A ledger of an earlier version names no amount: it is what was asked for. */
	{ readonly ok: true; readonly amount?: Amount } | { readonly ok: false; readonly state: BudgetState };

/** What the calls of one lease cost together. */
export interface Cost {
	readonly id: string;
	readonly amount: Amount;
}

/** What was spent on a day, in UTC, such as `2026-11-22`. */
export interface Day {
	readonly day: string;
	readonly spent: Amount;
	/** Reserved for runs that go on. */
	readonly reserved: Amount;
}

/**
 * The ledger of one owner: what its calls to models cost, by the UTC day (docs/budgets.md). An `id` names one lease: a
 * block of the day that a run makes its calls from. The ledger remembers an id for its first day and two more.
 */
export interface LedgerApi {
	/**
	 * Reserves an amount for a lease, on the current day. Refuses, and changes nothing, if spent, reserved and this
	 * amount together would pass the day's limit. Reserves `whole` instead while all that is reserved is then no more than
	 * half of what is not spent, so that the last of a day is not held by those who came first. An id that came before
	 * changes nothing and succeeds.
	 *
	 * A reservation stays until it is settled. One that nobody settles counts as if all of it were spent.
	 */
	reserve(id: string, amount: Amount, limit: Limit, whole?: Amount): Promise<Reserved>;
	/**
	 * Replaces reservations by the real costs, all or none, each on the day of its reservation and even past the limit.
	 * The cost of a lease without calls is zero. An id that is settled already changes nothing.
	 *
	 * An unknown id (the reservation never arrived, or its day is forgotten) is charged to the current day, once. A
	 * reservation that arrives after its settlement reserves nothing.
	 */
	settle(costs: readonly Cost[]): Promise<void>;
	/** The state of the current day. */
	state(limit: Limit): Promise<BudgetState>;
	/** Those of the last `count` days, with today, on which something was spent. The newest first. */
	days(count: number): Promise<Day[]>;
}

/** The namespace of ledgers, named by their owners. */
export interface LedgerNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): LedgerApi;
}

/** Calls a ledger, on a new stub each time. Every call may be made twice, because an id counts once. */
export function askLedger<T>(
	ledger: () => LedgerApi,
	ask: (one: LedgerApi) => Promise<T>,
	timeoutMs = usualLimitMs,
): Promise<T> {
	return reach(() => ask(ledger()), { what: 'The ledger of this key', isSafe: true, timeoutMs });
}
