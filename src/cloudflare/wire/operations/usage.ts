import { operation } from '../operation.ts';
import { spendingQuery } from '../spending.ts';

export const getUsage = operation({
	method: 'get',
	path: '/v1/usage',
	access: 'seeUsers',
	adminToo: true,
	query: spendingQuery,
});
