import { createEndpoint } from '../endpoint.ts';
import { spendingQuery } from '../spending.ts';
import { userBudgetBody, userQuery } from '../user.ts';

export const getUser = createEndpoint('get', '/v1/users/:user', {
	access: 'seeUsers',
	adminToo: true,
	query: userQuery,
});

export const eraseUser = createEndpoint('delete', '/v1/users/:user', { access: 'manageUsers' });

export const getUserBudget = createEndpoint('get', '/v1/users/:user/budget', {
	access: 'seeUsers',
	adminToo: true,
	query: userQuery,
});

export const setUserBudget = createEndpoint('put', '/v1/users/:user/budget', {
	access: 'manageUsers',
	json: userBudgetBody,
});

export const getUsage = createEndpoint('get', '/v1/usage', {
	access: 'seeUsers',
	adminToo: true,
	query: spendingQuery,
});
