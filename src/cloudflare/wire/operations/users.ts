import { operation } from '../operation.ts';
import { userBudgetBody, userQuery } from '../user.ts';

export const getUser = operation({
	method: 'get',
	path: '/v1/users/:user',
	access: 'seeUsers',
	adminToo: true,
	query: userQuery,
});

export const eraseUser = operation({
	method: 'delete',
	path: '/v1/users/:user',
	access: 'manageUsers',
});

export const getUserBudget = operation({
	method: 'get',
	path: '/v1/users/:user/budget',
	access: 'seeUsers',
	adminToo: true,
	query: userQuery,
});

export const setUserBudget = operation({
	method: 'put',
	path: '/v1/users/:user/budget',
	access: 'manageUsers',
	json: userBudgetBody,
});
