import * as v from 'valibot';
import type { Actor } from '../../core/base/actor.ts';
import { createFieldError } from '../../core/base/errors.ts';
import { isTooDeep } from '../../core/base/json.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import type { FlowReason } from '../../core/chat/flow.ts';
import type { Question } from '../../core/chat/index.ts';
import type { ToolCall } from '../../core/tool/index.ts';
import { approvalEntry, flow, toolCall } from '../wire/call.ts';

/** A decision about a child's call. It can change the arguments (docs/agents.md, "Agents that work for an agent"). */
export type Decision = Extract<CallAnswer, { readonly approve: boolean }> & {
	readonly by?: Actor;
};

/** The maximum length of an approval question as JSON. A row also holds the names of the agents that pass it on. */
export const longestAsked = 90_000;

const askedCall = v.object({
	kind: v.literal('approval'),
	child: v.object({ agent: v.string() }),
	call: toolCall,
	flow: v.optional(flow),
	preview: v.optional(v.string()),
	through: v.optional(v.array(v.string()), []),
});

export interface AskedCall {
	readonly agent: string;
	readonly call: ToolCall;
	/** Why it waits, if it would send something out. */
	readonly flow?: FlowReason;
	readonly preview?: string;
	/** The agents between the child and the session that asks. */
	readonly through: readonly string[];
}

/** Finds the call in a question. Only a sender with the right to decide may approve the call. */
export function findAskedCall(question: Question | undefined): AskedCall | undefined {
	const read = v.safeParse(askedCall, question?.options);
	if (!read.success) return undefined;
	const { child, call, flow, preview, through } = read.output;
	return { agent: child.agent, call, through, ...(flow && { flow }), ...(preview !== undefined && { preview }) };
}

/**
 * Reads the answer to an approval question: `approve`, or `approve` with changed arguments as a JSON object. Any other
 * answer denies the call. The text after `deny` is the reason. Throws `invalid_request` for arguments that are no JSON
 * object, or are too long or nested too deep.
 */
export function readDecision(id: string, answer: string): Decision {
	const text = answer.trim();
	const consent = /^approve(?:\s*(\{.*))?$/is.exec(text);
	if (consent === null) {
		const reason = text.replace(/^deny\b[\s:,]*/i, '');
		return { id, approve: false, ...(reason !== '' && { reason }) };
	}
	const [, changed] = consent;
	if (changed === undefined) return { id, approve: true };
	const input = readInput(changed);
	const read = v.safeParse(v.required(approvalEntry, ['input']), { id, approve: true, input });
	if (read.success) return { ...read.output, approve: true };
	throw createFieldError(
		'invalid_request',
		'text',
		'the arguments behind approve are no JSON object, are too long or are nested too deep. Write approve {"field": "value"}.',
	);
}

function readInput(text: string): unknown {
	try {
		const input: unknown = JSON.parse(text);
		return isTooDeep(input) ? undefined : input;
	} catch {
		return undefined;
	}
}
