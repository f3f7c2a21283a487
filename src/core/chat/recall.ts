import { textPart } from '../base/part.ts';
import { type Message, messageText, type UserMessage, userMessage } from './message.ts';

/** A text that is sent with the newest user message of a run, but is not part of the history. */
export interface Recalled {
	/** The text. Empty if nothing was found. */
	readonly text: string;
	/** The sources of the text, for the readers of the run and for later searches. */
	readonly sources: readonly string[];
	/**
	 * The recalled texts of earlier user messages, by message index. Sending them again lets the provider's cache hit.
	 */
	readonly earlier?: ReadonlyMap<number, string>;
}

/** Finds a text that is sent before a message. Gets the text of the message. */
export type Recall = (text: string) => Recalled | undefined | Promise<Recalled | undefined>;

export type RecalledFronts = Pick<Recalled, 'text' | 'sources'> & {
	/** Maps each message with a recalled text to the message that is sent instead. */
	readonly fronts: ReadonlyMap<Message, UserMessage>;
};

/** Starts the recall for the newest user message. The returned promise rejects with the recall's errors. */
export function beginRecall(
	recall: Recall | undefined,
	messages: readonly Message[],
): Promise<RecalledFronts | undefined> | undefined {
	const place = messages.findLastIndex(({ role }) => role === 'user');
	const newest = messages[place];
	if (recall === undefined || newest === undefined) return undefined;
	// The run adds messages to the list while it waits.
	const history = [...messages];
	const found = (async () => {
		const recalled = await recall(messageText(newest));
		return recalled && { ...recalled, fronts: createFronts(history, place, recalled) };
	})();
	// The run may end without waiting for the recall.
	found.catch(() => {});
	return found;
}

function createFronts(
	messages: readonly Message[],
	newest: number,
	{ text, earlier = new Map() }: Recalled,
): ReadonlyMap<Message, UserMessage> {
	const fronts = new Map<Message, UserMessage>();
	for (const [place, front] of [...earlier, [newest, text] as const]) {
		const message = messages[place];
		if (message?.role !== 'user' || front === '') continue;
		const own = message.parts ?? (message.content === '' ? [] : [textPart(message.content)]);
		fronts.set(message, userMessage([textPart(front), ...own]));
	}
	return fronts;
}
