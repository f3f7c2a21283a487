import * as v from 'valibot';
import { shownMessage } from './message.ts';
import { shownPart } from './part.ts';
import { runStatus, session } from './session.ts';

const time = v.pipe(v.string(), v.isoTimestamp());
const runId = v.optional(v.string());
const origin = {
	sender: v.optional(v.pipe(v.string(), v.description('Who sent it, of a message from outside.'))),
	transport: v.optional(v.pipe(v.string(), v.description('By what way it came, such as http or webhook:github.'))),
};

const run = v.object({
	id: v.string(),
	status: runStatus,
	model: v.optional(v.string()),
	lives: v.pipe(v.number(), v.description('More than 1 for a run that survived a crash.')),
	createdAt: time,
	endedAt: v.optional(time),
	error: v.optional(v.object({ code: v.string(), message: v.string() })),
	reason: v.optional(v.pipe(v.string(), v.description('Why it was halted.'))),
	partialText: v.optional(v.pipe(v.string(), v.description('What was shown of a turn that was broken off.'))),
});

const charge = v.object({
	runId,
	model: v.string(),
	tokens: v.number(),
	usd: v.number(),
	isSettled: v.pipe(v.boolean(), v.description('Whether it is over; else what is set aside for it.')),
	createdAt: time,
});

const waiting = v.object({
	runId: v.pipe(v.string(), v.description('The run that it will begin.')),
	content: v.unknown(),
	parts: v.optional(v.array(shownPart)),
	...origin,
});

/** Everything of a session. */
export const exportedSession = v.object({
	session: v.object({
		...session.entries,
		owner: v.string(),
		title: v.optional(v.string()),
		expiresAfterMs: v.optional(v.number()),
		clientTools: v.optional(
			v.pipe(v.array(v.object({ name: v.string() })), v.description('Tools that its client carries out.')),
		),
	}),
	runs: v.pipe(v.array(run), v.description('Oldest first, as all lists here.')),
	spending: v.pipe(v.array(charge), v.description('A record a request to a model.')),
	waiting: v.pipe(v.array(waiting), v.description('Messages that wait for the run that goes on.')),
	messages: v.pipe(
		v.array(v.intersect([shownMessage, v.object(origin)])),
		v.description('The whole history, with all that tools gave.'),
	),
});
