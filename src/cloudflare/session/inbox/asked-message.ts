import type { Message, UserMessage } from '../../../core/chat/index.ts';
import type { Inbound } from '../store/inbound.ts';
import { type MessageRecord, messageStride, toTurnPlace } from '../store/messages.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';

/** A message from outside and the runs that answer it: more than one where calls waited for somebody, or one failed. */
export interface AskedMessage {
	/** The message; missing where the session's first run began without one. */
	readonly input: MessageRecord | undefined;
	/** Their numbers, oldest first. */
	readonly runs: readonly number[];
}

/** The message that a run answers. */
export function findAskedMessage(store: SessionStore, n: number): AskedMessage {
	const runs: number[] = [];
	for (let at = n; at > 0; at--) {
		const run = store.runs.get(at);
		if (run === undefined) break;
		runs.unshift(at);
		const input = findInput(store, run);
		if (input !== undefined) return { input, runs };
	}
	return { input: undefined, runs };
}

/** The message that a run began with; nothing for one that took up another. */
export function findInput(store: SessionStore, { n, firstSeq }: RunRecord): MessageRecord | undefined {
	const { records } = store.messages.page({ from: firstSeq, to: firstSeq + messageStride });
	return records.find((record) => record.run === n && isFromOutside(record));
}

/** Whether a message came from outside: the answer to a tool's question did, the result of a call did not. */
export function isFromOutside({ message, input, inbound }: MessageRecord): boolean {
	return input === true && (message.role === 'user' || inbound !== undefined);
}

/** What stands in the history where a message is asked again: itself or a newer text, and where it answered a question, that question. */
export function readRepeatedInput(store: SessionStore, record: MessageRecord, newer?: UserMessage): Message[] {
	const { message } = store.messages.whole(record);
	if (message.role !== 'tool') return [newer ?? message];
	const turn = toTurnPlace(record.seq);
	const others = store.messages.page({ from: turn, to: turn + messageStride }).records;
	const kept = others
		.filter(({ seq, message: { role } }) => seq !== record.seq && role !== 'system')
		.map((one) => store.messages.whole(one).message);
	const { content, parts } = newer ?? message;
	return [...kept, { ...message, content, parts }];
}

/** What is known of a message that is asked again: it keeps the name that it is listed under. */
export function repeatInbound({ seq, inbound }: MessageRecord, given: Inbound): Inbound {
	return { messageId: toListedId(seq), ...(inbound ?? given) };
}

/** What a message is called in a page's list whose sender did not call it anything. */
export function toListedId(place: number): string {
	return `in_${place}`;
}

/** What a page's message is to the session. */
export interface Posted {
	readonly message: UserMessage;
	/** The page's id of it. */
	readonly ownId: string | undefined;
	/** Whether the answer is asked for again. */
	readonly isAgain: boolean;
	/** The message that this is about: itself, where it is edited, or an answer. */
	readonly messageId: string | undefined;
}

/**
 * Where a page's message belongs: to a run that it began when it came before, or into the place of a message of the
 * session, itself or edited. Nothing for a new one. A run that failed or was cancelled is no answer: its message is asked
 * again.
 */
export function findPlace(
	store: SessionStore,
	{ message, ownId, isAgain, messageId }: Posted,
): { readonly run: number } | { readonly record: MessageRecord; readonly isEdited: boolean } | undefined {
	const own = findMessage(store, ownId);
	const meant = findMessage(store, messageId) ?? own;
	const newest = store.runs.get();
	if (meant === undefined || newest === undefined) return undefined;
	const { input } = findAskedMessage(store, newest.n);
	const hasFailed = newest.status === 'error' || newest.status === 'cancelled';
	if (isAgain) {
		const cameBefore = input?.replaces !== undefined && (messageId === undefined || input.replaces === meant.seq);
		const isWritten = messageId === undefined ? newest.status === 'running' : !hasFailed;
		if (cameBefore && isWritten) return { run: newest.n };
		const again = meant.isReplaced === true ? (own?.isReplaced === true ? input : (own ?? input)) : meant;
		return again && { record: again, isEdited: false };
	}
	if (own === undefined || own.isReplaced === true) return undefined;
	if (!isSameMessage(own.message, message)) return { record: own, isEdited: true };
	if (own.seq === input?.seq) return hasFailed ? { record: own, isEdited: false } : { run: newest.n };
	return messageId === ownId ? { record: own, isEdited: false } : { run: own.run };
}

/** Whether the newest run goes on from calls that these answer. */
export function isAnswered(store: SessionStore, answers: readonly { readonly id: string }[]): boolean {
	const run = store.runs.get();
	if (run === undefined || findInput(store, run) !== undefined) return false;
	const message = store.messages.get(run.firstSeq)?.message;
	const calls = message?.role === 'assistant' ? (message.toolCalls ?? []) : [];
	return calls.some((call) => answers.some(({ id }) => id === call.id));
}

/** The message from outside that its sender calls so, or that is listed under that name; of an answer that which it answers. */
function findMessage(store: SessionStore, id: string | undefined): MessageRecord | undefined {
	if (id === undefined) return undefined;
	const place = /^(?:msg|in)_(\d{1,15})$/.exec(id)?.[1];
	const record = store.messages.findNamed(id) ?? (place === undefined ? undefined : store.messages.get(Number(place)));
	return record !== undefined && isFromOutside(record) ? store.messages.whole(record) : undefined;
}

/** Whether two messages from outside say the same. */
export function isSameMessage(a: Message, b: Message): boolean {
	const said = (message: Message) => JSON.stringify([message.content, 'parts' in message ? message.parts : undefined]);
	return said(a) === said(b);
}
