import { operation } from '../operation.ts';
import { spending, spendingQuery } from '../spending.ts';

export const getUsage = operation({
	id: 'getUsage',
	method: 'get',
	path: '/v1/usage',
	tag: 'Service',
	summary: 'What was spent, by owner and day',
	description: 'Also by owners whose keys were revoked. Wants a key with the scope admin.',
	access: 'admin',
	query: spendingQuery,
	answers: {
		200: {
			says: 'What the days came to.',
			json: spending,
			examples: {
				usage: {
					budgets: { session: { tokens: 2_000_000 }, day: { tokens: 20_000_000 } },
					usage: [
						{
							owner: 'alice',
							day: '2026-11-22',
							spent: { tokens: 18_400, usd: 0.21 },
							reserved: { tokens: 0, usd: 0 },
						},
					],
				},
			},
		},
	},
});
