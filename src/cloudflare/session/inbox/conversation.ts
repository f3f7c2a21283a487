import type { ToolMessage } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { ConversationUpdate } from '../../rpc/session.ts';
import { findOpenCalls } from '../store/calls.ts';
import { type Operation, sessionStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { readCallAnswers } from './call-answers.ts';
import type { Standing } from './gate.ts';

/**
 * What an update does: it brings a message, or answers open calls, or continues a run that has these answers and failed.
 * Throws `invalid_request` where it means another agent.
 */
export function chooseOperation(store: SessionStore, { agent, results }: ConversationUpdate): Operation {
	const own = store.session().agent;
	if (own !== agent) {
		const message = `model: this session is one of "${own}", not of "${agent}". Name that, or leave Runlet-Session out.`;
		throw new RunletError('invalid_request', message, { field: 'model' });
	}
	const run = store.runs.get();
	if (run === undefined || results.length === 0) return 'reply';
	return sessionStatus(run.status) === 'error' && hasResults(store, results) ? 'continue' : 'submit';
}

/** The results that the session does not have yet. Throws `invalid_request` where a call stays open after them. */
export function findNewResults(
	store: SessionStore,
	{ results }: ConversationUpdate,
	{ pending }: Standing,
): readonly ToolMessage[] {
	if (results.length === 0) return [];
	const run = store.runs.get();
	if (run !== undefined && sessionStatus(run.status) === 'error') return [];
	if (run === undefined) {
		const open = new Set(findOpenCalls(store).map(({ call }) => call.id));
		const isComplete = results.every(({ toolCallId }) => open.delete(toolCallId)) && open.size === 0;
		if (isComplete) return results;
		throw createRefusal(
			'the session is new, so its messages must hold the calls that these results answer, and all of them',
		);
	}
	const answers = results.map(({ toolCallId: id, content: output, isError }) => ({ id, output, isError }));
	const everAsked = store.calls.listAskedIds();
	const { messages, isLast } = readCallAnswers(pending, answers, { approvalMs: 0, everAsked });
	if (!isLast) throw createRefusal('other calls of the newest answer have no result yet. Send all of them together');
	return messages;
}

/** Whether all of these stand in the last turn already. */
function hasResults(store: SessionStore, results: readonly ToolMessage[]): boolean {
	const { records } = store.messages.page({ from: store.messages.lastTurn() });
	const taken = new Set(records.map(({ message }) => (message.role === 'tool' ? message.toolCallId : undefined)));
	return results.every(({ toolCallId }) => taken.has(toolCallId));
}

function createRefusal(why: string): RunletError {
	return new RunletError('invalid_request', `messages: ${why}.`, { field: 'messages' });
}
