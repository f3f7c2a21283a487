import * as v from 'valibot';
import { formatDollars } from '../core/base/text.ts';

export const limitSchema = v.object({ tokens: v.exactOptional(v.number()), usd: v.exactOptional(v.number()) });

type Limit = v.InferOutput<typeof limitSchema>;

/** Describes the default budgets and how to change them, in one sentence. */
export function budgetLine(session: Limit, day: Limit): string {
	const line = `A session may spend ${amountText(session)} (or the budget of its agent), an owner ${amountText(day)} a day (UTC)`;
	return `${line}: SESSION_BUDGET_TOKENS, DAY_BUDGET_TOKENS (a number, or none)`;
}

function amountText({ tokens, usd }: Limit): string {
	const parts = [
		...(tokens === undefined ? [] : [`${tokens.toLocaleString('en')} tokens`]),
		...(usd === undefined ? [] : [formatDollars(usd)]),
	];
	return parts.join(' and ') || 'without limit';
}
