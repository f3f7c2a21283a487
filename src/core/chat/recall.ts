import { textPart } from '../ground/part.ts';
import { type Message, messageText, type UserMessage, userMessage } from './message.ts';

/**
 * A text that a model is sent in front of the newest user message of a run. It is in no message of the history, and stays
 * with its message: messages that come during the run have nothing in front.
 */
export interface Recalled {
	/** Empty if there is nothing. */
	readonly text: string;
	/** Where it comes from, for the readers of the run, and by which it is found again. */
	readonly sources: readonly string[];
	/**
	 * The texts that earlier user messages were sent with, by their places among the messages of the run. They are sent in
	 * the same way again, so that a provider's cache of the conversation still fits.
	 */
	readonly earlier?: ReadonlyMap<number, string>;
}

/** Finds what a model is told in front of a message of this text. */
export type Recall = (text: string) => Recalled | undefined | Promise<Recalled | undefined>;

/** What was recalled, with the messages that are sent for those that have it in front. */
export type RecalledFronts = Pick<Recalled, 'text' | 'sources'> & {
	readonly fronts: ReadonlyMap<Message, UserMessage>;
};

/** Begins to ask what is recalled for the newest user message. What fails is thrown to whoever waits. */
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

/** Makes the messages with a text in front. Each is made once, so that it is measured once. */
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
