import * as v from 'valibot';
import { isRecord } from '../../core/base/json.ts';
import { maxId, shortText } from './limits.ts';

/** A tool call of a model. */
export const toolCall = v.object({ id: v.string(), name: v.string(), input: v.unknown() });

/** A tool call that waits for an approval or a result. */
export const waitingCall = v.object({
	...toolCall.entries,
	kind: v.optional(
		v.pipe(
			v.literal('approval'),
			v.description('The call waits for an approval. Without this field it waits for its result.'),
		),
	),
});

/** A question that a tool asks the user. */
export const question = v.object({
	callId: v.pipe(v.string(), v.description('The call that waits for the answer.')),
	question: v.string(),
	options: v.optional(
		v.pipe(v.record(v.string(), v.unknown()), v.description('Free data for the page that shows the question.')),
	),
});

const callId = v.pipe(shortText(maxId), v.nonEmpty());

/** The result of a call that the client ran. */
export const resultEntry = v.strictObject({
	id: callId,
	output: v.pipe(v.unknown(), v.description('Any JSON.')),
	isError: v.optional(v.boolean()),
});

/** The longest arguments that a person may give, in characters of their JSON. */
const longestEdit = 100_000;

/** The arguments of a call that a person replaced. */
export const ranWith = v.optional(
	v.pipe(
		v.record(v.string(), v.unknown()),
		v.description('The arguments that the call ran with, if a person changed them.'),
	),
);

/** Whether a call may run. */
export const approvalEntry = v.strictObject({
	id: callId,
	approve: v.boolean(),
	reason: v.optional(v.pipe(v.string(), v.maxLength(2_000), v.description('Shown to the model.'))),
	input: v.optional(
		v.pipe(
			v.unknown(),
			v.check(isRecord, 'must be an object'),
			v.record(v.string(), v.unknown()),
			v.check((input) => JSON.stringify(input).length <= longestEdit, `at most ${longestEdit} characters of JSON`),
			v.description('With an approval: the arguments to run the call with, in place of those that were asked for.'),
		),
	),
});

/** Answers to waiting calls. The limit is far above the number of calls in a turn. */
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

/**
 * Checks a value by the schema that `choose` returns, so an error message is about this schema. `options` lists all schemas
 * for the OpenAPI document.
 */
function pickSchema<const O extends readonly v.GenericSchema[]>(
	options: O,
	choose: (value: unknown) => O[number],
): v.LazySchema<O[number]> & { readonly options: O } {
	return Object.assign(v.lazy(choose), { options });
}

/** A call of a tool that the provider ran. */
export const providerCall = v.object({
	id: v.string(),
	name: v.string(),
	input: v.optional(v.unknown()),
	output: v.optional(v.pipe(v.unknown(), v.description('What came of it. It is missing while the call runs.'))),
	isError: v.optional(v.boolean()),
});

/** A source that a text cites. */
export const source = v.object({
	id: v.string(),
	url: v.optional(v.string()),
	title: v.optional(v.string()),
	quote: v.optional(v.pipe(v.string(), v.description('The cited words of the source.'))),
});
