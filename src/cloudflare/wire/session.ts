import * as v from 'valibot';
import { taskList } from '../../core/tool/tasks.ts';
import { userName } from '../auth/rights.ts';
import { amount, budgetSchema, budgetState, limit } from './budget.ts';
import { label, labels, question, waitingCall } from './call.ts';
import { feedback } from './feedback.ts';
import { described, time } from './field.ts';
import { expirySchema, longText, maxName, shortText } from './limits.ts';
import { attachmentsField, bothGiven, content, modelField } from './message.ts';
import type { Shown } from './operation.ts';
import { agentName, count, cursor, nextCursor, ownerOrAll, sessionCursor } from './page.ts';
import { acceptedRun, runResult } from './run.ts';
import { holder, sessionToken } from './token.ts';

export const metadata = v.pipe(
	v.record(longText, v.unknown()),
	v.maxEntries(16),
	v.record(v.pipe(v.string(), v.maxLength(64)), v.pipe(v.string(), v.maxLength(512))),
	v.description('Up to 16 texts of your own.'),
);

/** The body that creates a session. With a message the session starts a run. */
export const sessionBody = v.pipe(
	v.strictObject({
		agent: v.pipe(shortText(maxName), v.nonEmpty()),
		model: modelField,
		user: v.optional(
			described(userName, 'The person whose session it is. It never changes, and tools authorize by it.'),
		),
		for: v.optional(holder),
		metadata: v.optional(metadata),
		budget: v.optional(budgetSchema),
		expiresAfterMs: v.optional(expirySchema),
		...content,
		attachments: attachmentsField,
	}),
	v.forward(
		v.check(({ text, parts }) => text === undefined || parts === undefined, bothGiven),
		['text'],
	),
);

export const changeBody = v.pipe(
	v.strictObject({
		budget: v.optional(budgetSchema),
		title: v.optional(v.pipe(shortText(200), v.nonEmpty(), v.description('The title in the list of sessions.'))),
		clearLabels: v.optional(
			v.pipe(
				v.array(label),
				v.minLength(1),
				v.maxLength(2),
				v.description('Labels that a person takes back. What came in so far does not count for them any more.'),
			),
		),
	}),
	v.forward(v.minEntries(1, 'missing. Give budget, title or clearLabels'), ['budget']),
);

/** The run that runs again, and what is different. */
export const rerunBody = v.strictObject({
	run: v.pipe(shortText(maxName), v.nonEmpty(), v.description('The run whose message runs again.')),
	model: modelField,
	prompt: v.optional(v.pipe(longText, v.nonEmpty(), v.description('Takes the place of the agent’s system prompt.'))),
});

/** The status of a session (docs/sessions.md, "Statuses"). */
export const sessionStatus = v.picklist(['idle', 'running', 'awaiting_user', 'awaiting_tools', 'completed', 'error']);
export const runStatus = v.picklist([
	'running',
	'awaiting_user',
	'awaiting_tools',
	'completed',
	'halted',
	'cancelled',
	'error',
]);

/** A child session, which works for a call. */
const child = v.object({
	id: v.string(),
	agent: v.string(),
	callId: described(v.string(), 'The call that it works for.'),
	budget: v.optional(described(limit, 'Its budget.')),
	background: v.optional(described(v.literal(true), 'Its result arrives as a message.')),
	spent: v.optional(described(amount, 'Its cost. Missing until it has ended.')),
});

