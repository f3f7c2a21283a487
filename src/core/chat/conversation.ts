import type { ConversationText } from '../tool/index.ts';
import { cutMessage } from './cut.ts';
import { type Message, messageText, type SystemMessage, toSendable } from './message.ts';
import type { MessageContext } from './options.ts';
import type { ChatUsage } from './usage.ts';

/** The part of a history that a model is sent: `front`, then the messages from the place `from` on. */
export interface Window {
	readonly front: readonly Message[];
	readonly from: number;
}

/** A run's history, and what a model turn may do to it. */
export interface Conversation {
	readonly messages: Message[];
	/** It only moves forward: what is left out once stays out for the rest of the run. */
	window: Window;
	/** Resolves once a message is stored. */
	readonly store: (message: Message, about?: Omit<MessageContext, 'before'>) => Promise<void>;
	/** Counts in the run's usage. */
	readonly spend: (usage: ChatUsage | undefined) => void;
}

/** The window of a history: all of it, or its newest summary that has a user message behind it, and what follows. */
export function findWindow(messages: readonly Message[]): Window {
	const newest = messages.findLastIndex(({ role }) => role === 'user');
	const at = messages.findLastIndex((message, index) => index < newest && isSummary(message));
	if (at === -1) return { front: [], from: 0 };
	return { front: messages.slice(0, at + 1).filter((message, index) => index === at || isKept(message)), from: at + 1 };
}

/** The window that begins at a later place. It leaves all messages between out but those of the system. */
export function moveWindow(messages: readonly Message[], { front, from }: Window, at: number): Window {
	return { front: [...front, ...messages.slice(from, at).filter(isKept)], from: at };
}

/** The window without its summary, or with another one. */
export function withSummary({ front, from }: Window, ...summary: readonly Message[]): Window {
	return { front: [...front.filter(isKept), ...summary], from };
}

/** The places where a window may begin instead: each user message with something in front of it to leave out. */
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

/** The messages of a window as a provider may be sent them. */
export function selectSent(messages: readonly Message[], { front, from }: Window): Message[] {
	return toSendable([...front, ...messages.slice(from)]).map(cutMessage);
}

/** The texts of people, the model and tools, the newest first. */
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

/** Whether a message is sent wherever it stands: a system message that is no summary. */
function isKept(message: Message): boolean {
	return message.role === 'system' && message.summary !== true;
}
