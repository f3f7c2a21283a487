import * as v from 'valibot';
import { toolArguments, waitingCall } from './call.ts';
import { errorBody } from './error.ts';
import { described } from './field.ts';
import { maxName, shortText } from './limits.ts';
import { shownPart } from './message.ts';

const schema = v.record(v.string(), v.unknown());

/** The tools of an agent that can be called without a run (docs/tools.md, "Call one alone"). */
export const agentTools = v.object({
	tools: v.array(
		v.object({
			name: v.string(),
			description: v.optional(v.string()),
			inputSchema: described(schema, 'The JSON Schema of its arguments.'),
			outputSchema: v.optional(described(schema, 'The JSON Schema of its results.')),
			manual: v.optional(described(v.literal(true), 'A person gives its results, so a call of it runs nothing.')),
		}),
	),
});

const session = v.optional(
	described(
		v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)),
		'The id of a session, or a name of your own. The tool has its files and its state. The default is your session for calls.',
	),
);

export const toolSession = v.strictObject({ session });

const waiting = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, 'must be the `waiting` of an answer'));

export const toolCallBody = v.strictObject({
	tool: v.pipe(shortText(maxName), v.nonEmpty()),
	input: v.optional(described(toolArguments, 'The arguments.'), {}),
	session,
	answer: v.optional(
		described(
			v.pipe(
				v.strictObject({
					waiting,
					approve: v.optional(described(v.boolean(), 'Whether the call may run.')),
					output: v.optional(described(v.unknown(), 'The result of the call, or the answer to its question.')),
				}),
				v.check(
					({ approve, output }) => (approve === undefined) !== (output === undefined),
					'needs `approve` or `output`',
				),
			),
			'The answer of a person to the same call, which waits for it.',
		),
	),
});

export type ToolCallBody = v.InferOutput<typeof toolCallBody>;

const notes = described(
	v.array(v.object({ label: v.string(), detail: v.optional(v.string()) })),
	'What the tool reported while it ran. At most 100.',
);

export const toolCallEnd = v.variant('type', [
	v.object({
		type: v.literal('result'),
		output: described(v.unknown(), 'Any JSON.'),
		isError: v.boolean(),
		parts: v.optional(described(v.array(shownPart), 'The result in parts. The output is its text.')),
		notes,
	}),
	v.object({
		type: v.literal('waits'),
		for: described(v.picklist(['approval', 'result', 'answer']), 'What a person has to give.'),
		waiting: described(waiting, 'The name of the waiting call, for ten minutes.'),
		preview: waitingCall.entries.preview,
		question: v.optional(v.string()),
		options: v.optional(v.record(v.string(), v.unknown())),
		notes,
	}),
	v.object({
		type: described(
			v.literal('failed'),
			'The call failed after more than a second. Earlier failures have their own status.',
		),
		...errorBody.entries,
	}),
]);
