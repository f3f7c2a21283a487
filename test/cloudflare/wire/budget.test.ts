import { expect, test } from 'vitest';
import { defaultBudgets } from '../../../src/cloudflare/wire/budget.ts';
import { budgetLine } from '../../../src/command/budget-line.ts';

test('the banner shows the default budgets and says how to lift them', () => {
	expect(budgetLine(defaultBudgets.session, defaultBudgets.day)).toBe(
		'A session may spend 2,000,000 tokens (or the budget of its agent), an owner 20,000,000 tokens a day (UTC): SESSION_BUDGET_TOKENS, DAY_BUDGET_TOKENS (a number, or none)',
	);
	expect(budgetLine({}, { tokens: 5, usd: 2.5 })).toContain(
		'A session may spend without limit (or the budget of its agent), an owner 5 tokens and $2.50 a day',
	);
});
