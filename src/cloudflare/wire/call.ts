import * as v from 'valibot';
import { isRecord } from '../../core/base/json.ts';
import { described } from './field.ts';
import { maxId, shortText } from './limits.ts';

export const toolCall = v.object({ id: v.string(), name: v.string(), input: v.unknown() });

export const label = v.picklist(['outside', 'private']);

/** What a message or the result of a call may have (docs/untrusted-text.md). */
export const labels = v.array(label);

export const labelledCall = v.object({
	...toolCall.entries,
	labels: v.optional(
		described(labels, '`outside`: strangers may have written its result. `private`: it has data of the owner or user.'),
	),
});

const flowSource = v.object({
	what: described(v.string(), 'What came in, such as the call that read it. At most 200 characters.'),
	message: v.optional(described(v.string(), 'The id of its message.')),
});

/** Why a call waits for a person although its tool needs no approval (docs/untrusted-text.md). */
export const flow = v.object({
	targets: described(v.array(v.string()), 'Where the call would send to.'),
	outside: described(v.array(flowSource), 'What strangers may have written, the newest first.'),
	private: described(v.array(flowSource), 'Data of the owner or of the user, the newest first.'),
});

export const waitingCall = v.object({
	...toolCall.entries,
	kind: v.optional(
		described(v.literal('approval'), 'The call waits for an approval. Without this field it waits for its result.'),
	),
	flow: v.optional(described(flow, 'Why it needs one, if it would send something out.')),
	preview: v.optional(described(v.string(), 'What it would do, as its tool says, such as a diff.')),
});

export const question = v.object({
	callId: described(v.string(), 'The call that waits for the answer.'),
	question: v.string(),
	options: v.optional(described(v.record(v.string(), v.unknown()), 'Free data for the page that shows the question.')),
});

const callId = v.pipe(shortText(maxId), v.nonEmpty());

export const resultEntry = v.strictObject({
	id: callId,
	output: described(v.unknown(), 'Any JSON.'),
	isError: v.optional(v.boolean()),
});

/** The arguments of a call, with all names. `v.record` leaves out names such as `constructor`. */
export const toolArguments = v.custom<Record<string, unknown>>(isRecord, 'must be an object');

/** The maximum number of characters of edited arguments, as JSON. */
const longestEdit = 100_000;

export const ranWith = v.optional(
	described(v.record(v.string(), v.unknown()), 'The arguments that the call ran with, if a person changed them.'),
);

export const approvalEntry = v.strictObject({
	id: callId,
	approve: v.boolean(),
	reason: v.optional(v.pipe(v.string(), v.maxLength(2_000), v.description('Shown to the model.'))),
	input: v.optional(
		v.pipe(
			toolArguments,
			v.check((input) => JSON.stringify(input).length <= longestEdit, `at most ${longestEdit} characters of JSON`),
			v.description('With an approval: the arguments to run the call with, in place of those that were asked for.'),
		),
	),
});

/** The limit is far above the number of calls in a turn. */
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

/** Checks a value by the schema that `choose` returns, so errors fit that schema. The API document lists `options`. */
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
	output: v.optional(described(v.unknown(), 'The result. Missing while the call runs.')),
	isError: v.optional(v.boolean()),
});

export const source = v.object({
	id: v.string(),
	url: v.optional(v.string()),
	title: v.optional(v.string()),
	quote: v.optional(described(v.string(), 'The cited words of the source.')),
});
