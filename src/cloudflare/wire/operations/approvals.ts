import { approvalPage, approvalQuery } from '../approval.ts';
import { operation } from '../operation.ts';
import * as example from './examples.ts';

export const listApprovals = operation({
	id: 'listApprovals',
	method: 'get',
	path: '/v1/approvals',
	tag: 'Sessions',
	summary: 'List what waits for a person',
	description:
		'The open approvals, questions and manual calls of all sessions of the owner, the oldest first. Answer one in its session. The list may be a moment late.',
	access: 'run',
	query: approvalQuery,
	answers: {
		200: { says: 'One page of what waits.', json: approvalPage, examples: { page: example.approvalPage } },
	},
});
