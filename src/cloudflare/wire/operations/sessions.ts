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
import { sessionToken, tokenBody } from '../token.ts';
import * as example from './examples.ts';

const runHeaders = ['accept', 'prefer', 'idempotency-key'] as const;
const stream = {
	'text/event-stream': {
		example: example.events,
		events: runEvent,
		says: 'Server-sent events: `event:` is the type, `data:` a RunEvent as JSON, `id:` what `Last-Event-ID` takes. Ignore types that you do not know.',
	},
} as const;

/** What an operation answers that begins a run. */
const runAnswers = {
	200: {
		says: 'The result of the run; with `Accept: text/event-stream` its events.',
		json: runResult,
		examples: example.results,
		also: stream,
	},
	202: {
		says: 'With `Prefer: respond-async`: the run is stored and goes on.',
		json: acceptedRun,
		examples: { accepted: example.accepted },
	},
} as const;

/** The same, where the answer may also be that nothing runs. */
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
	description: 'With a `text`, `parts` or `attachments` it begins to run in the same request.',
	access: 'run',
	headers: runHeaders,
	json: sessionBody,
	examples: {
		message: { agent: 'assistant', text: 'What is 17 + 25?' },
		empty: { agent: 'assistant', metadata: { customer: '42' }, budget: { tokens: 50_000 } },
	},
	answers: {
		201: {
			says: 'The session. With a message it has the result of the run too, or is its events.',
			json: v.union([startedSession, newSession]),
			examples: {
				message: { ...example.session, ...example.token, ...example.completed },
				empty: { ...example.empty, ...example.token },
			},
			also: stream,
			headers: ['location'],
		},
		202: {
			says: 'With `Prefer: respond-async`: the session and its run, which goes on.',
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
	answers: { 200: { says: 'A page of them.', json: sessionPage, examples: { page: example.sessionPage } } },
});

export const getSession = operation({
	id: 'getSession',
	method: 'get',
	path: '/v1/sessions/:id',
	tag: 'Sessions',
	summary: 'Where a session stands',
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
	description: 'A run that stopped for its budget can then be continued.',
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
	description: 'Stops what runs and removes everything of the session.',
	access: 'owner',
	adminToo: true,
	answers: { 204: { says: 'It is removed.' } },
	errors: [404],
});

export const exportSession = operation({
	id: 'exportSession',
	method: 'get',
	path: '/v1/sessions/:id/export',
	tag: 'Sessions',
	summary: 'Export a session',
	description:
		'Everything of it as it stands now: its state and metadata, its runs, what they cost, what waits, and its whole history. It comes as a stream of any length.',
	access: 'owner',
	adminToo: true,
	headers: ['accept'],
	answers: {
		200: {
			says: 'One JSON document; with `Accept: application/x-ndjson` a line a record.',
			json: exportedSession,
			examples: { session: example.exported },
			also: {
				'application/x-ndjson': {
					example: example.exportedLines,
					says: 'Lines `{ "session": … }`, `{ "run": … }`, `{ "spending": … }`, `{ "waiting": … }`, `{ "message": … }`, and a last one `{ "end": … }` with how many there were: without it the export is not whole.',
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
		'It opens this session and nothing else, for what its scopes say: a page holds it instead of an API key. It goes with the key that made it. To rotate one make the next, hand it on, and revoke the first.',
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
	description: 'At once: it opens nothing any more, and streams that are read with it end with an event `closed`.',
	access: 'owner',
	answers: { 204: { says: 'It is revoked.' } },
	errors: [404],
});

export const listMessages = operation({
	id: 'listMessages',
	method: 'get',
	path: '/v1/sessions/:id/messages',
	tag: 'Messages',
	summary: 'Read the history',
	description: 'Oldest first. A message that `isCut` is whole at its own address.',
	access: 'token',
	adminToo: true,
	query: v.object({ cursor: v.optional(place), limit: v.optional(count(500)) }),
	answers: {
		200: {
			says: 'A page of it.',
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
	description: 'With all that its tool gave.',
	access: 'token',
	adminToo: true,
	answers: { 200: { says: 'The message.', json: shownMessage, examples: { message: example.messages[1] } } },
	errors: [400, 404],
});

export const sendMessage = operation({
	id: 'sendMessage',
	method: 'post',
	path: '/v1/sessions/:id/messages',
	tag: 'Messages',
	summary: 'Send a message',
	description: 'Where a tool asked, it is the answer. While a run goes on, `whenBusy` says what happens.',
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
	answers: runOrSession('The session, where the message was dropped before and is sent again under its key.'),
	errors: [404, 409],
	runs: true,
});

export const answerQuestion = operation({
	id: 'answerQuestion',
	method: 'post',
	path: '/v1/sessions/:id/answer',
	tag: 'Messages',
	summary: 'Answer a tool’s question',
	description: 'And nothing else: where no tool asks, it is refused.',
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
	summary: 'Answer calls that wait',
	description: 'With results, or with approvals; all at once or one by one. With the last of them the run goes on.',
	access: 'token',
	headers: runHeaders,
	json: resultsBody,
	examples: {
		result: [{ id: 'call_1', output: { refunded: true } }],
		approval: [{ id: 'call_1', approve: false, reason: 'Too much.' }],
	},
	answers: runOrSession('The session, as long as other calls wait.'),
	errors: [404, 409],
	runs: true,
});

export const continueRun = operation({
	id: 'continueRun',
	method: 'post',
	path: '/v1/sessions/:id/continue',
	tag: 'Runs',
	summary: 'Take up a run',
	description: 'One that failed, or that stopped after a step.',
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
	summary: 'Take up a run for one turn',
	description: 'As `continue`, for one turn of the model.',
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
		'The newest run from its start; with `Last-Event-ID` what comes behind that event, each once. A run does not mind when its readers leave.',
	access: 'token',
	adminToo: true,
	headers: ['last-event-id'],
	answers: {
		200: { says: 'The events.', also: stream },
		204: { says: 'There is nothing (more) to follow.' },
	},
	errors: [400, 404],
});

export const cancelRun = operation({
	id: 'cancelRun',
	method: 'post',
	path: '/v1/sessions/:id/cancel',
	tag: 'Runs',
	summary: 'Stop a run',
	description: 'At once, the call to the model included. What waits is dropped.',
	access: 'token',
	headers: ['idempotency-key'],
	answers: { 200: { says: 'The session.', json: session, examples: { session: example.empty } } },
	errors: [400, 404, 409],
});
