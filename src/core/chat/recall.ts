import { textPart } from '../ground/part.ts';
import { type Message, messageText, type UserMessage, userMessage } from './message.ts';

/** A text that a model is sent in front of the newest user message. It is in no message of the history. */
export interface Recalled {
	readonly text: string;
	/** Where it comes from, for the readers of the run, and by which it is found again. */
	readonly sources: readonly string[];
}

/** Finds what a model is told in front of a message of this text. */
export type Recall = (text: string) => Recalled | undefined | Promise<Recalled | undefined>;

/** Begins to ask what is recalled for the newest user message. What fails is thrown to whoever waits. */
export function beginRecall(
	recall: Recall | undefined,
	messages: readonly Message[],
): Promise<Recalled | undefined> | undefined {
	const newest = messages.findLast(({ role }) => role === 'user');
	if (recall === undefined || newest === undefined) return undefined;
	const found = (async () => recall(messageText(newest)))();
	// The run may end before it waits for this.
	found.catch(() => {});
	return found;
}

/** Makes what puts a text in front of a message. Of one message it always makes the same, so that is measured once. */
export function createFront(text: string): (message: UserMessage) => UserMessage {
	const made = new WeakMap<UserMessage, UserMessage>();
	return (message) => {
		const own = message.parts ?? (message.content === '' ? [] : [textPart(message.content)]);
		const known = made.get(message) ?? userMessage([textPart(text), ...own]);
		made.set(message, known);
		return known;
	};
}
