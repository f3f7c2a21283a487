import { createFieldError, type RunletError } from '../../../core/base/errors.ts';
import { readCallAnswers } from '../../../core/chat/call-answers.ts';
import type { Message, ToolMessage, UserMessage } from '../../../core/chat/index.ts';
import { contextName } from '../../wire/message.ts';
import { findInput, isFromOutside } from '../store/askers.ts';
import { findOpenCalls, type Pending } from '../store/calls.ts';
import { type Inbound, joinInbound } from '../store/inbound.ts';
import { type MessageRecord, messageStride, toTurnPlace } from '../store/messages.ts';
import { sessionStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

/** A message from outside, and the runs that answer it: several if calls waited for somebody, or if a run failed. */
export interface AskedMessage {
	/** Missing if the first run of the session began without a message. */
	readonly input: MessageRecord | undefined;
	readonly runs: readonly number[];
}

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

/** Finds the message to replace. Throws `invalid_request` if it is not from a person, or was already replaced. */
export function findReplaced(store: SessionStore, id: string): MessageRecord {
	const record = store.messages.get(Number(id));
	if (record !== undefined && isFromOutside(record) && record.isReplaced !== true) return store.messages.whole(record);
	const what = 'this is no message of a person in the history, or it was replaced. Read its id again.';
	throw createFieldError('invalid_request', 'replaces', what);
}

/** Returns a repeated message, or `newer` instead. For a call's answer, returns the call's whole turn. */
export function readRepeatedInput(store: SessionStore, record: MessageRecord, newer?: UserMessage): Message[] {
	const { message } = store.messages.whole(record);
	if (message.role !== 'tool') return [newer ?? message];
	const turn = toTurnPlace(record.seq);
	const others = store.messages.page({ from: turn, to: turn + messageStride }).records;
	const kept = others
		.filter(({ seq, message: { role } }) => seq !== record.seq && role !== 'system')
		.map((other) => store.messages.whole(other).message);
	const { content, parts } = newer ?? message;
	return [...kept, { ...message, content, parts }];
}

/** Returns the origin of a repeated message, with its listed id. The person who repeats it becomes an asker. */
export function repeatInbound({ seq, inbound }: MessageRecord, repeated: Inbound): Inbound {
	const { askers = [] } = joinInbound(inbound, repeated);
	const texts = askers.map((asker) => JSON.stringify(asker));
	const isOther = inbound !== undefined && JSON.stringify(inbound.by) !== JSON.stringify(repeated.by);
	const joined = (isOther || inbound?.askers !== undefined) && {
		askers: askers.filter((_, at) => texts.lastIndexOf(texts[at] ?? '') === at),
	};
	const { requestId, caller } = repeated;
	return {
		messageId: toListedId(seq),
		...(inbound ?? repeated),
		...joined,
		...(requestId !== undefined && { requestId, caller }),
	};
}

/** Returns the id that a page uses for a message to which its sender gave no id. */
export function toListedId(place: number): string {
	return `in_${place}`;
}

export interface PostedMessage {
	readonly message: UserMessage;
	readonly ownId: string | undefined;
	readonly isAgain: boolean;
	readonly messageId: string | undefined;
}

/**
 * Finds what a page's message refers to: its earlier run, or the message that it edits or repeats. Returns nothing for
 * a new message. A message whose run failed or was cancelled is repeated.
 */
export function findPlace(
	store: SessionStore,
	{ message, ownId, isAgain, messageId }: PostedMessage,
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

export function isAnswered(store: SessionStore, answers: readonly { readonly id: string }[]): boolean {
	const run = store.runs.get();
	if (run === undefined || findInput(store, run) !== undefined) return false;
	const message = store.messages.get(run.firstSeq)?.message;
	const calls = message?.role === 'assistant' ? (message.toolCalls ?? []) : [];
	return calls.some((call) => answers.some(({ id }) => id === call.id));
}

/** Finds a message from outside by its sender's id, by its listed id, or by the id of its answer. */
function findMessage(store: SessionStore, id: string | undefined): MessageRecord | undefined {
	if (id === undefined) return undefined;
	const place = /^(?:msg|in)_(\d{1,15})$/.exec(id)?.[1];
	const record = store.messages.findNamed(id) ?? (place === undefined ? undefined : store.messages.get(Number(place)));
	return record !== undefined && isFromOutside(record) ? store.messages.whole(record) : undefined;
}

/** Whether two messages say the same. The context that a page attaches may differ. */
export function isSameMessage(a: Message, b: Message): boolean {
	const toText = (message: Message) => {
		const parts = ('parts' in message && message.parts) || [{ kind: 'text', text: message.content }];
		return JSON.stringify(parts.filter(({ text }) => !String(text).startsWith(contextHead)));
	};
	return toText(a) === toText(b);
}

/** How the text of attached context begins. */
const contextHead = `Attached file ${JSON.stringify(contextName)}`;

/** Finds the results that are new to the session. Throws `invalid_request` if a call stays open. */
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

export function hasResults(store: SessionStore, results: readonly ToolMessage[]): boolean {
	const { records } = store.messages.page({ from: store.messages.lastTurn() });
	const taken = new Set(records.map(({ message }) => (message.role === 'tool' ? message.toolCallId : undefined)));
	return results.every(({ toolCallId }) => taken.has(toolCallId));
}

function createUnmatched(why: string): RunletError {
	return createFieldError('invalid_request', 'messages', `${why}.`);
}
