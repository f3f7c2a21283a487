import type { Message, Question, WaitingCall } from '../../../core/chat/index.ts';
import { listOpenCalls } from '../../../core/chat/message.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { CallRecord } from './calls.ts';
import { findLastReply, restoreText } from './run-end.ts';
import type { SessionStore } from './store.ts';

/** What a session waits for. */
export interface Pending {
	/** The last assistant message and the results behind it, or the last message. */
	readonly turn: readonly Message[];
	readonly question: Question | undefined;
	/** The calls that are still open; missing if the newest run left none. */
	readonly calls: readonly WaitingCall[] | undefined;
	/** When the run asked for them, in milliseconds since 1970. */
	readonly askedAt: number;
}

/** Finds what the newest run asked for and nobody has answered since. */
export function findPending(store: SessionStore): Pending {
	const { records } = store.messages.page({ from: store.messages.lastTurn() });
	const turn = records.map(({ message }) => message);
	const run = store.runs.get();
	const last = run?.end?.event;
	if (run === undefined || last?.type !== 'awaiting')
		return { turn, question: undefined, calls: undefined, askedAt: 0 };
	const event = restoreText(last, findLastReply(records, run.n));
	const asked = event.type === 'awaiting' ? event : last;
	const open = new Set(listOpenCalls(turn).map(({ id }) => id));
	const allowed = new Set(listApprovedCalls(store));
	const calls = asked.toolCalls?.filter(({ id, kind }) => open.has(id) && !(kind === 'approval' && allowed.has(id)));
	return { turn, question: asked.question, calls, askedAt: run.endedAt ?? 0 };
}

/** An open call of the last turn, and how far it has come. */
export interface OpenCall {
	readonly call: ToolCall;
	readonly noted: CallRecord | undefined;
}

/** Finds the open calls of the last turn. */
export function findOpenCalls(store: SessionStore): readonly OpenCall[] {
	const turn = store.messages.lastTurn();
	const messages = store.messages.page({ from: turn }).records.map(({ message }) => message);
	return listOpenCalls(messages).map((call) => ({ call, noted: store.calls.find(turn, call) }));
}

/** Lists the ids of open calls that a person has allowed with just these arguments. */
export function listApprovedCalls(store: SessionStore): readonly string[] {
	return findOpenCalls(store).flatMap(({ call, noted }) =>
		noted === undefined || noted.state === 'asked' ? [] : [call.id],
	);
}

/** Lists the questions that open calls have asked. */
export function listQuestions(store: SessionStore): readonly Question[] {
	return findOpenCalls(store).flatMap(({ noted }) => noted?.question ?? []);
}
