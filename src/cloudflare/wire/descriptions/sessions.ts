import * as v from 'valibot';
import { description } from '../description.ts';
import { acceptedSession, newSession, session, sessionPage, startedSession } from '../session.ts';
import { taskLists } from '../tasks.ts';
import { sessionToken } from '../token.ts';
import * as example from './examples.ts';
import { runHeaders, stream } from './run-answers.ts';

export const createSession = description({
	id: 'createSession',
	tag: 'Sessions',
	summary: 'Create a session',
	description: 'With `text`, `parts` or `attachments` the session starts a run in the same request.',
	headers: runHeaders,
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

export const listSessions = description({
	id: 'listSessions',
	tag: 'Sessions',
	summary: 'List the sessions',
	description:
		'Newest activity first. With `status` a page may have fewer sessions than its limit, even none: there are more as long as it has a cursor.',
	answers: { 200: { says: 'One page of the sessions.', json: sessionPage, examples: { page: example.sessionPage } } },
});

export const getSession = description({
	id: 'getSession',
	tag: 'Sessions',
	summary: 'Read the state of a session',
	description: 'Its status, what it waits for, and its budget.',
	answers: {
		200: { says: 'The session.', json: session, examples: { completed: example.session, waiting: example.waiting } },
	},
	errors: [404],
});

export const changeSession = description({
	id: 'changeSession',
	tag: 'Sessions',
	summary: 'Change the budget or the title',
	description: 'A run that stopped because of its budget can continue after that.',
	examples: { budget: { budget: { tokens: 50_000 } }, title: { title: 'Invoices of May' } },
	answers: { 200: { says: 'The session.', json: session, examples: { session: example.session } } },
	errors: [404],
});

export const deleteSession = description({
	id: 'deleteSession',
	tag: 'Sessions',
	summary: 'Remove a session',
	description: 'Stops the run and removes all data of the session.',
	answers: { 204: { says: 'The session is removed.' } },
	errors: [404],
});

export const createToken = description({
	id: 'createToken',
	tag: 'Sessions',
	summary: 'Make a token for a session',
	description:
		'The token gives access to this session only, within its scopes. Use it in a page instead of an API key. It becomes invalid with the key that made it. To rotate a token, make a new one, hand it over, and revoke the old one.',
	examples: { hour: { expiresInSeconds: 3_600 }, clerk: { scopes: ['read', 'approve'] } },
	answers: { 201: { says: 'The token.', json: sessionToken, examples: { token: example.token } } },
	errors: [404],
});

export const revokeToken = description({
	id: 'revokeToken',
	tag: 'Sessions',
	summary: 'Revoke a token of a session',
	description: 'The token is invalid at once. Streams that were opened with it end with an event `closed`.',
	answers: { 204: { says: 'The token is revoked.' } },
	errors: [404],
});

export const listTasks = description({
	id: 'listTasks',
	tag: 'Sessions',
	summary: 'Read the task lists',
	description: 'The lists of tasks that the tools of the session keep, as they stand. Each change is an event `tasks`.',
	answers: { 200: { says: 'The lists.', json: taskLists, examples: { lists: { lists: example.taskLists } } } },
	errors: [404],
});
