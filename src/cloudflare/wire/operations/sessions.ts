import * as v from 'valibot';
import { resultsBody } from '../call.ts';
import { runEvent } from '../event.ts';
import { exportedSession } from '../export.ts';
import { answerBody, messageBody, shownMessage } from '../message.ts';
import { operation } from '../operation.ts';
import { count, nextCursor, place } from '../page.ts';
import { acceptedRun, runResult } from '../run.ts';
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

const runHeaders = ['accept', 'prefer', 'idempotency-key'] as const;
const stream = {
	'text/event-stream': {
		example: example.events,
		events: runEvent,
		says: 'Server-sent events: `event:` is the type, `data:` is a RunEvent as JSON, `id:` is the value for `Last-Event-ID`. Ignore types that you do not know.',
	},
} as const;

/** The answers of an operation that starts a run. */
const runAnswers = {
	200: {
		says: 'The result of the run. With `Accept: text/event-stream` its events.',
		json: runResult,
		examples: example.results,
		also: stream,
	},
	202: {
		says: 'With `Prefer: respond-async`: the run is stored and continues.',
		json: acceptedRun,
		examples: { accepted: example.accepted },
	},
} as const;

/** The same for an operation that may also answer with the session, without a run. */
const runOrSession = (says: string) =>
	({
		...runAnswers,
		200: {
			...runAnswers[200],
			says: `${runAnswers[200].says} ${says}`,
			json: v.union([runResult, session]),
			examples: { ...example.results, session: example.session },
		},
	}) as const;

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
	description: 'Newest activity first.',
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

export const exportSession = operation({
	id: 'exportSession',
	method: 'get',
	path: '/v1/sessions/:id/export',
	tag: 'Sessions',
	summary: 'Export a session',
	description:
		'All data of the session as it is now: state, metadata, runs, spending, what tools remember, waiting messages and the whole history. The answer is a stream of any length.',
	access: 'owner',
	adminToo: true,
	headers: ['accept'],
	answers: {
		200: {
			says: 'One JSON document. With `Accept: application/x-ndjson` one line for each record.',
			json: exportedSession,
			examples: { session: example.exported },
			also: {
				'application/x-ndjson': {
					example: example.exportedLines,
					says: 'Lines `{ "session": … }`, `{ "run": … }`, `{ "spending": … }`, `{ "state": … }`, `{ "waiting": … }`, `{ "message": … }`, and a last line `{ "end": … }` with the number of each. Without the last line the export is incomplete.',
				},
			},
		},
	},
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

export const listMessages = operation({
	id: 'listMessages',
	method: 'get',
	path: '/v1/sessions/:id/messages',
	tag: 'Messages',
	summary: 'Read the history',
	description: 'Oldest first. If a message has `isCut`, get it by its id to read all of it.',
	access: 'token',
	adminToo: true,
	query: v.object({ cursor: v.optional(place), limit: v.optional(count(500)) }),
	answers: {
		200: {
			says: 'One page of the history.',
			json: v.object({ messages: v.array(shownMessage), cursor: nextCursor }),
			examples: { page: { messages: example.messages } },
		},
	},
	errors: [404],
});

export const getMessage = operation({
	id: 'getMessage',
	method: 'get',
	path: '/v1/sessions/:id/messages/:message',
	tag: 'Messages',
	summary: 'Read one message',
	description: 'Includes the full result of its tool.',
	access: 'token',
	adminToo: true,
	answers: { 200: { says: 'The message.', json: shownMessage, examples: { message: example.messages[1] } } },
	errors: [400, 404],
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

export const sendMessage = operation({
	id: 'sendMessage',
	method: 'post',
	path: '/v1/sessions/:id/messages',
	tag: 'Messages',
	summary: 'Send a message',
	description: 'If a tool asked a question, the message answers it. During a run, `whenBusy` says what happens.',
	access: 'token',
	headers: runHeaders,
	json: messageBody,
	examples: {
		text: { text: 'And divided by 6?' },
		parts: {
			parts: [
				{ kind: 'text', text: 'What is this?' },
				{ kind: 'image', url: 'https://example.com/cat.png' },
			],
		},
		attachment: {
			text: 'Sum this up.',
			attachments: [{ name: 'a.csv', type: 'text/csv', size: 3, contentText: 'a,b' }],
		},
	},
	answers: runOrSession('Or the session, if the message was dropped and is repeated with the same key.'),
	errors: [404, 409],
	runs: true,
});

export const answerQuestion = operation({
	id: 'answerQuestion',
	method: 'post',
	path: '/v1/sessions/:id/answer',
	tag: 'Messages',
	summary: 'Answer a tool’s question',
	description: 'If no tool asks, the answer is refused.',
	access: 'token',
	headers: runHeaders,
	json: answerBody,
	examples: { text: { text: 'On Friday.' } },
	answers: runAnswers,
	errors: [404, 409],
	runs: true,
});

export const submitResults = operation({
	id: 'submitResults',
	method: 'post',
	path: '/v1/sessions/:id/tool-results',
	tag: 'Messages',
	summary: 'Answer waiting calls',
	description: 'Takes results and approvals, all at once or one by one. After the last one the run continues.',
	access: 'token',
	headers: runHeaders,
	json: resultsBody,
	examples: {
		result: [{ id: 'call_1', output: { refunded: true } }],
		approval: [{ id: 'call_1', approve: false, reason: 'Too much.' }],
	},
	answers: runOrSession('Or the session, while other calls wait.'),
	errors: [404, 409],
	runs: true,
});

export const continueRun = operation({
	id: 'continueRun',
	method: 'post',
	path: '/v1/sessions/:id/continue',
	tag: 'Runs',
	summary: 'Continue a run',
	description: 'Continues a run that failed or that stopped after a step.',
	access: 'token',
	headers: runHeaders,
	answers: runAnswers,
	errors: [400, 404, 409],
	runs: true,
});

export const stepRun = operation({
	id: 'stepRun',
	method: 'post',
	path: '/v1/sessions/:id/step',
	tag: 'Runs',
	summary: 'Continue a run for one turn',
	description: 'Like `continue`, but for one turn of the model.',
	access: 'token',
	headers: runHeaders,
	answers: runAnswers,
	errors: [400, 404, 409],
	runs: true,
});

export const followRun = operation({
	id: 'followRun',
	method: 'get',
	path: '/v1/sessions/:id/events',
	tag: 'Runs',
	summary: 'Follow a run',
	description:
		'Streams the newest run from its start. With `Last-Event-ID` it streams each later event once. The run continues when its readers disconnect.',
	access: 'token',
	adminToo: true,
	headers: ['last-event-id'],
	answers: {
		200: { says: 'The events.', also: stream },
		204: { says: 'There are no (more) events to follow.' },
	},
	errors: [400, 404],
});

export const cancelRun = operation({
	id: 'cancelRun',
	method: 'post',
	path: '/v1/sessions/:id/cancel',
	tag: 'Runs',
	summary: 'Stop a run',
	description: 'Stops the run and its call to the model at once. Waiting messages and calls are dropped.',
	access: 'token',
	headers: ['idempotency-key'],
	answers: { 200: { says: 'The session.', json: session, examples: { session: example.empty } } },
	errors: [400, 404, 409],
});
