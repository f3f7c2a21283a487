import * as v from 'valibot';
import { isRecord } from '../../core/ground/json.ts';
import { pickSchema } from './chosen.ts';
import { maxId, shortText } from './length.ts';

/** A tool call of a model. */
export const toolCall = v.object({ id: v.string(), name: v.string(), input: v.unknown() });

/** A call that waits for somebody. */
export const waitingCall = v.object({
	...toolCall.entries,
	kind: v.optional(
		v.pipe(v.literal('approval'), v.description('It waits for the word that it may run; without it, for its result.')),
	),
});

/** A question that a tool put to the person. */
export const question = v.object({
	callId: v.pipe(v.string(), v.description('The call that waits for the answer.')),
	question: v.string(),
	options: v.optional(v.pipe(v.record(v.string(), v.unknown()), v.description('Free data for whoever shows it.'))),
});

const callId = v.pipe(shortText(maxId), v.nonEmpty());

/** The result of a call that somebody else carried out. */
export const resultEntry = v.strictObject({
	id: callId,
	output: v.pipe(v.unknown(), v.description('Any JSON.')),
	isError: v.optional(v.boolean()),
});

/** Whether a call may run. */
export const approvalEntry = v.strictObject({
	id: callId,
	approve: v.boolean(),
	reason: v.optional(v.pipe(v.string(), v.maxLength(2_000), v.description('Told to the model.'))),
});

/** Answers to calls that wait. More than a turn's calls would be a mistake. */
export const resultsBody = v.pipe(
	v.array(v.unknown(), 'must be a list of results, [{ "id", "output" }], or of approvals, [{ "id", "approve" }]'),
	v.minLength(1, 'must hold a result'),
	v.maxLength(1_000),
	v.array(
		pickSchema([approvalEntry, resultEntry], (entry) =>
			isRecord(entry) && 'approve' in entry ? approvalEntry : resultEntry,
		),
	),
);
