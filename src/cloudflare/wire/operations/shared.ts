import * as v from 'valibot';
import { runEvent } from '../event.ts';
import { type Answer, exampleRequest } from '../operation.ts';
import { acceptedRun, runResult } from '../run.ts';
import { session as sessionSchema } from '../session.ts';

const id = '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708';
const runId = 'run_7Hq2';
const createdAt = '2026-11-21T12:00:00.000Z';
const usage = { inputTokens: 212, outputTokens: 18, totalTokens: 230, provider: 'demo', model: 'demo' };
const budget = {
	limit: { tokens: 50_000 },
	spent: { tokens: 230, usd: 0 },
	reserved: { tokens: 0, usd: 0 },
	left: { tokens: 49_770 },
};
const nothing = { tokens: 0, usd: 0 };
const about = { id, agent: 'assistant', model: 'demo', createdAt, bytes: 147_456 };
const question = { callId: 'call_1', question: 'For which day?' };
const toolCalls = [{ id: 'call_1', name: 'refund', input: { orderId: '1042' }, kind: 'approval' }];

/** A session without a run. */
export const empty = {
	...about,
	status: 'idle',
	metadata: { customer: '42' },
	budget: { limit: { tokens: 50_000 }, spent: nothing, reserved: nothing, left: { tokens: 50_000 } },
};
export const session = { ...about, status: 'completed', run: { id: runId, status: 'completed' }, budget };
export const running = { ...session, status: 'running', run: { id: runId, status: 'running' } };
export const waiting = {
	...session,
	status: 'awaiting_tools',
	run: { id: runId, status: 'awaiting_tools' },
	toolCalls,
};

export const token = {
	token: `rls_${id}_4f0c9b1e2a7d8356_tixe8g_1rYb0XxZ4k8mS2nqQJv7uHcT5wLgDfEaPo3iKyBtVzM`,
	tokenId: '4f0c9b1e2a7d8356',
	tokenScopes: ['read', 'message'],
	tokenExpiresAt: '2026-11-22T12:00:00.000Z',
};
export const accepted = { runId };
export const completed = { runId, status: 'completed', text: '17 + 25 is 42.', usage };
const results = {
	completed,
	question: { runId, status: 'awaiting_user', question },
	approval: { runId, status: 'awaiting_tools', toolCalls },
	halted: { runId, status: 'halted', reason: 'too_large' },
	cancelled: { runId, status: 'cancelled' },
};

const failed = { id: runId, status: 'error', error: { code: 'provider_error', message: 'The model failed.' } };

export const foundRequest = {
	id: exampleRequest,
	session: { id, agent: 'assistant', title: 'What is 17 + 25?', status: 'error' },
	run: failed,
	newest: failed,
	links: {
		session: `/v1/sessions/${id}`,
		messages: `/v1/sessions/${id}/messages`,
		export: `/v1/sessions/${id}/export`,
		page: `/#/sessions/${id}`,
	},
};

export const sessionPage = {
	sessions: [{ id, agent: 'assistant', title: 'What is 17 + 25?', createdAt, lastActivityAt: createdAt }],
};

export const approvalPage = {
	approvals: [
		{
			sessionId: id,
			agent: 'support',
			title: 'I want my money back.',
			callId: 'call_1',
			kind: 'approval',
			tool: 'refund',
			input: { orderId: '1042' },
			labels: ['outside'],
			spent: { tokens: 1_250, usd: 0.0041 },
			since: createdAt,
		},
	],
};

export const feedback = { rating: 'down', note: 'It arrived today.', createdAt };

export const feedbackPage = {
	feedback: [{ sessionId: id, runId, agent: 'support', title: 'Where is my order?', ...feedback }],
};

export const taskLists = [
	{
		id: 'list-1',
		title: 'Release',
		tasks: [
			{ id: 'task-1', text: 'Run the tests', outcome: 'done', note: 'All green.' },
			{ id: 'task-2', text: 'Publish' },
		],
	},
] as const;

export const messages = [
	{ id: '65536', runId, role: 'user', content: 'What is 17 + 25?', isInput: true, createdAt },
	{
		id: '131072',
		runId,
		role: 'assistant',
		content: '17 + 25 is 42.',
		turn: { iteration: 1, model: 'demo', stopReason: 'end_turn', usage },
		createdAt,
	},
];

