import { description } from '../description.ts';
import { erasedUser, exportedUser, userBudget } from '../user.ts';
import * as example from './examples.ts';

const budget = {
	caps: { daily: { tokens: 50_000 } },
	daily: {
		limit: { tokens: 50_000 },
		spent: { tokens: 12_000, usd: 0.06 },
		reserved: { tokens: 0, usd: 0 },
		left: { tokens: 38_000 },
	},
	total: { limit: {}, spent: { tokens: 80_000, usd: 0.4 }, reserved: { tokens: 0, usd: 0 }, left: {} },
};

export const getUser = description({
	id: 'getUser',
	tag: 'Users',
	summary: 'Export everything of a user',
	description: 'Sessions with their files, memories, schedules, the budget, and what the user spent.',
	answers: {
		200: {
			says: 'Everything that is stored of the user.',
			json: exportedUser,
			examples: {
				ada: {
					...{ owner: 'shop', user: 'ada', budget },
					usage: [{ day: '2026-11-22', spent: { tokens: 12_000, usd: 0.06 }, reserved: { tokens: 0, usd: 0 } }],
					spending: [
						{
							...{
								day: '2026-11-22',
								agent: 'shopkeeper',
								model: 'claude-sonnet-4-6',
								spent: { tokens: 12_000, usd: 0.06 },
							},
							...{ inputTokens: 10_000, cachedInputTokens: 8_000, cachedShare: 0.8, units: { web_searches: 2 } },
						},
					],
					schedules: [],
					memories: [example.memory],
					sessions: [example.exported],
				},
			},
		},
	},
});

export const eraseUser = description({
	id: 'eraseUser',
	tag: 'Users',
	summary: 'Erase a user',
	description:
		'Removes the sessions of the user with their files and schedules, and what agents remember of the user. What was spent stays, as numbers; by agent and model it has no name any more. A user with very many sessions takes several requests: repeat it until `isDone`.',
	answers: {
		200: {
			says: 'What was erased.',
			json: erasedUser,
			examples: { erased: { user: 'ada', sessions: 12, isDone: true } },
		},
	},
});

export const getUserBudget = description({
	id: 'getUserBudget',
	tag: 'Users',
	summary: 'Show the budget of a user',
	answers: { 200: { says: 'The caps, and where they stand.', json: userBudget, examples: { budget } } },
});

export const setUserBudget = description({
	id: 'setUserBudget',
	tag: 'Users',
	summary: 'Set the budget of a user',
	description:
		'What the user may spend on a UTC day, in all their sessions, and in all. A run that goes on spends what it has leased already: the caps hold from its next lease on, within a minute. An empty object removes the caps.',
	examples: { daily: { daily: { tokens: 50_000 } } },
	answers: { 200: { says: 'The caps, and where they stand.', json: userBudget, examples: { budget } } },
});
