import type { Message, UserMessage } from '../chat/index.ts';
import { type MessageRecord, messageStride, turnOf } from './rows/message.ts';
import type { RunRecord } from './rows/run.ts';
import type { SessionStore } from './store.ts';

/** A message from outside and the runs that answer it: more than one where calls waited for somebody, or one failed. */
export interface Exchange {
	/** The message; missing where the session's first run began without one. */
	readonly input: MessageRecord | undefined;
	/** Their numbers, oldest first. */
	readonly runs: readonly number[];
}

/** The exchange that a run belongs to. */
export function exchangeOf(store: SessionStore, n: number): Exchange {
	const runs: number[] = [];
	for (let at = n; at > 0; at--) {
		const run = store.runs.get(at);
		if (run === undefined) break;
		runs.unshift(at);
		const input = inputOf(store, run);
		if (input !== undefined) return { input, runs };
	}
	return { input: undefined, runs };
}

/** The message that a run began with; nothing for one that took up another. */
export function inputOf(store: SessionStore, { n, firstSeq }: RunRecord): MessageRecord | undefined {
	const { records } = store.messages.page({ from: firstSeq, to: firstSeq + messageStride });
	return records.find((record) => record.run === n && isFromOutside(record));
}

/** Whether a message came from outside: the answer to a tool's question did, the result of a call did not. */
export function isFromOutside({ message, input, inbound }: MessageRecord): boolean {
	return input === true && (message.role === 'user' || inbound !== undefined);
}

/** What stands in the history where a message is asked again: itself or a newer text, and where it answered a question, that question. */
export function askedAgain(store: SessionStore, record: MessageRecord, newer?: UserMessage): Message[] {
	const { message } = record;
	if (message.role !== 'tool') return [newer ?? message];
	const turn = turnOf(record.seq);
	const others = store.messages.page({ from: turn, to: turn + messageStride }).records;
	const kept = others.filter(({ seq }) => seq !== record.seq).map((one) => store.messages.whole(one).message);
	const { content, parts } = newer ?? message;
	return [...kept, { ...message, content, ...(parts !== undefined && { parts }) }];
}

/** Whether two messages from outside say the same. */
export function saysTheSame(a: Message, b: Message): boolean {
	const said = (message: Message) => JSON.stringify([message.content, 'parts' in message ? message.parts : undefined]);
	return said(a) === said(b);
}
