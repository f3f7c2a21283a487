import * as endpoints from '../endpoints/users.ts';
import { createOperations } from '../operation.ts';
import { spending } from '../spending.ts';
import { erasedUser, exportedUser, userBudget } from '../user.ts';
import * as example from './shared.ts';

const operation = createOperations('Users');
const serviceOperation = createOperations('Service');

const day = '2026-11-22';

const nothing = { tokens: 0, usd: 0 };

const budget = {
	caps: { daily: { tokens: 50_000 } },
	daily: {
		limit: { tokens: 50_000 },
		spent: { tokens: 12_000, usd: 0.06 },
		reserved: nothing,
		left: { tokens: 38_000 },
	},
	total: { limit: {}, spent: { tokens: 80_000, usd: 0.4 }, reserved: nothing, left: {} },
};

const byModel = {
	day,
	model: 'claude-sonnet-4-6',
	inputTokens: 10_000,
	cachedInputTokens: 8_000,
	cachedShare: 0.8,
	units: { web_searches: 2 },
};

const alice = {
	owner: 'alice',
	day,
	spent: { tokens: 18_400, usd: 0.21 },
	limit: { tokens: 20_000_000 },
	reserved: nothing,
};

const owners = {
	budgets: { session: { tokens: 2_000_000 }, day: { tokens: 20_000_000 } },
	storage: [{ owner: 'alice', bytes: 1_310_720, limit: 107_374_182_400 }],
};

export const getUser = operation(endpoints.getUser, {
	summary: 'Export everything of a user',
	description: 'Sessions with their files, memories, uploaded files, schedules, the budget, and what the user spent.',
	answers: {
		200: {
			says: 'Everything that is stored of the user.',
			json: exportedUser,
			examples: {
				ada: {
					...{ owner: 'shop', user: 'ada', budget },
					usage: [{ day, spent: { tokens: 12_000, usd: 0.06 }, reserved: nothing }],
					spending: [{ ...byModel, agent: 'shopkeeper', spent: { tokens: 12_000, usd: 0.06 } }],
					schedules: [],
					memories: [example.memory],
					files: [],
					sessions: [example.exported],
				},
			},
		},
	},
});

export const eraseUser = operation(endpoints.eraseUser, {
	summary: 'Erase a user',
	description:
		'Removes the sessions of the user with their files and schedules, and the memories and uploaded files of the user. The spending stays as numbers; by agent and model it has no name any more. A user with very many sessions takes several requests: repeat it until `isDone`.',
	answers: {
		200: {
			says: 'The erased data.',
			json: erasedUser,
			examples: { erased: { user: 'ada', sessions: 12, isDone: true } },
		},
	},
});

export const getUserBudget = operation(endpoints.getUserBudget, {
	summary: 'Show the budget of a user',
	answers: { 200: { says: 'The caps and their state.', json: userBudget, examples: { budget } } },
});

export const setUserBudget = operation(endpoints.setUserBudget, {
	summary: 'Set the budget of a user',
	description:
		'The most that the user may spend on a UTC day and in total, in all sessions. An active run may still spend its present lease: the caps apply from its next lease on, within a minute. An empty object removes the caps.',
	examples: { daily: { daily: { tokens: 50_000 } } },
	answers: { 200: { says: 'The caps and their state.', json: userBudget, examples: { budget } } },
});

export const getUsage = serviceOperation(endpoints.getUsage, {
	summary: 'Show the spending by owner and day',
	description:
		'Needs the role staff, for your own owner; all owners need a key with the scope admin, and include those whose keys were revoked. `by` sums it up by agent, model, user and unit, too. A price that is not known is `null`, and never 0.',
	answers: {
		200: {
			says: 'The spending by day.',
			json: spending,
			examples: {
				usage: { ...owners, usage: [alice] },
				byModel: {
					...owners,
					usage: [{ ...alice, unpricedTokens: 400 }],
					groups: [
						{ ...byModel, owner: 'alice', spent: { tokens: 18_000, usd: 0.21 } },
						{
							...{ owner: 'alice', day, model: 'llama3.2', spent: { tokens: 400, usd: null } },
							...{ unpricedTokens: 400, inputTokens: 300, cachedInputTokens: 0, cachedShare: 0, units: {} },
						},
					],
				},
			},
		},
	},
});
