import * as v from 'valibot';
import { userName } from '../../auth/rights.ts';
import { approvalQuery } from '../approval.ts';
import { createEndpoint } from '../endpoint.ts';
import { exportQuery } from '../export.ts';
import { feedbackQuery } from '../feedback.ts';
import { described } from '../field.ts';
import { changeBody, rerunBody, sessionBody, sessionQuery } from '../session.ts';
import { tokenBody } from '../token.ts';
import { traceQuery } from '../trace.ts';

export const createSession = createEndpoint('post', '/v1/sessions', { access: 'createSession', json: sessionBody });

export const listSessions = createEndpoint('get', '/v1/sessions', {
	access: 'listSessions',
	adminToo: true,
	query: sessionQuery,
});

export const getSession = createEndpoint('get', '/v1/sessions/:id', { access: 'readSession', adminToo: true });

export const getRequest = createEndpoint('get', '/v1/requests/:request', { access: 'manageSession', adminToo: true });

export const changeSession = createEndpoint('patch', '/v1/sessions/:id', { access: 'manageSession', json: changeBody });

export const deleteSession = createEndpoint('delete', '/v1/sessions/:id', { access: 'manageSession', adminToo: true });

export const createToken = createEndpoint('post', '/v1/sessions/:id/token', {
	access: 'manageSession',
	json: tokenBody,
});

export const revokeToken = createEndpoint('delete', '/v1/sessions/:id/token/:tokenId', { access: 'manageSession' });

export const listTasks = createEndpoint('get', '/v1/sessions/:id/tasks', { access: 'readSession', adminToo: true });

export const listApprovals = createEndpoint('get', '/v1/approvals', {
	access: 'seeInbox',
	adminToo: true,
	query: approvalQuery,
});

export const listFeedback = createEndpoint('get', '/v1/feedback', {
	access: 'seeInbox',
	adminToo: true,
	query: feedbackQuery,
});

export const exportSession = createEndpoint('get', '/v1/sessions/:id/export', {
	access: 'manageSession',
	adminToo: true,
	query: exportQuery,
});

export const getTrace = createEndpoint('get', '/v1/sessions/:id/trace', {
	access: 'manageSession',
	adminToo: true,
	query: traceQuery,
});

export const forkSession = createEndpoint('post', '/v1/sessions/:id/fork', {
	access: 'manageSession',
	json: v.strictObject({
		at: v.optional(
			v.pipe(
				v.string(),
				v.regex(/^\d{1,15}$/, 'Expected the id of a message'),
				v.description('The id of the last message. Results of its calls come along.'),
			),
		),
	}),
});

export const rerun = createEndpoint('post', '/v1/sessions/:id/rerun', { access: 'manageSession', json: rerunBody });

export const importSession = createEndpoint('post', '/v1/sessions/import', {
	access: 'importSession',
	query: v.object({ user: v.optional(described(userName, 'The person whose session it becomes.')) }),
});
