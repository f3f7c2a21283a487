import { description } from '../description.ts';
import { spending } from '../spending.ts';

export const getUsage = description({
	id: 'getUsage',
	tag: 'Service',
	summary: 'Show the spending by owner and day',
	description: 'Includes owners whose keys were revoked. Needs a key with the scope admin.',
	answers: {
		200: {
			says: 'The spending by day.',
			json: spending,
			examples: {
				usage: {
					budgets: { session: { tokens: 2_000_000 }, day: { tokens: 20_000_000 } },
					usage: [
						{
							owner: 'alice',
							day: '2026-11-22',
							spent: { tokens: 18_400, usd: 0.21 },
							limit: { tokens: 20_000_000 },
							reserved: { tokens: 0, usd: 0 },
						},
					],
				},
			},
		},
	},
});
