import type { Message, TerminalEvent } from '../../../core/chat/index.ts';
import { type MessageRecord, messageStride } from './messages.ts';
import type { RunEnd } from './runs.ts';
import type { SessionStore } from './store.ts';

/** Characters of each part of a stored end: together, and escaped as JSON, they fit the 2 MB of a row. */
export const longestPart = 100_000;

/** Shortens the end of a run so that it fits a row. */
export function shortenRunEnd({ before, event, ...rest }: RunEnd): RunEnd {
	let room = longestPart;
	const kept = before.filter((side) => {
		room -= JSON.stringify(side).length;
		return room > 0;
	});
	return { ...rest, before: kept, event: shortenEvent(event) };
}

function shortenEvent(event: TerminalEvent): TerminalEvent {
	if (JSON.stringify(event).length <= longestPart) return event;
	if (event.type === 'error') return { type: 'error', code: event.code, message: event.message.slice(0, 10_000) };
	if (event.type === 'halted') return { type: 'halted', reason: event.reason.slice(0, 10_000) };
	if (event.type !== 'awaiting' || event.question === undefined) return event;
	const { callId, question } = event.question;
	return { ...event, question: { callId, question: question.slice(0, 10_000) } };
}

/** Returns a run's last event without what the messages hold already, so that it fits a row. */
export function dropText(event: TerminalEvent): TerminalEvent {
	if (event.type === 'done') return { ...event, text: '' };
	if (event.type !== 'awaiting' || event.toolCalls === undefined) return event;
	return { ...event, toolCalls: event.toolCalls.map((call) => ({ ...call, input: null })) };
}

/** Finds the last assistant message up to a run. */
export function findLastReply(records: readonly MessageRecord[], run: number): Message | undefined {
	return records.findLast(({ message, run: n }) => n <= run && message.role === 'assistant')?.message;
}

/** Returns the whole event again. `last` is the run's last assistant message. */
export function restoreText(event: TerminalEvent, last: Message | undefined): TerminalEvent {
	if (last?.role !== 'assistant') return event;
	if (event.type === 'done') return { ...event, text: last.content };
	if (event.type !== 'awaiting' || event.toolCalls === undefined) return event;
	const inputs = new Map(last.toolCalls?.map(({ id, input }) => [id, input]));
	return { ...event, toolCalls: event.toolCalls.map((call) => ({ ...call, input: inputs.get(call.id) })) };
}

/** Returns the messages of a run, and those of its neighbours in the same turn. */
export function findRunMessages(store: SessionStore, n: number, from: number): readonly MessageRecord[] {
	const next = store.runs.get(n + 1)?.firstSeq;
	const { records } = store.messages.page({ from, to: next && next + messageStride });
	return records.map((record) => store.messages.whole(record));
}
