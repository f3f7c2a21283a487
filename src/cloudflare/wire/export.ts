import * as v from 'valibot';
import { shownMessage } from './message.ts';
import { shownPart } from './part.ts';
import { runStatus, session } from './session.ts';

const time = v.pipe(v.string(), v.isoTimestamp());
const runId = v.optional(v.string());
const origin = {
	sender: v.optional(v.pipe(v.string(), v.description('Who sent the message.'))),
	transport: v.optional(v.pipe(v.string(), v.description('The way the message came, such as http or webhook:github.'))),
};

const run = v.object({
	id: v.string(),
	status: runStatus,
	model: v.optional(v.string()),
	lives: v.pipe(v.number(), v.description('More than 1 if the run survived a crash.')),
	createdAt: time,
	endedAt: v.optional(time),
	error: v.optional(v.object({ code: v.string(), message: v.string() })),
	reason: v.optional(v.pipe(v.string(), v.description('Why the run was halted.'))),
	partialText: v.optional(v.pipe(v.string(), v.description('The text that readers saw of an interrupted turn.'))),
});

const charge = v.object({
	runId,
	model: v.string(),
	tokens: v.number(),
	usd: v.number(),
	isSettled: v.pipe(v.boolean(), v.description('Whether the call has ended. If not, the amounts are reserved.')),
	createdAt: time,
});

const waiting = v.object({
	runId: v.pipe(v.string(), v.description('The run that the message will start.')),
	content: v.unknown(),
	parts: v.optional(v.array(shownPart)),
	...origin,
});

/** Everything that is stored of a session. */
export const exportedSession = v.object({
	session: v.object({
		...session.entries,
		owner: v.string(),
		title: v.optional(v.string()),
		expiresAfterMs: v.optional(v.number()),
		clientTools: v.optional(
			v.pipe(v.array(v.object({ name: v.string() })), v.description('The tools that the client runs.')),
		),
	}),
	runs: v.pipe(v.array(run), v.description('The oldest first, as in all lists here.')),
	spending: v.pipe(v.array(charge), v.description('One record for each request to a model.')),
	state: v.pipe(
		v.array(v.object({ key: v.string(), value: v.unknown() })),
		v.description('What tools of the session remember.'),
	),
	waiting: v.pipe(v.array(waiting), v.description('The messages that wait for the current run to end.')),
	messages: v.pipe(
		v.array(v.intersect([shownMessage, v.object(origin)])),
		v.description('The whole history, with the full tool results.'),
	),
});
