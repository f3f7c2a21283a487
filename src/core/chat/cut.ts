import type { MessagePart } from '../ground/part.ts';
import { truncateText } from '../ground/text.ts';
import type { Message, ToolMessage } from './message.ts';

/** Characters of a tool's result that a model is sent, at most: 256 KB of plain text. */
const longestOutput = 262_144;

/** Room for the note that says that something was cut. */
const noteRoom = 128;

/**
 * A tool's result as a model is sent it. It stays as it is where its text has up to 262,144 characters; the text of
 * anything but a string is its JSON. Else this gives the beginning of that text and a note of how long it was, together
 * no longer than that, so that a cut text is not cut again.
 */
export function cutOutput(content: unknown): unknown {
	const text = typeof content === 'string' ? content : JSON.stringify(content);
	return text === undefined || text.length <= longestOutput ? content : cutText(text, longestOutput);
}

/** A text of at most `longest` characters: as it is, or its beginning and a note of how long it was. */
export function cutText(text: string, longest: number): string {
	return text.length <= longest ? text : withNote(text, longest - noteRoom, text.length);
}

// Messages never change, so each result is measured once, however many turns it is sent in.
const measured = new WeakMap<ToolMessage, ToolMessage>();

/** A message as a model is sent it: a tool's result that is too long is cut, and so are the texts of its parts. */
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

/** Parts whose texts have together at most as many characters as a result may have. Parts without a text stay. */
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

/** The first `room` characters and a note. */
function withNote(text: string, room: number, total: number): string {
	const head = truncateText(text, room);
	return `${head}\n\n[Cut: of ${total} characters only the first ${head.length} are shown.]`;
}
