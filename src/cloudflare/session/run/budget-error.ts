import { RunletError } from '../../../core/ground/errors.ts';
import { formatDollars } from '../../../core/ground/text.ts';
import { type Amount, type BudgetState, isSpent, type Limit } from '../../objects/budget.ts';
import type { BudgetScope } from '../../objects/ledger/api.ts';

/** A budget that did not allow a request. */
export interface ExceededBudget {
	readonly scope: 'session' | BudgetScope;
	readonly state: BudgetState;
	/** The user of the session, if it has one. */
	readonly user?: string;
}

/** Creates the error for a request that a budget does not allow: `budget_reserved` if it waits for what other runs have reserved. */
export function createBudgetError({ scope, state, user = '' }: ExceededBudget, needs: Amount): RunletError {
	const { whose, per, remedy } = describeBudget(scope, user);
	const text = `budget: ${whose} may spend ${amountText(state.limit)}${per}; ${amountText(state.left)} left, and the next request may need ${amountText(keepCapped(needs, state.limit))}.`;
	const data = { scope, ...state, needs };
	if (scope === 'session' || isSpent(state, needs))
		return new RunletError('budget_exceeded', `${text} ${remedy}`, data);
	const reserved = amountText(keepCapped(state.reserved, state.limit));
	const message = `${text} Other runs have reserved ${reserved}, and give back what they do not need. Try again in a minute.`;
	return new RunletError('budget_reserved', message, { ...data, retryAfter: 60 });
}

/** Creates the error for a request without a known price, under a budget in dollars. `what` of it has none. */
export function createUnpriced(model: string, what = `"${model}"`): RunletError {
	const message = `budget: nobody knows the price of ${what}, so a budget in dollars cannot be kept on it. Set its price in PRICES, give the budget in tokens, or choose another model.`;
	return new RunletError('budget_exceeded', message, { model, unpriced: what });
}

function describeBudget(scope: ExceededBudget['scope'], user: string) {
	const whose = `The user ${JSON.stringify(user)}`;
	const raise = `An admin raises it by PUT /v1/users/${encodeURIComponent(user)}/budget`;
	switch (scope) {
		case 'session':
			return { whose: 'This session', per: '', remedy: 'Raise its budget (PATCH the session), then continue.' };
		case 'day':
			return {
				whose: 'This key',
				per: ' a day',
				remedy: 'Raise the budget of the day or wait for tomorrow (UTC), then continue.',
			};
		case 'user-day':
			return { whose, per: ' a day', remedy: `${raise}. Then continue, or continue tomorrow (UTC).` };
		case 'user-total':
			return { whose, per: ' in all', remedy: `${raise}. Then continue.` };
		default:
			return scope satisfies never;
	}
}

/** Returns the parts of an amount that have a limit. */
function keepCapped({ tokens, usd }: Amount, limit: Limit): Limit {
	return { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
}

function amountText({ tokens, usd }: Limit): string {
	const parts = [tokens === undefined ? [] : `${tokens} tokens`, usd === undefined ? [] : formatDollars(usd)].flat();
	return parts.join(' and ') || 'nothing';
}
