import { description } from '../description.ts';
import { spending } from '../spending.ts';

export const getUsage = description({
	id: 'getUsage',
	tag: 'Service',
	summary: 'Show the spending by owner and day',
	description:
		'Needs the role staff, for your own owner; all owners need a key with the scope admin, and include those whose keys were revoked. `by` sums it up by agent, model, user and unit, too. A price that is not known is `null`, and never 0.',
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
					storage: [{ owner: 'alice', bytes: 1_310_720, limit: 107_374_182_400 }],
				},
				byModel: {
					budgets: { session: { tokens: 2_000_000 }, day: { tokens: 20_000_000 } },
					usage: [
						{
							owner: 'alice',
							day: '2026-11-22',
							spent: { tokens: 18_400, usd: 0.21 },
							unpricedTokens: 400,
							limit: { tokens: 20_000_000 },
							reserved: { tokens: 0, usd: 0 },
						},
					],
					groups: [
						{
							...{
								owner: 'alice',
								day: '2026-11-22',
								model: 'claude-sonnet-4-6',
								spent: { tokens: 18_000, usd: 0.21 },
							},
							...{ inputTokens: 16_000, cachedInputTokens: 12_000, cachedShare: 0.75, units: { web_searches: 3 } },
						},
						{
							...{ owner: 'alice', day: '2026-11-22', model: 'llama3.2', spent: { tokens: 400, usd: null } },
							...{ unpricedTokens: 400, inputTokens: 300, cachedInputTokens: 0, cachedShare: 0, units: {} },
						},
					],
					storage: [{ owner: 'alice', bytes: 1_310_720, limit: 107_374_182_400 }],
				},
			},
		},
	},
});