const sessionAbout = v.object({
	id: v.string(),
	agent: v.string(),
	model: v.string(),
	createdAt: time,
	title: v.optional(described(v.string(), 'The title in the list of sessions.')),
	owner: v.optional(described(v.string(), 'The owner. Shown only to keys with the scope admin.')),
	user: v.optional(described(v.string(), 'The person whose session it is.')),
	metadata: v.optional(v.record(v.string(), v.string())),
	run: v.optional(
		described(
			v.object({
				id: v.string(),
				status: runStatus,
				reason: v.optional(described(v.string(), 'Why a tool or the budget halted it.')),
				feedback: v.optional(feedback),
			}),
			'The newest run.',
		),
	),
	error: v.optional(described(v.object({ code: v.string(), message: v.string() }), 'Why the run failed.')),
	question: v.optional(described(question, 'The question of a tool to the user.')),
	toolCalls: v.optional(described(v.array(waitingCall), 'The calls that wait for an answer.')),
	wait: v.optional(
		described(
			v.object({
				since: time,
				expiresAt: v.optional(described(time, 'Until when its calls can be approved, if the agent limits that.')),
			}),
			'Since when it waits for a person.',
		),
	),
	parent: v.optional(described(v.object({ id: v.string() }), 'The session that it works for.')),
	rerunOf: v.optional(
		described(
			v.object({ sessionId: v.string(), runId: v.string() }),
			'The run that it runs again. No call runs in it.',
		),
	),
	children: v.optional(described(v.array(child), 'The sessions that work for calls of this one.')),
	waiting: v.optional(described(v.number(), 'The number of messages that wait for the run to end.')),
	labels: v.optional(
		described(
			labels,
			'What flowed into it: `outside`, text that strangers may have written; `private`, private data. Present if the session is read.',
		),
	),
	cleared: v.optional(
		described(
			v.array(v.object({ label, by: described(v.string(), 'The user, or `key`.'), at: time })),
			'The labels that a person took back, and when. Not shown to customers.',
		),
	),
	budget: budgetState,
	bytes: described(v.number(), 'The bytes that it holds: messages, files, and all else.'),
	dayBudget: v.optional(described(budgetState, 'The spending of the owner today (UTC). Present if the day has a cap.')),
});

export const session = v.object({ ...sessionAbout.entries, status: sessionStatus });

/** Whether the request was repeated. */
export type RepeatableSession = Shown<typeof session> & { readonly isReplay?: boolean };

export const newSession = v.object({ ...session.entries, ...sessionToken.entries });

export const startedSession = v.intersect([v.object({ ...sessionAbout.entries, ...sessionToken.entries }), runResult]);

export const acceptedSession = v.object({ ...newSession.entries, ...acceptedRun.entries });

/** A run in the list of sessions. */
export const listedRun = v.object({
	id: v.string(),
	status: runStatus,
	model: v.optional(described(v.string(), 'Missing if it is the model of the agent.')),
	createdAt: time,
	endedAt: v.optional(time),
	error: v.optional(described(v.string(), 'The code of the error that ended it.')),
	spent: amount,
	unpricedTokens: v.optional(described(v.number(), 'The tokens without a known price. Missing if there are none.')),
});

export const sessionPage = v.object({
	sessions: v.array(
		v.object({
			id: v.string(),
			agent: v.string(),
			owner: v.optional(described(v.string(), 'The owner. Present if the query has `owner`.')),
			user: v.optional(described(v.string(), 'The person whose session it is.')),
			title: v.optional(v.string()),
			createdAt: time,
			lastActivityAt: time,
			status: v.optional(described(sessionStatus, 'Present if the query has `status` or `details`.')),
			spent: v.optional(
				described(amount, 'Its cost. Present if the query has `details`, unless it is in the archive.'),
			),
			runs: v.optional(
				described(v.array(listedRun), 'Its newest runs, at most ten. Present if the query has `details=runs`.'),
			),
			excerpt: v.optional(described(v.string(), 'What is around a word of `q` in what was said. Untrusted text.')),
		}),
	),
	cursor: nextCursor,
});

export const sessionQuery = v.object({
	cursor: v.optional(cursor(sessionCursor)),
	limit: v.optional(count(100), '20'),
	status: v.optional(sessionStatus),
	details: v.optional(
		described(
			v.picklist(['true', 'false', 'runs']),
			'Whether each session has its status and its cost, or these and its newest `runs`. Each one is asked.',
		),
	),
	agent: agentName,
	user: v.optional(described(userName, 'Lists the sessions of this user.')),
	owner: v.optional(ownerOrAll),
	q: v.optional(
		v.pipe(
			v.string(),
			v.nonEmpty(),
			v.maxLength(200),
			v.description(
				"Words that the title has, or with the agent's `searchContents` the title and what was said together. Those of four characters and more match longer words, too.",
			),
		),
	),
});

export const taskLists = v.object({ lists: v.array(taskList) });
