import * as v from 'valibot';
import { operation } from '../operation.ts';
import {
	acceptedSession,
	changeBody,
	newSession,
	session,
	sessionBody,
	sessionPage,
	sessionQuery,
	startedSession,
} from '../session.ts';
import { taskLists } from '../tasks.ts';
import { sessionToken, tokenBody } from '../token.ts';
import * as example from './examples.ts';
import { runHeaders, stream } from './run-answers.ts';

export const createSession = operation({
	id: 'createSession',
	method: 'post',
	path: '/v1/sessions',
	tag: 'Sessions',
	summary: 'Create a session',
	description: 'With `text`, `parts` or `attachments` the session starts a run in the same request.',
	access: 'run',
	headers: runHeaders,
	json: sessionBody,
	examples: {
		message: { agent: 'assistant', text: 'What is 17 + 25?' },
		empty: { agent: 'assistant', metadata: { customer: '42' }, budget: { tokens: 50_000 } },
	},
	answers: {
		201: {
			says: 'The session. With a message it also has the result of the run, or the answer is the run’s events.',
			json: v.union([startedSession, newSession]),
			examples: {
				message: { ...example.session, ...example.token, ...example.completed },
				empty: { ...example.empty, ...example.token },
			},
			also: stream,
			headers: ['location'],
		},
		202: {
			says: 'With `Prefer: respond-async`: the session and its run, which continues.',
			json: acceptedSession,
			examples: { accepted: { ...example.running, ...example.token, ...example.accepted } },
			headers: ['location'],
		},
	},
	errors: [404, 409],
	runs: true,
});

export const listSessions = operation({
	id: 'listSessions',
	method: 'get',
	path: '/v1/sessions',
	tag: 'Sessions',
	summary: 'List the sessions',
	description:
		'Newest activity first. With `status` a page may have fewer sessions than its limit, even none: there are more as long as it has a cursor.',
	access: 'run',
	adminToo: true,
	query: sessionQuery,
	answers: { 200: { says: 'One page of the sessions.', json: sessionPage, examples: { page: example.sessionPage } } },
});

export const getSession = operation({
	id: 'getSession',
	method: 'get',
	path: '/v1/sessions/:id',
	tag: 'Sessions',
	summary: 'Read the state of a session',
	description: 'Its status, what it waits for, and its budget.',
	access: 'token',
	adminToo: true,
	answers: {
		200: { says: 'The session.', json: session, examples: { completed: example.session, waiting: example.waiting } },
	},
	errors: [404],
});

export const changeSession = operation({
	id: 'changeSession',
	method: 'patch',
	path: '/v1/sessions/:id',
	tag: 'Sessions',
	summary: 'Change what a session may spend',
	description: 'A run that stopped because of its budget can continue after that.',
	access: 'owner',
	json: changeBody,
	examples: { budget: { budget: { tokens: 50_000 } } },
	answers: { 200: { says: 'The session.', json: session, examples: { session: example.session } } },
	errors: [404],
});

export const deleteSession = operation({
	id: 'deleteSession',
	method: 'delete',
	path: '/v1/sessions/:id',
	tag: 'Sessions',
	summary: 'Remove a session',
	description: 'Stops the run and removes all data of the session.',
	access: 'owner',
	adminToo: true,
	answers: { 204: { says: 'The session is removed.' } },
	errors: [404],
});

export const createToken = operation({
	id: 'createToken',
	method: 'post',
	path: '/v1/sessions/:id/token',
	tag: 'Sessions',
	summary: 'Make a token for a session',
	description:
		'The token gives access to this session only, within its scopes. Use it in a page instead of an API key. It becomes invalid with the key that made it. To rotate a token, make a new one, hand it over, and revoke the old one.',
	access: 'owner',
	json: tokenBody,
	examples: { hour: { expiresInSeconds: 3_600 }, clerk: { scopes: ['read', 'approve'] } },
	answers: { 201: { says: 'The token.', json: sessionToken, examples: { token: example.token } } },
	errors: [404],
});

export const revokeToken = operation({
	id: 'revokeToken',
	method: 'delete',
	path: '/v1/sessions/:id/token/:tokenId',
	tag: 'Sessions',
	summary: 'Revoke a token of a session',
	description: 'The token is invalid at once. Streams that were opened with it end with an event `closed`.',
	access: 'owner',
	answers: { 204: { says: 'The token is revoked.' } },
	errors: [404],
});

export const listTasks = operation({
	id: 'listTasks',
	method: 'get',
	path: '/v1/sessions/:id/tasks',
	tag: 'Sessions',
	summary: 'Read the task lists',
	description: 'The lists of tasks that the tools of the session keep, as they stand. Each change is an event `tasks`.',
	access: 'token',
	adminToo: true,
	answers: { 200: { says: 'The lists.', json: taskLists, examples: { lists: { lists: example.taskLists } } } },
	errors: [404],
});
