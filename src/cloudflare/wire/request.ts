import * as v from 'valibot';
import { described } from './field.ts';
import { runStatus, sessionStatus } from './session.ts';

const run = v.object({
	id: v.string(),
	status: v.union([runStatus, v.literal('waiting')]),
	error: v.optional(described(v.object({ code: v.string(), message: v.string() }), 'Why the run failed.')),
});

/** What a request was about: its session, and the run of its message. */
export const foundRequest = v.object({
	id: described(v.string(), 'The id of the request.'),
	session: v.object({
		id: v.string(),
		agent: v.string(),
		title: v.optional(v.string()),
		user: v.optional(described(v.string(), 'The person whose session it is.')),
		status: sessionStatus,
	}),
	run: v.optional(
		described(run, 'The run that the message of the request began or joined. It is `waiting` until the run begins.'),
	),
	newest: v.optional(described(run, 'The newest run of the session.')),
	links: v.object({
		session: described(v.string(), 'The path of the session.'),
		messages: described(v.string(), 'The path of its history.'),
		export: described(v.string(), 'The path of all that it holds.'),
		page: described(v.string(), 'The path of the page that shows it, with the trace of its runs.'),
	}),
});
