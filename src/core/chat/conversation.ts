import { isRecord } from '../base/json.ts';
import { memoize } from '../base/memoize.ts';
import type { MessagePart } from '../base/part.ts';
import { truncateText } from '../base/text.ts';
import type { ConversationText } from '../tool/index.ts';
import {
	type Message,
	messageText,
	type SystemMessage,
	type ToolMessage,
	toSendable,
	type UserMessage,
} from './message.ts';
import type { MessageContext } from './options.ts';
import type { ChatUsage } from './reply.ts';

/** The part of a history that is sent to the model: `front`, then the messages from the index `from` on. */
export interface Window {
	readonly front: readonly Message[];
	readonly from: number;
}

/** The older results of a conversation that are sent as references. */
export interface References {
	/** All referenced results are before this index. */
	readonly before: number;
	/** Maps each older result to its reference. */
	readonly messages: ReadonlyMap<Message, ToolMessage>;
	readonly first: { readonly place: number; readonly callId: string };
}

/** The history of a run, and the functions with which a model turn changes it. */
export interface Conversation {
	readonly messages: Message[];
	/** The window only moves forward: a left-out message stays out for the rest of the run. */
	window: Window;
	/** Maps each message with a recalled text to the message that is sent instead. */
	fronts?: ReadonlyMap<Message, UserMessage>;
	references?: References;
	/** Marks the results that strangers may have written. */
	readonly fence?: (messages: readonly Message[]) => Message[];
	/** Resolves once a message is stored. */
	readonly store: (message: Message, about?: Omit<MessageContext, 'before'>) => Promise<void>;
	readonly spend: (usage: ChatUsage | undefined) => void;
}

/** Finds the window of a history: from the newest summary that has a later user message, else the whole history. */
export function findWindow(messages: readonly Message[]): Window {
	const newest = messages.findLastIndex(({ role }) => role === 'user');
	const at = messages.findLastIndex((message, index) => index < newest && isSummary(message));
	if (at === -1) return { front: [], from: 0 };
	return { front: messages.slice(0, at + 1).filter((message, index) => index === at || isKept(message)), from: at + 1 };
}

/** Moves the window to a later place. Keeps the system messages before that place. */
export function moveWindow(messages: readonly Message[], { front, from }: Window, at: number): Window {
	return { front: [...front, ...messages.slice(from, at).filter(isKept)], from: at };
}

/** Replaces or removes the summary of a window. */
export function withSummary({ front, from }: Window, ...summary: readonly Message[]): Window {
	return { front: [...front.filter(isKept), ...summary], from };
}

/** Lists the later places where a window can begin: user messages with earlier messages that can be left out. */
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

/** Selects the messages of a window in a form that providers take, with recalled texts, references and fences. */
export function selectSent(
	{ messages, fronts, references, fence }: Pick<Conversation, 'messages' | 'fronts' | 'references' | 'fence'>,
	{ front, from }: Window,
): Message[] {
	const whole = front.concat(messages.slice(from));
	const referred = whole.map((message) => references?.messages.get(message) ?? message);
	const cut = toSendable(referred).map((message) => (message.role === 'tool' ? cutResult(message) : message));
	const sent = fence === undefined ? cut : fence(cut);
	return fronts === undefined ? sent : sent.map((message) => fronts.get(message) ?? message);
}

/** Lists the texts of users, the model and tools, the newest first. */
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

/** The maximum number of characters of a tool's result for the model: 256 KB of plain text. */
const longestOutput = 262_144;
const noteRoom = 128;

/**
 * Cuts a tool's result to 262,144 characters: its beginning and a note. Content that is not a text counts as its JSON.
 */
export function cutOutput(content: unknown): unknown {
	const text = typeof content === 'string' ? content : JSON.stringify(content);
	return text === undefined || text.length <= longestOutput ? content : cutText(text, longestOutput);
}

/** Cuts a text to at most `longest` characters: its beginning and a note with its length. */
export function cutText(text: string, longest: number): string {
	return text.length <= longest ? text : withNote(text, longest - noteRoom, text.length);
}

const cutResult = memoize((message: ToolMessage): ToolMessage => {
	const content = cutOutput(message.content);
	const parts = message.parts === undefined ? undefined : cutParts(message.parts);
	return content === message.content && parts === message.parts ? message : { ...message, content, parts };
});

/** Cuts the texts of parts, so that all texts together are within the limit of a result. */
function cutParts(parts: readonly MessagePart[]): readonly MessagePart[] {
	const total = parts.reduce((sum, { text = '' }) => sum + text.length, 0);
	if (total <= longestOutput) return parts;
	let room = longestOutput - noteRoom;
	return parts.map((part) => {
		const { text = '' } = part;
		const before = room;
		room -= text.length;
		if (room >= 0 || text === '') return part;
		return { ...part, text: before >= 0 ? withNote(text, before, total) : '' };
	});
}

function withNote(text: string, room: number, total: number): string {
	const head = truncateText(text, room);
	return `${head}\n\n[Cut: of ${total} characters only the first ${head.length} are shown.]`;
}

/** Whether a message has a provider's summary of everything before it. */
export function isCompacted(providerMetadata: Readonly<Record<string, unknown>> = {}, variant?: string): boolean {
	const kept = variant === undefined ? undefined : providerMetadata[variant];
	if (!isRecord(kept)) return false;
	return [kept.content, kept.output].some((blocks) => Array.isArray(blocks) && blocks.some(isCompaction));
}

/** Whether a block is a successful compaction. A failed compaction of Anthropic has no content. */
function isCompaction(block: unknown): boolean {
	if (!isRecord(block) || block.type !== 'compaction') return false;
	return typeof block.content === 'string' || typeof block.encrypted_content === 'string';
}

/** Leaves out everything before the newest summary of the same provider, except system messages. */
export function dropCompacted(messages: readonly Message[], variant: string | undefined): readonly Message[] {
	const from = messages.findLastIndex(
		(message) => message.role === 'assistant' && isCompacted(message.providerMetadata, variant),
	);
	return from === -1 ? messages : messages.filter(({ role }, at) => at >= from || role === 'system');
}
