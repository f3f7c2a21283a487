import * as v from 'valibot';
import type { Actor } from '../../core/base/actor.ts';
import { RunletError } from '../../core/base/errors.ts';
import { isTooDeep } from '../../core/base/json.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import type { Question } from '../../core/chat/index.ts';
import type { ToolCall } from '../../core/tool/index.ts';
import { approvalEntry, toolCall } from '../wire/call.ts';

/** Whether the call of a child may run, and with what (docs/agents.md, "Agents that work for an agent"). */
export type Decision = Extract<CallAnswer, { readonly approve: boolean }> & {
	/** Who decides. */
	readonly by?: Actor;
};

/**
 * The longest JSON of a question that asks for a decision. It fits a row whole, with those who pass it on: nobody decides
 * about what a row would cut off.
 */
export const longestAsked = 90_000;

const askedCall = v.object({
	kind: v.literal('approval'),
	child: v.object({ agent: v.string() }),
	call: toolCall,
	through: v.optional(v.array(v.string()), []),
});

/** A call of a child that waits for an approval. */
export interface AskedCall {
	/** The child's agent. */
	readonly agent: string;
	readonly call: ToolCall;
	/** The agents that passed the question on, between the child and the session that asks it. */
	readonly through: readonly string[];
}

/** Finds the call of a child that a question asks to approve. Who may only send messages may not give that. */
export function findAskedCall(question: Question | undefined): AskedCall | undefined {
	const read = v.safeParse(askedCall, question?.options);
	if (!read.success) return undefined;
	const { child, call, through } = read.output;
	return { agent: child.agent, call, through };
}

/**
 * Reads what a person answers to such a question: `approve`, or `approve` and other arguments as a JSON object. Any other
 * answer denies the call, and says why; `deny` in front of that is no part of it. Throws `invalid_request` for arguments that are no JSON object, too long or too deep.
 */
export function readDecision(id: string, answer: string): Decision {
	const said = answer.trim();
	const consent = /^approve(?:\s*(\{.*))?$/is.exec(said);
	if (consent === null) {
		const reason = said.replace(/^deny\b[\s:,]*/i, '');
		return { id, approve: false, ...(reason !== '' && { reason }) };
	}
	const [, text] = consent;
	if (text === undefined) return { id, approve: true };
	const input = readInput(text);
	const read = v.safeParse(v.required(approvalEntry, ['input']), { id, approve: true, input });
	if (read.success) return { ...read.output, approve: true };
	throw new RunletError(
		'invalid_request',
		'text: the arguments behind approve are no JSON object, are too long or are nested too deep. Write approve {"field": "value"}.',
		{ field: 'text' },
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
