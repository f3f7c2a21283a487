import * as v from 'valibot';
import { attachmentsField } from './attachment.ts';
import { budgetSchema, budgetState } from './budget.ts';
import { question, waitingCall } from './call.ts';
import { expirySchema } from './expiry.ts';
import { longText, maxName, shortText } from './length.ts';
import { bothGiven, modelField } from './message.ts';
import { count, cursor, nextCursor, sessionCursor } from './page.ts';
import { content } from './part.ts';
import { acceptedRun, runResult } from './run.ts';
import { sessionToken } from './token.ts';

/** What a client keeps with a session. */
export const metadata = v.pipe(
	v.record(longText, v.unknown()),
	v.maxEntries(16),
	v.record(v.pipe(v.string(), v.maxLength(64)), v.pipe(v.string(), v.maxLength(512))),
	v.description('Up to 16 texts of your own.'),
);

/** What a session is created with; with a message it begins to run. */
export const sessionBody = v.pipe(
	v.strictObject({
		agent: v.pipe(shortText(maxName), v.nonEmpty()),
		model: modelField,
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

/** What of a session can be changed. */
export const changeBody = v.strictObject({ budget: budgetSchema });

/** Where a session stands (docs/sessions.md, "Statuses"). */
const status = v.picklist(['idle', 'running', 'awaiting_user', 'awaiting_tools', 'completed', 'error']);
export const runStatus = v.picklist([
	'running',
	'awaiting_user',
	'awaiting_tools',
	'completed',
	'halted',
	'cancelled',
	'error',
]);

const sessionAbout = v.object({
	id: v.string(),
	agent: v.string(),
	model: v.string(),
	createdAt: v.pipe(v.string(), v.isoTimestamp()),
	owner: v.optional(v.pipe(v.string(), v.description('Whose it is. Only a key with the scope admin is told.'))),
	metadata: v.optional(v.record(v.string(), v.string())),
	run: v.optional(v.pipe(v.object({ id: v.string(), status: runStatus }), v.description('The newest run.'))),
	error: v.optional(v.pipe(v.object({ code: v.string(), message: v.string() }), v.description('Why it failed.'))),
	question: v.optional(v.pipe(question, v.description('What a tool asks the person.'))),
	toolCalls: v.optional(v.pipe(v.array(waitingCall), v.description('The calls that wait for somebody.'))),
	waiting: v.optional(v.pipe(v.number(), v.description('Messages that wait for the run to end.'))),
	budget: budgetState,
	dayBudget: v.optional(
		v.pipe(budgetState, v.description('What its owner spent today (UTC), where the day has a cap.')),
	),
});

/** Where a session stands, what it waits for, and its budget. */
export const session = v.object({ ...sessionAbout.entries, status });

/** A session that was created, with a token for whoever shall talk to it. */
export const newSession = v.object({ ...session.entries, ...sessionToken.entries });

/** A session that was created, with the result of its run. */
export const startedSession = v.intersect([v.object({ ...sessionAbout.entries, ...sessionToken.entries }), runResult]);

/** A session that was created, and its run goes on. */
export const acceptedSession = v.object({ ...newSession.entries, ...acceptedRun.entries });

/** A page of the sessions. */
export const sessionPage = v.object({
	sessions: v.array(
		v.object({
			id: v.string(),
			agent: v.string(),
			owner: v.optional(v.pipe(v.string(), v.description('Whose it is, where `owner` was asked for.'))),
			title: v.optional(v.string()),
			createdAt: v.pipe(v.string(), v.isoTimestamp()),
			lastActivityAt: v.pipe(v.string(), v.isoTimestamp()),
		}),
	),
	cursor: nextCursor,
});

export const sessionQuery = v.object({
	cursor: v.optional(cursor(sessionCursor)),
	limit: v.optional(count(100), '20'),
	owner: v.optional(
		v.pipe(
			v.string(),
			v.regex(/^(?:\*|[a-z0-9][a-z0-9-]{0,63})$/, 'Expected the name of an owner, or * for all of them'),
			v.description('Another owner’s sessions, or with * those of all. Wants a key with the scope admin.'),
		),
	),
});
