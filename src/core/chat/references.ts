import * as v from 'valibot';
import { truncateText } from '../ground/text.ts';
import { builtinNames } from '../skill/builtins.ts';
import { define, type Tool } from '../tool/index.ts';
import type { Conversation, References } from './conversation.ts';
import { type Message, messageText, type ToolMessage } from './message.ts';
import { searchName } from './tool-search.ts';

/** The name of the tool that opens a result of which a request has only a reference. */
export const readResultName = 'read_result';

/** Results that stay whole: what a skill says, and what tools were found. */
const neverReferred: ReadonlySet<string> = new Set([...builtinNames, searchName]);

/** The least characters of a result that a reference is sent for. */
const leastCharacters = 1_500;

/** The characters of a result that stand in its reference. */
const shownCharacters = 200;

/** The characters of a result that one call opens. */
const openedCharacters = 20_000;

/** Makes the references to all results between the beginning of the window and a place. Nothing if there is none. */
export function createReferences(
	{ messages, window, references: known }: Pick<Conversation, 'messages' | 'window' | 'references'>,
	before: number,
): References | undefined {
	const made = new Map<Message, ToolMessage>();
	const ids = new Set<string>();
	let names = new Map<string, string>();
	let first: References['first'] | undefined;
	for (let place = window.from; place < before; place++) {
		const message = messages[place];
		if (message?.role === 'assistant') names = new Map((message.toolCalls ?? []).map(({ id, name }) => [id, name]));
		if (message?.role !== 'tool') continue;
		const { toolCallId: callId } = message;
		const name = names.get(callId);
		// Servers may use an id again: it means its first result.
		const isAmbiguous = ids.has(callId);
		ids.add(callId);
		if (isAmbiguous || name === undefined || neverReferred.has(name) || !isLong(message)) continue;
		made.set(message, known?.messages.get(message) ?? refer(message));
		first ??= { place, callId };
	}
	return first && { before, messages: made, first };
}

/** Whether a result has enough text for a reference. One with an image or a file stays whole. */
function isLong(message: ToolMessage): boolean {
	const hasMedia = message.parts?.some(({ kind }) => kind !== 'text' && kind !== 'tool-result') ?? false;
	return !hasMedia && messageText(message).length >= leastCharacters;
}

/** It never changes for a result, so a request begins like the one before. */
function refer(result: ToolMessage): ToolMessage {
	const { parts: _, ...message } = result;
	const text = messageText(result);
	const note = `This result has ${text.length} characters. Only its beginning is shown, to keep requests short.`;
	const how = `Call ${readResultName} with the id ${JSON.stringify(message.toolCallId)} to read it.`;
	return { ...message, content: `[${note} ${how}]\n${truncateText(text, shownCharacters)}…` };
}

/** Makes the tool `read_result`. It reads the messages as they are when it is called. */
export function createResultReader(messages: readonly Message[]): Tool {
	return define({
		name: readResultName,
		description: `Read an earlier tool result of which only the beginning is shown, by its id, ${openedCharacters} characters at a time.`,
		inputSchema: v.object({
			id: v.pipe(v.string(), v.description('The id that stands in the place of the result')),
			from: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.description('The first character, 0'))),
		}),
		passInput: true,
		retry: 'safe',
		onRequest: ({ id }) => ['Reading an earlier result', id],
		fn: ({ id, from = 0 }) => {
			const found = messages.find((message) => message.role === 'tool' && message.toolCallId === id);
			if (found === undefined) return `No result has the id ${JSON.stringify(id)}.`;
			const text = messageText(found);
			const shown = truncateText(text.slice(from), openedCharacters);
			const end = from + shown.length;
			if (from === 0 && end === text.length) return shown;
			const more = end < text.length ? ` Go on with from: ${end}.` : '';
			return `[Characters ${from} to ${end} of ${text.length}.${more}]\n${shown}`;
		},
	});
}
