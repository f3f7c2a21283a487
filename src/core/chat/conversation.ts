import type { ConversationText } from '../tool/index.ts';
import { cutMessage } from './cut.ts';
import {
	type Message,
	messageText,
	type SystemMessage,
	type ToolMessage,
	toSendable,
	type UserMessage,
} from './message.ts';
import type { MessageContext } from './options.ts';
import type { ChatUsage } from './usage.ts';

/** The part of a history that is sent to the model: `front`, then the messages from the place `from` on. */
export interface Window {
	readonly front: readonly Message[];
	readonly from: number;
}

/** The older results of a conversation that are sent as references. */
export interface References {
	/** They stand in front of this place of the messages. */
	readonly before: number;
	/** What is sent in the place of a result. */
	readonly messages: ReadonlyMap<Message, ToolMessage>;
	/** The first of them. */
	readonly first: { readonly place: number; readonly callId: string };
}

/** The history of a run, and the operations of a model turn on it. */
export interface Conversation {
	readonly messages: Message[];
	/** It only moves forward: what was left out once stays out for the rest of the run. */
	window: Window;
	/** The messages that are sent with a recalled text in front. */
	fronts?: ReadonlyMap<Message, UserMessage>;
	/** The older results that are sent as references. */
	references?: References;
	/** Resolves once a message is stored. */
	readonly store: (message: Message, about?: Omit<MessageContext, 'before'>) => Promise<void>;
	/** Adds to the usage of the run. */
	readonly spend: (usage: ChatUsage | undefined) => void;
}

/** Finds the window of a history: all of it, or its newest summary with a user message after it, and what follows. */
export function findWindow(messages: readonly Message[]): Window {
	const newest = messages.findLastIndex(({ role }) => role === 'user');
	const at = messages.findLastIndex((message, index) => index < newest && isSummary(message));
	if (at === -1) return { front: [], from: 0 };
	return { front: messages.slice(0, at + 1).filter((message, index) => index === at || isKept(message)), from: at + 1 };
}

/** Moves the window to a later place. Leaves out all messages between, except system messages. */
export function moveWindow(messages: readonly Message[], { front, from }: Window, at: number): Window {
	return { front: [...front, ...messages.slice(from, at).filter(isKept)], from: at };
}

/** Replaces or removes the summary of a window. */
export function withSummary({ front, from }: Window, ...summary: readonly Message[]): Window {
	return { front: [...front.filter(isKept), ...summary], from };
}

/** Lists the places where a window may begin instead: user messages with something before them to leave out. */
export function findCuts(messages: readonly Message[], { from }: Window): number[] {
	const cuts: number[] = [];
	let some = false;
	for (let at = from; at < messages.length; at++) {
		const role = messages[at]?.role;
		if (role === 'user' && some) cuts.push(at);
		if (role !== 'system') some = true;
	}
	return cuts;
}

/** Selects the messages of a window in a form that providers take, with what was recalled for them, and references. */
export function selectSent(
	{ messages, fronts, references }: Pick<Conversation, 'messages' | 'fronts' | 'references'>,
	{ front, from }: Window,
): Message[] {
	const whole = front.concat(messages.slice(from));
	const shown = references === undefined ? whole : whole.map((one) => references.messages.get(one) ?? one);
	const sent = toSendable(shown).map(cutMessage);
	return fronts === undefined ? sent : sent.map((message) => fronts.get(message) ?? message);
}

/** Lists the texts of people, the model and tools, the newest first. */
export function* listTexts(messages: readonly Message[]): Generator<ConversationText> {
	for (let at = messages.length - 1; at >= 0; at--) {
		const message = messages[at];
		if (message === undefined || message.role === 'system') continue;
		const text = messageText(message);
		if (text !== '') yield { role: message.role, text };
	}
}

export function isSummary(message: Message): message is SystemMessage {
	return message.role === 'system' && message.summary === true;
}

/** Whether a message is always sent: a system message that is not a summary. */
function isKept(message: Message): boolean {
	return message.role === 'system' && message.summary !== true;
}
