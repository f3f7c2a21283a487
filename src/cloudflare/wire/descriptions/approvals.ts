import { approvalPage } from '../approval.ts';
import { description } from '../description.ts';
import * as example from './examples.ts';

export const listApprovals = description({
	id: 'listApprovals',
	tag: 'Sessions',
	summary: 'List what waits for a person',
	description:
		'The open approvals, questions and manual calls of all sessions of the owner, the oldest first. Answer one in its session. The list may be a moment late.',
	answers: {
		200: { says: 'One page of what waits.', json: approvalPage, examples: { page: example.approvalPage } },
	},
});
