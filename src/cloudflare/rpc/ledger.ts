import type { Amount, BudgetState, Limit } from './budget.ts';
import { reach, usualLimitMs } from './reach.ts';

/** Whether an amount was set aside; if not, where the budget stands. */
export type Reserved = { readonly ok: true } | { readonly ok: false; readonly state: BudgetState };

/** What one call came to. */
export interface Cost {
	readonly id: string;
	readonly amount: Amount;
}

/** What was spent on a day, in UTC, such as `2026-11-22`. */
export interface Day {
	readonly day: string;
	readonly spent: Amount;
	/** Set aside for calls that go on. */
	readonly reserved: Amount;
}

/**
 * What may be asked of the ledger of one owner: what that owner's calls to models cost, by the UTC day
 * (docs/budgets.md). An `id` names one call: one that is made again after a failure has another id. The ledger
 * remembers an id for the day in which it first came and two days more.
 */
export interface LedgerApi {
	/**
	 * Sets an amount aside for one call, on the day of now. Refuses, changing nothing, where spent, reserved and this
	 * together would pass the day's limit. An id that came before, settled or not, changes nothing and succeeds.
	 *
	 * What is set aside stays so until it is settled, on its day: a call that nobody settles counts as if it had cost
	 * all of it.
	 */
	reserve(id: string, amount: Amount, limit: Limit): Promise<Reserved>;
	/**
	 * Replaces reservations by what their calls came to, all of them or none: each on the day of the reservation, also
	 * where that passes the limit. Nothing for a call that was not made. An id that was settled changes nothing.
	 *
	 * An id that is not known (the reservation never arrived, or its day is gone) is charged to the day of now, once:
	 * what was spent counts. A reservation that arrives after its settlement sets nothing aside.
	 */
	settle(costs: readonly Cost[]): Promise<void>;
	/** Where the day of now stands. */
	state(limit: Limit): Promise<BudgetState>;
	/** The last `count` days, today included, as far as something was spent on them; the newest first. */
	days(count: number): Promise<Day[]>;
}

/** The namespace of ledgers, named by their owners. */
export interface LedgerNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): LedgerApi;
}

/** Asks a ledger, on a new stub each time. Each of its calls may be made twice: an id counts once. */
export function askLedger<T>(
	ledger: () => LedgerApi,
	ask: (one: LedgerApi) => Promise<T>,
	timeoutMs = usualLimitMs,
): Promise<T> {
	return reach(() => ask(ledger()), { what: 'The ledger of this key', isSafe: true, timeoutMs });
}
