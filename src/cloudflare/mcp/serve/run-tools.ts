import * as v from 'valibot';
import { define } from '../../../core/tool/define.ts';
import type { Tool } from '../../../core/tool/index.ts';
import { toJsonSchema } from '../../../core/tool/schema.ts';
import { textField } from '../../wire/message.ts';

const text = v.pipe(textField, v.description('What you say to the agent'));
const sessionText = v.pipe(v.string(), v.nonEmpty(), v.maxLength(200));
const session = v.pipe(sessionText, v.description('The sessionId that agent_start or ask gave'));
const further = v.optional(
	v.pipe(
		sessionText,
		v.description(
			'Goes on with a conversation: the sessionId of an earlier answer, or a name of your own. New if missing',
		),
	),
);

export const runShown = v.object({
	sessionId: v.pipe(v.string(), v.description('The conversation, to go on with')),
	runId: v.optional(v.string()),
	status: v.pipe(
		v.string(),
		v.description('idle, running, awaiting_user, awaiting_tools, completed, halted, cancelled or error'),
	),
	text: v.optional(v.pipe(v.string(), v.description('The answer'))),
	usage: v.optional(v.record(v.string(), v.unknown())),
	pending: v.optional(
		v.pipe(v.array(v.record(v.string(), v.unknown())), v.description('What waits for a person: calls and a question')),
	),
	error: v.optional(v.object({ code: v.string(), message: v.string() })),
});
export type RunShown = v.InferOutput<typeof runShown>;

const outputSchema = toJsonSchema(runShown, 'runShown');
const readOnly = { readOnlyHint: true, openWorldHint: false };

export type RunOperation = 'ask' | 'start' | 'get' | 'cancel';

export interface RunTool {
	readonly operation: RunOperation;
	readonly tool: Tool;
	readonly annotations?: Readonly<Record<string, boolean>>;
}

/** Makes the tools for the agent as a whole. A name that the agent's own tools use gets the prefix `agent_`. */
export function createRunTools(agent: string, usedNames: ReadonlySet<string>): readonly RunTool[] {
	const named = (name: string): string => (usedNames.has(name) ? named(`agent_${name}`) : name);
	const make = (operation: RunOperation, name: string, description: string, inputSchema: v.GenericSchema) =>
		({ operation, tool: define({ name: named(name), description, inputSchema, outputSchema }) }) as const;
	const input = v.strictObject({ text, session: further });
	const about = v.strictObject({ session });
	return [
		make('ask', 'ask', `Ask the agent ${agent} and wait for its answer. Asked again it answers again.`, input),
		make(
			'start',
			'agent_start',
			`Give the agent ${agent} long work. Returns at once; agent_get has the answer.`,
			input,
		),
		{
			...make(
				'get',
				'agent_get',
				`See how far the agent ${agent} is in a session, and its answer when it is done.`,
				about,
			),
			annotations: readOnly,
		},
		{
			...make('cancel', 'agent_cancel', `Stop what the agent ${agent} does in a session.`, about),
			annotations: { idempotentHint: true, openWorldHint: false },
		},
	];
}
