import {
	type Amount,
	type BudgetState,
	budgetState,
	exceedsLimit,
	isBounded,
	type Limit,
	nothing,
} from '../../objects/budget.ts';
import { askLedger, type BudgetScope, type LedgerApi, type Refusal, type UserScope } from '../../objects/ledger/api.ts';
import type { Lease } from '../store/spending.ts';
import { createBudgetError } from './budget-error.ts';
import type { OwnerLedger, Patience } from './lease.ts';

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

	get states(): readonly BudgetState[] {
		return [...this.#states.values()];
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

	/** Returns a budget that an amount would pass. */
	findExceeded(amount: Amount): Refusal | undefined {
		const found = [...this.#states].find(([, state]) => exceedsLimit(state, amount));
		return found && { scope: found[0], state: found[1] };
	}

	/** Notes that the ledger refused. Returns whether it is the first refusal by that budget. */
	noteRefusal({ scope = 'day', state }: Refusal): boolean {
		const isFirst = !this.#refused.has(scope);
		this.#refused.add(scope);
		this.#states.set(scope, state);
		return isFirst;
	}

	/**
	 * Waits until others may have given back what they do not need of a budget, and reads its state. Throws
	 * `budget_exceeded` if the amount would not fit even then, or after too long a time.
	 */
	async waitForOthers(
		owner: OwnerLedger | undefined,
		{ scope = 'day', state }: Refusal,
		amount: Amount,
		patience: Patience,
	): Promise<void> {
		const mayFit = owner !== undefined && !exceedsLimit({ ...state, reserved: nothing }, amount);
		if (!mayFit || !(await patience.pause())) throw createBudgetError({ scope, state, user: owner?.user }, amount);
		const read = (one: LedgerApi) => readState(one, scope, state.limit, owner.user);
		this.#states.set(scope, await patience.reach(() => askLedger(owner.ledger, read)));
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