export const waitingMessages = { waiting: [{ id: 'run_9Kd4', content: 'And divided by 6?' }] };

const lines = (id: string, event: Readonly<Record<string, unknown>>) =>
	`event: ${event.type}\ndata: ${JSON.stringify(event)}\nid: ${id}\n\n`;

/** A run as an event stream. */
const events = [
	lines('1.0.0.1.0.0.0.0.0.0', { type: 'run.started', runId, attempt: 1 }),
	lines('1.0.0.1.0.0.14.0.0.0', { type: 'text', text: '17 + 25 is 42.' }),
	lines('1.0.0.2.0.0.14.0.0.0', { type: 'stop', reason: 'end_turn', usage }),
	lines('1.end', { type: 'done', text: '17 + 25 is 42.', usage }),
].join('');

const exportedRun = {
	id: runId,
	status: 'completed',
	model: 'demo',
	lives: 1,
	createdAt,
	endedAt: '2026-11-21T12:00:01.000Z',
	stored: {
		firstMessage: '65536',
		end: { before: [], draft: [], steps: 1, event: { type: 'done', text: '', usage } },
	},
};
const charge = { runId, model: 'demo', tokens: 230, usd: 0, isSettled: true, createdAt };
const [asked, answered] = messages;

/** An exported session. */
export const exported = {
	session: { version: 1, ...session, owner: 'shop', title: 'What is 17 + 25?' },
	runs: [exportedRun],
	spending: [charge],
	state: [],
	notes: [],
	waiting: [],
	files: [{ path: 'sum.txt', size: 3, at: 0, base64: 'NDIK' }],
	messages: [{ ...asked, sender: 'shop', transport: 'http' }, answered],
};

/** An exported session as lines. */
export const exportedLines = [
	{ session: exported.session },
	{ run: exportedRun },
	{ spending: charge },
	{ file: exported.files[0] },
	...exported.messages.map((message) => ({ message })),
	{ end: { runs: 1, spending: 1, state: 0, waiting: 0, files: 1, messages: 2 } },
]
	.map((line) => `${JSON.stringify(line)}\n`)
	.join('');

/** The traces of a session without runs. */
export const trace = { resourceSpans: [] };

const remembered = '2026-11-23T12:00:00.000Z';

export const memory = {
	path: 'preferences.md',
	text: 'Writes to customers in French.',
	version: '0b6f2f54-7c1e-4a55-9d5c-2f8a1f0e8a11',
	source: { via: 'call', agent: 'assistant', runId: 'run_7Hq2', callId: 'call_1' },
	createdAt: remembered,
	updatedAt: remembered,
};

/** The headers of an operation that starts a run. */
export const runHeaders = ['accept', 'prefer', 'idempotency-key'] as const;

/** The events of a run as an answer. */
export const stream = {
	'text/event-stream': {
		example: events,
		events: runEvent,
		says: 'Server-sent events: `event:` is the type, `data:` is a RunEvent as JSON, `id:` is the value for `Last-Event-ID`. Ignore types that you do not know.',
	},
} as const;

/** The answers of an operation that starts a run. */
export const runAnswers = {
	200: {
		says: 'The result of the run. With `Accept: text/event-stream` its events.',
		json: runResult,
		examples: results,
		also: stream,
	},
	202: {
		says: 'With `Prefer: respond-async`: the run is stored and continues.',
		json: acceptedRun,
		examples: { accepted },
	},
} as const;

/** The answers of an operation that starts a run, or that answers with the session without a run. */
export const runOrSession = (says: string) =>
	({
		...runAnswers,
		200: {
			...runAnswers[200],
			says: `${runAnswers[200].says} ${says}`,
			json: v.union([runResult, sessionSchema]),
			examples: { ...results, session },
		},
	}) as const;

/** The answers of a `PUT` that creates or replaces something. */
export const putAnswers = <const A extends Omit<Answer, 'says'>>(noun: string, answer: A) => ({
	200: { ...answer, says: `The ${noun} was replaced.` },
	201: { ...answer, says: `The ${noun} was created.` },
});
