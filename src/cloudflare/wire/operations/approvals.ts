import { approvalQuery } from '../approval.ts';
import { operation } from '../operation.ts';

export const listApprovals = operation({
	method: 'get',
	path: '/v1/approvals',
	access: 'seeInbox',
	adminToo: true,
	query: approvalQuery,
});
