import { createFieldError, type RunletError } from '../base/errors.ts';
import type { ToolCall } from '../tool/index.ts';
import type { CallEdit, WaitingCall } from './event.ts';
import { type Message, type ToolMessage, toolResultMessage } from './message.ts';

/** The answer to a waiting call: its result, or the decision whether to run it. */
export type CallAnswer =
	| { readonly id: string; readonly output: unknown; readonly isError?: boolean }
	| {
			readonly id: string;
			readonly approve: boolean;
			readonly reason?: string;
			/** Checked arguments that replace the model's arguments of the call. */
			readonly input?: Readonly<Record<string, unknown>>;
	  };

export interface PendingCalls {
	/** The last assistant message and its results. */
	readonly turn: readonly Message[];
	/** The calls that are still open. */
	readonly calls?: readonly WaitingCall[];
	/** When the run asked for the answers, in milliseconds since 1970. */
	readonly askedAt: number;
}

export interface ReadAnswers {
	readonly messages: readonly ToolMessage[];
	readonly approved: readonly ToolCall[];
	readonly edits: readonly CallEdit[];
	/** Whether no call is open after the answers. */
	readonly isLast: boolean;
}

/**
 * Checks answers against the open calls. Throws before anything changes: `conflict` for an answered or expired call,
 * and `invalid_request` for an unknown call or a wrong kind of answer.
 */
export function readCallAnswers(
	{ turn, calls = [], askedAt }: PendingCalls,
	answers: readonly CallAnswer[],
	{ approvalMs, everAsked }: { readonly approvalMs: number; readonly everAsked: ReadonlySet<string> },
): ReadAnswers {
	const left = new Map(calls.map((call) => [call.id, call]));
	const messages: ToolMessage[] = [];
	const approved: ToolCall[] = [];
	const edits: CallEdit[] = [];
	for (const answer of answers) {
		const { id } = answer;
		const call = left.get(id);
		if (call === undefined) throw createNotOpen(id, turn, calls, everAsked);
		left.delete(id);
		if (call.kind === 'approval') {
			if (!('approve' in answer))
				throw createFieldError('invalid_request', 'id', `"${id}" waits for approve, not for a result.`);
			if (!answer.approve && answer.input !== undefined)
				throw createFieldError('invalid_request', 'input', 'only for a call that may run.');
			const { reason } = answer;
			const denial = `A person did not allow this call${reason === undefined ? '.' : `: ${reason}`}`;
			if (!answer.approve) messages.push(toolResultMessage({ id, output: denial, isError: true }));
			else if (Date.now() > askedAt + approvalMs)
				throw createFieldError('conflict', 'id', `"${id}" was asked too long ago: deny it.`);
			else {
				approved.push(call);
				if (answer.input !== undefined) edits.push({ callId: id, input: answer.input });
			}
		} else {
			if ('approve' in answer)
				throw createFieldError('invalid_request', 'id', `"${id}" waits for a result, not for approve.`);
			messages.push(toolResultMessage({ id, output: answer.output, isError: answer.isError === true }));
		}
	}
	return { messages, approved, edits, isLast: left.size === 0 };
}

/** Finds the answers that fit open calls. The last answer to a call counts. */
export function findOpenAnswers(
	calls: readonly WaitingCall[] = [],
	answers: readonly CallAnswer[],
): readonly CallAnswer[] {
	return calls.flatMap(
		({ id, kind }) =>
			answers.findLast((answer) => answer.id === id && 'approve' in answer === (kind === 'approval')) ?? [],
	);
}

function createNotOpen(
	id: string,
	turn: readonly Message[],
	calls: readonly ToolCall[],
	everAsked: ReadonlySet<string>,
): RunletError {
	const wasAsked =
		everAsked.has(id) ||
		turn.some((message) => message.role === 'assistant' && message.toolCalls?.some((call) => call.id === id));
	if (calls.some((call) => call.id === id))
		return createFieldError('invalid_request', 'id', `"${id}" is answered twice here.`);
	if (wasAsked) return createFieldError('conflict', 'id', `"${id}" is answered already, and the first answer counts.`);
	const open = calls.map((call) => call.id).join(', ');
	return createFieldError('invalid_request', 'id', `no call "${id}" waits for an answer. Open: ${open || 'none'}.`);
}
