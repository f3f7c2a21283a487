import { type BudgetState, budgetState, createAmount, type Limit, nothing, plus } from '../../objects/budget.ts';
import type { SessionStore } from '../store/store.ts';

/** Returns the state of the session's own budget, with what its children cost and may still spend. */
export function readBudgetState({ spending, calls }: SessionStore, limit: Limit): BudgetState {
	const ofChildren = calls.children.sum();
	const spent = createAmount(plus(spending.total(), ofChildren.spent));
	return budgetState(limit, spent, plus(spending.open()?.amount ?? nothing, ofChildren.reserved));
}
