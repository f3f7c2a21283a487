import * as v from 'valibot';
import { approvalPage } from '../approval.ts';
import * as endpoints from '../endpoints/sessions.ts';
import { exportedSession } from '../export.ts';
import { feedbackPage } from '../feedback.ts';
import { arrivedPart } from '../import.ts';
import { createOperations } from '../operation.ts';
import { foundRequest } from '../request.ts';
import { acceptedSession, newSession, session, sessionPage, startedSession, taskLists } from '../session.ts';
import { sessionToken } from '../token.ts';
import { trace } from '../trace.ts';
import * as example from './shared.ts';
import { runHeaders, stream } from './shared.ts';

const operation = createOperations('Sessions');

export const createSession = operation(endpoints.createSession, {
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

export const listSessions = operation(endpoints.listSessions, {
	summary: 'List the sessions',
	description:
		'Newest activity first; with `q` the newest session first. With `status` a page may have fewer sessions than its limit, even none: there are more as long as it has a cursor.',
	answers: { 200: { says: 'One page of the sessions.', json: sessionPage, examples: { page: example.sessionPage } } },
});

export const getSession = operation(endpoints.getSession, {
	summary: 'Read the state of a session',
	description: 'Its status, what it waits for, and its budget.',
	answers: {
		200: { says: 'The session.', json: session, examples: { completed: example.session, waiting: example.waiting } },
	},
});

export const getRequest = operation(endpoints.getRequest, {
	summary: 'Find the session of a request',
	description:
		'Finds the session and the run of a request by the `x-request-id` of its answer. `404` if the id carries no session, if the session is gone, or if it belongs to another owner. A request without a message of its own, such as an approval, has no `run`: see `newest`.',
	answers: {
		200: {
			says: 'The session, its newest run, and the run of the request.',
			json: foundRequest,
			examples: { failed: example.foundRequest },
		},
	},
	errors: [404],
});

export const changeSession = operation(endpoints.changeSession, {
	summary: 'Change the budget or the title, or take labels back',
	description:
		'A run that stopped because of its budget can continue with a larger one. After labels are taken back, no person is asked any more because of what came in before.',
	examples: {
		budget: { budget: { tokens: 50_000 } },
		title: { title: 'Invoices of May' },
		harmless: { clearLabels: ['outside'] },
	},
	answers: { 200: { says: 'The session.', json: session, examples: { session: example.session } } },
});

export const deleteSession = operation(endpoints.deleteSession, {
	summary: 'Remove a session',
	description: 'Stops the run and removes all data of the session.',
	answers: { 204: { says: 'The session is removed.' } },
});

export const createToken = operation(endpoints.createToken, {
	summary: 'Make a token for a session',
	description:
		'The token gives access to this session only, within its scopes. Use it in a page instead of an API key. It becomes invalid with the key that made it. To rotate a token, make a new one, hand it over, and revoke the old one.',
	examples: { hour: { expiresInSeconds: 3_600 }, clerk: { scopes: ['read', 'approve'] } },
	answers: { 201: { says: 'The token.', json: sessionToken, examples: { token: example.token } } },
});

export const revokeToken = operation(endpoints.revokeToken, {
	summary: 'Revoke a token of a session',
	description: 'The token is invalid at once. Streams that were opened with it end with an event `closed`.',
	answers: { 204: { says: 'The token is revoked.' } },
});

export const listTasks = operation(endpoints.listTasks, {
	summary: 'Read the task lists',
	description: 'The lists of tasks that the tools of the session keep, as they stand. Each change is an event `tasks`.',
	answers: { 200: { says: 'The lists.', json: taskLists, examples: { lists: { lists: example.taskLists } } } },
});

export const listApprovals = operation(endpoints.listApprovals, {
	summary: 'List the calls that wait for a person',
	description:
		'The open approvals, questions and manual calls of all sessions of the owner, the oldest first. Answer one in its session. The list may be a moment late.',
	answers: {
		200: { says: 'One page of the waiting calls.', json: approvalPage, examples: { page: example.approvalPage } },
	},
});

export const listFeedback = operation(endpoints.listFeedback, {
	summary: 'List the feedback',
	description: 'What people said about the answers of all sessions of the owner, the newest first.',
	answers: { 200: { says: 'One page of the feedback.', json: feedbackPage, examples: { page: example.feedbackPage } } },
});

const copied = { ...example.session, ...example.token };

export const exportSession = operation(endpoints.exportSession, {
	summary: 'Export a session',
	description:
		'All data of the session as it is now: state, metadata, runs, spending, what tools remember, waiting messages, the files and the whole history. The answer is a stream of any length. Lines can be taken up again: `cursor=start` puts cursors among them, and the last one that came begins behind it, also if the session has changed.',
	headers: ['accept'],
	answers: {
		200: {
			says: 'One JSON document. With `Accept: application/x-ndjson` one line for each record.',
			json: exportedSession,
			examples: { session: example.exported },
			also: {
				'application/x-ndjson': {
					example: example.exportedLines,
					says: 'Lines `{ "session": … }`, `{ "run": … }`, `{ "spending": … }`, `{ "state": … }`, `{ "note": … }`, `{ "waiting": … }`, `{ "file": … }`, `{ "message": … }`, and a last line `{ "end": … }` with the number of each. Without the last line the export is incomplete.',
				},
			},
		},
	},
});

export const getTrace = operation(endpoints.getTrace, {
	summary: 'Read the traces of a session',
	description:
		'What the session did as OTLP/JSON, by the GenAI conventions of OpenTelemetry: one trace for each run and the runs that continue it after a wait for a person. It has no texts, arguments or results without `content=true`. A repeated request gives the same ids.',
	answers: { 200: { says: 'The traces.', json: trace, examples: { run: example.trace } } },
});

export const forkSession = operation(endpoints.forkSession, {
	summary: 'Copy a session',
	description:
		'The copy has the history, the state of the tools and the files, and its own budget. With `at` it has the history up to that message. An unfinished run is cancelled in the copy.',
	headers: ['idempotency-key'],
	examples: { all: {}, upTo: { at: '65536' } },
	answers: {
		201: { says: 'The copy, with a token for it.', json: newSession, examples: { copied }, headers: ['location'] },
	},
	errors: [400, 409],
});

export const rerun = operation(endpoints.rerun, {
	summary: 'Run a message again with another model or prompt',
	description:
		'Makes a branch of the session up to the message of a run, which runs again. No call runs in the branch: calls get the recorded results of equal calls, and others an error. Read the answer in the branch.',
	headers: ['idempotency-key'],
	examples: { model: { run: 'run_7Hq2', model: 'demo' }, prompt: { run: 'run_7Hq2', prompt: 'Be brief.' } },
	answers: {
		202: {
			says: 'The branch, with a token for it, and its run, which continues.',
			json: acceptedSession,
			examples: { accepted: { ...example.running, ...example.token, ...example.accepted } },
			headers: ['location'],
		},
	},
	errors: [400, 404, 409],
});

export const importSession = operation(endpoints.importSession, {
	summary: 'Import a session',
	description:
		'Makes a session of what `GET /v1/sessions/:id/export` returned, here or in another Runlet: all of it or nothing. Its runs, history, files and what tools remember come along; what was spent, the messages that waited, who sent and approved what, and what only a provider understands do not. All of it counts as text from outside. One JSON document has at most 32 MiB, lines have at most 1 GiB. With an `Idempotency-Key` lines may come in parts, each with a `Content-Range`; what arrived is kept for a day.',
	headers: ['idempotency-key', 'content-range'],
	body: {
		'application/json': { example: example.exported },
		'application/x-ndjson': { example: example.exportedLines },
	},
	answers: {
		201: { says: 'The session, with a token for it.', json: newSession, examples: { copied }, headers: ['location'] },
		202: {
			says: 'Of a part that is not the last: how many bytes are stored. The next part begins there.',
			json: arrivedPart,
			examples: { part: { offset: 67_108_000 } },
		},
	},
	errors: [400, 404, 409, 413, 415],
});
