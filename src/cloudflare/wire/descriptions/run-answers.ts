import * as v from 'valibot';
import { runEvent } from '../event.ts';
import { acceptedRun, runResult } from '../run.ts';
import { session } from '../session.ts';
import * as example from './examples.ts';

/** The headers of an operation that starts a run. */
export const runHeaders = ['accept', 'prefer', 'idempotency-key'] as const;
/** The events of a run as an answer. */
export const stream = {
	'text/event-stream': {
		example: example.events,
		events: runEvent,
		says: 'Server-sent events: `event:` is the type, `data:` is a RunEvent as JSON, `id:` is the value for `Last-Event-ID`. Ignore types that you do not know.',
	},
} as const;

/** The answers of an operation that starts a run. */
export const runAnswers = {
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
export const runOrSession = (says: string) =>
	({
		...runAnswers,
		200: {
			...runAnswers[200],
			says: `${runAnswers[200].says} ${says}`,
			json: v.union([runResult, session]),
			examples: { ...example.results, session: example.session },
		},
	}) as const;
