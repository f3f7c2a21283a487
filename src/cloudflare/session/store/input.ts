import type { MessageRecord } from './message-record.ts';
import { messageStride } from './place.ts';
import type { RunRecord } from './runs.ts';
import type { SessionStore } from './store.ts';

/** Finds the message that started a run. Returns `undefined` for a run that continues another one. */
export function findInput(store: SessionStore, { n, firstSeq }: RunRecord): MessageRecord | undefined {
	const { records } = store.messages.page({ from: firstSeq, to: firstSeq + messageStride });
	return records.find((record) => record.run === n && isFromOutside(record));
}

/** Whether a message came from outside. The answer to a tool's question did, and the result of a call did not. */
export function isFromOutside({ message, input, inbound }: MessageRecord): boolean {
	return input === true && (message.role === 'user' || inbound !== undefined);
}
