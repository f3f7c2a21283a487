import type { MessagePart } from '../ground/part.ts';
import { truncateText } from '../ground/text.ts';
import type { Message, ToolMessage } from './message.ts';

/** The most characters of a tool's result for the model: 256 KB of plain text. */
const longestOutput = 262_144;

/** The room for the note about the cut. */
const noteRoom = 128;

/**
 * Cuts a tool's result for the model. It stays as it is up to 262,144 characters; anything but a string counts as its
 * JSON. A longer one becomes its beginning and a note with its length. The result is not longer than the limit, so it
 * is not cut twice.
 */
export function cutOutput(content: unknown): unknown {
	const text = typeof content === 'string' ? content : JSON.stringify(content);
	return text === undefined || text.length <= longestOutput ? content : cutText(text, longestOutput);
}

/** Cuts a text to at most `longest` characters: its beginning and a note with its length. */
export function cutText(text: string, longest: number): string {
	return text.length <= longest ? text : withNote(text, longest - noteRoom, text.length);
}

// Messages never change, so each result is measured once, even if several turns send it.
const measured = new WeakMap<ToolMessage, ToolMessage>();

/** Cuts a message for the model: a long tool result, and the texts of its parts. */
export function cutMessage(message: Message): Message {
	if (message.role !== 'tool') return message;
	const known = measured.get(message);
	if (known !== undefined) return known;
	const cut = cutResult(message);
	measured.set(message, cut);
	return cut;
}

function cutResult(message: ToolMessage): ToolMessage {
	const content = cutOutput(message.content);
	const parts = message.parts === undefined ? undefined : cutParts(message.parts);
	return content === message.content && parts === message.parts ? message : { ...message, content, parts };
}

/** Cuts the texts of parts to the limit of a result together. Parts without a text stay. */
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

/** Returns the first `room` characters and a note. */
function withNote(text: string, room: number, total: number): string {
	const head = truncateText(text, room);
	return `${head}\n\n[Cut: of ${total} characters only the first ${head.length} are shown.]`;
}
