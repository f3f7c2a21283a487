import { textPart } from '../base/part.ts';
import { type Message, messageText, type UserMessage, userMessage } from './message.ts';

/** A text before the newest user message of a run. It is sent with that message, but not part of the history. */
export interface Recalled {
	/** Empty if there is nothing. */
	readonly text: string;
	/** The sources of the text, for the readers of the run and for later searches. */
	readonly sources: readonly string[];
	/**
	 * The recalled texts of earlier user messages, by message index. They are sent again, so that the provider's cache
	 * hits.
	 */
	readonly earlier?: ReadonlyMap<number, string>;
}

/** Finds the text to put before a message with this text. */
export type Recall = (text: string) => Recalled | undefined | Promise<Recalled | undefined>;

/** The recalled text, and the sent form of each message that has one. */
export type RecalledFronts = Pick<Recalled, 'text' | 'sources'> & {
	readonly fronts: ReadonlyMap<Message, UserMessage>;
};

/** Starts the recall for the newest user message. The returned promise rejects with its errors. */
export function beginRecall(
	recall: Recall | undefined,
	messages: readonly Message[],
): Promise<RecalledFronts | undefined> | undefined {
	const place = messages.findLastIndex(({ role }) => role === 'user');
	const newest = messages[place];
	if (recall === undefined || newest === undefined) return undefined;
	// The run adds messages while it waits.
	const given = [...messages];
	const found = (async () => {
		const recalled = await recall(messageText(newest));
		return recalled && { ...recalled, fronts: createFronts(given, place, recalled) };
	})();
	// The run may end before it waits for this.
	found.catch(() => {});
	return found;
}

/** Creates the sent forms of the messages with a recalled text. */
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
