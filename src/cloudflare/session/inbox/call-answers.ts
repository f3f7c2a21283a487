import { type Message, type ToolMessage, toolResultMessage, type WaitingCall } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { CallAnswer } from '../../rpc/session.ts';
import { findOpenCalls, type Pending } from '../store/calls.ts';
import { sessionStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';

/** Answers to open calls, read. */
export interface ReadAnswers {
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
export function readCallAnswers(
	{ turn, calls = [], askedAt }: Pick<Pending, 'turn' | 'calls' | 'askedAt'>,
	answers: readonly CallAnswer[],
	{ approvalMs, everAsked }: { readonly approvalMs: number; readonly everAsked: ReadonlySet<string> },
): ReadAnswers {
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
	answers: readonly CallAnswer[],
): readonly CallAnswer[] {
	return calls.flatMap(({ id, kind }) => {
		const given = answers.findLast((answer) => answer.id === id && 'approve' in answer === (kind === 'approval'));
		return given ?? [];
	});
}

/** The results that the session does not have yet. Throws `invalid_request` where a call stays open after them. */
export function findNewResults(
	store: SessionStore,
	results: readonly ToolMessage[],
	pending: Pending,
): readonly ToolMessage[] {
	if (results.length === 0) return [];
	const run = store.runs.get();
	if (run !== undefined && sessionStatus(run.status) === 'error') return [];
	if (run === undefined) {
		const open = new Set(findOpenCalls(store).map(({ call }) => call.id));
		const isComplete = results.every(({ toolCallId }) => open.delete(toolCallId)) && open.size === 0;
		if (isComplete) return results;
		throw createUnmatched(
			'the session is new, so its messages must hold the calls that these results answer, and all of them',
		);
	}
	const answers = results.map(({ toolCallId: id, content: output, isError }) => ({ id, output, isError }));
	const everAsked = store.calls.listAskedIds();
	const { messages, isLast } = readCallAnswers(pending, answers, { approvalMs: 0, everAsked });
	if (!isLast) throw createUnmatched('other calls of the newest answer have no result yet. Send all of them together');
	return messages;
}

/** Whether all of these stand in the last turn already. */
export function hasResults(store: SessionStore, results: readonly ToolMessage[]): boolean {
	const { records } = store.messages.page({ from: store.messages.lastTurn() });
	const taken = new Set(records.map(({ message }) => (message.role === 'tool' ? message.toolCallId : undefined)));
	return results.every(({ toolCallId }) => taken.has(toolCallId));
}

function createUnmatched(why: string): RunletError {
	return new RunletError('invalid_request', `messages: ${why}.`, { field: 'messages' });
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
