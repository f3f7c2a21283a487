import { expect, test } from 'vitest';
import { computeCost } from '../../../src/cloudflare/session/run/budgets.ts';
import type { Charge } from '../../../src/cloudflare/session/store/spending.ts';

const open: Charge = {
	call: 1,
	run: 1,
	model: 'm',
	amount: { tokens: 383, usd: 0.0025 },
	owed: true,
	lease: 1,
	estimate: { inputTokens: 339, inputUsd: 0.0021, outputUsd: 0.00001 },
};

test.each([
	['cut off', { isCut: true }],
	['whole', { isCut: false }],
	['whole, with a part of its usage', { isCut: false, usage: { inputTokens: 300 } }],
	['whole, with units alone', { isCut: false, usage: { units: {} } }],
])('charges at most the reservation for a reply without complete usage: %s', (_, seen) => {
	const { tokens, usd } = computeCost(open, { outputTokens: 4_400, ...seen });
	expect([tokens, usd]).toEqual([open.amount.tokens, open.amount.usd]);
});

test('charges the reported cost of a reply, even above the reservation', () => {
	const usage = { inputTokens: 400, outputTokens: 50, costUsd: 0.004 };
	expect(computeCost(open, { usage, outputTokens: 44, isCut: false })).toEqual({ tokens: 450, usd: 0.004 });
});

test('charges an interrupted reply for its reported input and for all reserved searches', () => {
	const amount = { tokens: 9_000, usd: 0.05 };
	const withSearches = { ...open, amount, estimate: { ...open.estimate, inputTokens: 8_000, unitsUsd: 0.014 } };
	const usage = { inputTokens: 800, outputTokens: 10 };
	const { usd } = computeCost(withSearches, { usage, outputTokens: 10, isCut: true });
	expect(usd).toBeCloseTo(0.00021 + 0.014 + 0.0001, 6);
});
