/** The messages of a recorded run: what it began with, what it produced, and what came in between. */

import { toMessage } from '../cloudflare/session/inbox/imported.ts';
import { readSummary } from '../core/chat/summary.ts';
import { chat, type Message } from '../core/index.ts';
import { findPlace, type RecordedMessage, type RecordedRun, type Recording } from './recording.ts';

export type RecordedResult = Extract<RecordedMessage, { readonly role: 'tool' }>;
export type RecordedReply = Extract<RecordedMessage, { readonly role: 'assistant' }>;

export interface RunMessages {
	/** The history at the beginning of the run, with the messages that began it. */
	readonly history: readonly RecordedMessage[];
	/** What the run produced, in the order of the history. */
	readonly produced: readonly RecordedMessage[];
	/** The summaries that the run wrote. */
	readonly summaries: readonly RecordedMessage[];
	/** The messages that steered the run, by the number of replies before them. */
	readonly steered: ReadonlyMap<number, readonly RecordedMessage[]>;
}

/** Splits the messages of a recording for one of its runs. */
export function findRunMessages({ messages, runs }: Recording, run: RecordedRun): RunMessages {
	const at = runs.indexOf(run);
	const earlier = new Set(runs.slice(0, at).map(({ id }) => id));
	const own = messages.filter(({ runId }) => runId === run.id);
	const summaries = own.filter(isSummary);
	const firstReply = own.findIndex(({ role }) => role === 'assistant');
	// A run that an answer continues begins with the turn of its calls. Its other messages came while it ran.
	const isContinued = messages.some(({ id, role }) => role === 'assistant' && id === run.stored.firstMessage);
	const isFirst = (message: RecordedMessage) =>
		!isContinued && (firstReply === -1 || own.indexOf(message) < firstReply);
	const inputs = own.filter((message) => isInput(message) && (message.role === 'tool' || isFirst(message)));
	const steered = new Map<number, RecordedMessage[]>();
	let replies = 0;
	for (const message of own) {
		if (message.role === 'assistant') replies++;
		else if (isInput(message) && message.role !== 'tool' && !isFirst(message))
			steered.set(replies, [...(steered.get(replies) ?? []), message]);
	}
	const before = messages.filter(({ runId }) => runId === undefined || earlier.has(runId));
	const history = hideReplaced([...before, ...inputs].toSorted((a, b) => findPlace(a) - findPlace(b)));
	const given = new Set([...inputs, ...summaries, ...[...steered.values()].flat()]);
	return { history, produced: own.filter((message) => !given.has(message)), summaries, steered };
}

/** Whether a message came from outside of the run: from a person, or from Runlet for a call that was lost. */
function isInput({ isInput: given, stored }: RecordedMessage): boolean {
	return given === true || stored?.decidedBy !== undefined;
}

function isSummary(message: RecordedMessage): boolean {
	return message.role === 'system' && message.summary === true;
}

/** Leaves out the messages that a later message of the list replaced. */
export function hideReplaced(messages: readonly RecordedMessage[]): readonly RecordedMessage[] {
	const replacing = messages.flatMap((message) =>
		message.stored?.replaces === undefined ? [] : [[message.stored.replaces, findPlace(message)] as const],
	);
	return messages.filter((message) => {
		const place = findPlace(message);
		return !replacing.some(([from, to]) => place >= from && place < to);
	});
}

/** Converts recorded messages to those of a conversation. Long results of earlier turns are cut, as in a session. */
export function toConversation(messages: readonly RecordedMessage[]): readonly Message[] {
	return messages.map((recorded) => {
		const message = toMessage(recorded, recorded.stored?.providerMetadata);
		return message.role === 'tool' ? { ...message, content: chat.cutOutput(message.content) } : message;
	});
}

/** Returns the text that the model wrote for a summary. */
export function toSummaryText(recorded: RecordedMessage): string {
	const message = toMessage(recorded, undefined);
	return message.role === 'system' ? readSummary(message) : '';
}
