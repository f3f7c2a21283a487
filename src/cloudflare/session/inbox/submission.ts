import { type Message, type ToolMessage, toolResultMessage, type WaitingCall } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/errors.ts';
import { copyData } from '../../../core/tool/copy.ts';
import { findByCall } from '../../../core/tool/define.ts';
import type { Tool, ToolCall } from '../../../core/tool/index.ts';
import { isRecord } from '../../../core/tool/schema.ts';
import type { Submission } from '../../rpc/session.ts';
import type { CallRecord } from '../store/call.ts';
import type { OpenCall, Pending } from './pending.ts';

/** What answers to open calls come to. */
export interface Submitted {
	readonly messages: readonly ToolMessage[];
	/** Calls that were allowed. */
	readonly approved: readonly ToolCall[];
	/** Whether nothing is open after them. */
	readonly isLast: boolean;
}

/**
 * Answers from outside, held against what the session itself asked. Throws before anything changes: `conflict` for a
 * call that has its answer, or whose time is over; `invalid_request` for one that was never asked, or not in this way.
 */
export function readSubmissions(
	{ turn, calls = [], askedAt }: Pick<Pending, 'turn' | 'calls' | 'askedAt'>,
	answers: readonly Submission[],
	{ approvalMs, everAsked }: { readonly approvalMs: number; readonly everAsked: ReadonlySet<string> },
): Submitted {
	const left = new Map(calls.map((call) => [call.id, call]));
	const messages: ToolMessage[] = [];
	const approved: ToolCall[] = [];
	for (const answer of answers) {
		const { id } = answer;
		const call = left.get(id);
		if (call === undefined) throw createNotOpen(id, turn, calls, everAsked);
		left.delete(id);
		if (call.kind === 'approval') {
			if (!('approve' in answer))
				throw createRefusal('invalid_request', `id: "${id}" waits for approve, not for a result.`);
			if (!answer.approve) messages.push(createDenial(id, answer.reason));
			else if (Date.now() > askedAt + approvalMs)
				throw createRefusal('conflict', `id: "${id}" was asked too long ago: deny it.`);
			else approved.push(call);
		} else {
			if ('approve' in answer)
				throw createRefusal('invalid_request', `id: "${id}" waits for a result, not for approve.`);
			messages.push(toolResultMessage({ id, output: answer.output, isError: answer.isError === true }));
		}
	}
	return { messages, approved, isLast: left.size === 0 };
}

/** Of answers that somebody posts again and again those to calls that still wait for just such an answer, the last to each. */
export function findOpenAnswers(
	calls: readonly WaitingCall[] = [],
	answers: readonly Submission[],
): readonly Submission[] {
	return calls.flatMap(({ id, kind }) => {
		const given = answers.findLast((answer) => answer.id === id && 'approve' in answer === (kind === 'approval'));
		return given ?? [];
	});
}

/**
 * What is said to the model about calls that a run had begun when it was cut off: nobody knows what came of them, so
 * they are not run again, but for those of tools that may be. Calls that had not begun, or that wait for somebody, stay
 * open.
 *
 * @param journaled whether the run noted the calls that it began; of one that did not, all may have.
 */
export function createUnknownResults(
	open: readonly OpenCall[],
	tools: readonly Tool[],
	journaled: boolean,
): readonly ToolMessage[] {
	const output =
		'The run was cut off, so it is not known whether this call was carried out. Look before you call it again.';
	return open.flatMap(({ call: { id, name, input }, noted }) => {
		// Whoever takes a run up runs nothing of a tool's before that is stored: it may be what ended the last life.
		const mayHaveBegun = journaled ? noted?.state === 'begun' : mayRun(findByCall(tools, name), input, noted);
		return mayHaveBegun && noted?.question === undefined ? [toolResultMessage({ id, output, isError: true })] : [];
	});
}

/** Whether a run of an earlier version, which noted no calls, may have begun this one. */
function mayRun(tool: Tool | undefined, input: unknown, noted: CallRecord | undefined): boolean {
	if (tool?.fn === undefined || tool.manual === true || tool.retry === 'safe') return false;
	return noted !== undefined || !needsApproval(tool, input);
}

/** Whether a call was put before a person; it ran without where these arguments needed no approval. */
function needsApproval(tool: Tool | undefined, input: unknown): boolean {
	const need = tool?.needsApproval ?? false;
	if (typeof need === 'boolean') return need;
	try {
		const said = need(isRecord(input) ? copyData(input) : {});
		return typeof said === 'boolean' ? said : true;
	} catch {
		return true;
	}
}

function createDenial(id: string, reason: string | undefined): ToolMessage {
	const output = `A person did not allow this call${reason === undefined ? '.' : `: ${reason}`}`;
	return toolResultMessage({ id, output, isError: true });
}

function createNotOpen(
	id: string,
	turn: readonly Message[],
	calls: readonly ToolCall[],
	everAsked: ReadonlySet<string>,
): RunletError {
	const asked =
		everAsked.has(id) ||
		turn.some((message) => message.role === 'assistant' && message.toolCalls?.some((call) => call.id === id));
	if (calls.some((call) => call.id === id))
		return createRefusal('invalid_request', `id: "${id}" is answered twice here.`);
	if (asked) return createRefusal('conflict', `id: "${id}" is answered already, and the first answer counts.`);
	const open = calls.map((call) => call.id).join(', ');
	return createRefusal('invalid_request', `id: no call "${id}" waits for an answer. Open: ${open || 'none'}.`);
}

function createRefusal(code: string, message: string): RunletError {
	return new RunletError(code, message, { field: 'id' });
}
