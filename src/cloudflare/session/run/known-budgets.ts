import {
	type Amount,
	type BudgetState,
	budgetState,
	isBounded,
	isSpent,
	type Limit,
	nothing,
} from '../../objects/budget.ts';
import type { BudgetScope, LedgerApi, Refusal, UserScope } from '../../objects/ledger/api.ts';
import type { Lease } from '../store/spending.ts';
import { createBudgetError } from './budget-error.ts';

/**
 * The budgets that an owner's ledger keeps, as far as one request knows them. The limit of the day is known from the
 * beginning. The caps of the session's user are known from the refusal of a ledger, or from a lease that was given under
 * them. Until the ledger tells what is left of a budget, all of it counts as left.
 */
export class KnownBudgets {
	readonly #states = new Map<BudgetScope, BudgetState>();
	readonly #refused = new Set<BudgetScope>();
	#lent: readonly UserScope[];

	constructor(dayLimit: Limit, lease: Pick<Lease, 'userLimits'> | undefined) {
		const userLimits = lease?.userLimits ?? new Map<UserScope, Limit>();
		this.#lent = [...userLimits.keys()];
		if (isBounded(dayLimit)) this.#states.set('day', budgetState(dayLimit, nothing, nothing));
		for (const [scope, limit] of userLimits) this.#states.set(scope, budgetState(limit, nothing, nothing));
	}

	/** The states, as if others had given back all that they have reserved. */
	get states(): readonly BudgetState[] {
		return [...this.#states.values()].map(({ limit, spent }) => budgetState(limit, spent, nothing));
	}

	/** The caps of the user. */
	get userLimits(): ReadonlyMap<UserScope, Limit> {
		const limits = new Map<UserScope, Limit>();
		for (const [scope, { limit }] of this.#states) if (scope !== 'day' && isBounded(limit)) limits.set(scope, limit);
		return limits;
	}

	/** Forgets what is known from the lease, because the caps may have changed since. Returns whether that was anything. */
	forgetLease(): boolean {
		const lent = this.#lent;
		this.#lent = [];
		for (const scope of lent) this.#states.delete(scope);
		return lent.length > 0;
	}

	/** Throws `budget_exceeded` if an amount would pass a budget even if others gave back all that they have reserved. */
	assertFits(amount: Amount, user?: string): void {
		for (const [scope, state] of this.#states)
			if (isSpent(state, amount)) throw createBudgetError({ scope, state, user }, amount);
	}

	/**
	 * Notes that the ledger refused an amount. Returns whether the same amount may fit later. If not, a shorter reply may fit,
	 * now that the rest of that budget is known.
	 */
	noteRefusal({ scope = 'day', state }: Refusal, amount: Amount): boolean {
		const isFirst = !this.#refused.has(scope);
		this.#refused.add(scope);
		this.#states.set(scope, state);
		return !isFirst && !isSpent(state, amount);
	}
}

/** Reads the state of a budget that a ledger keeps. */
export async function readState(
	ledger: LedgerApi,
	scope: BudgetScope,
	dayLimit: Limit,
	user: string | undefined,
): Promise<BudgetState> {
	if (scope === 'day' || user === undefined) return ledger.state(dayLimit);
	const { daily, total } = await ledger.userState(user);
	return scope === 'user-day' ? daily : total;
}
