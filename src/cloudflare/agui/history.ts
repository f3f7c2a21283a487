import type { shownMessage } from '../wire/message.ts';
import type { Shown } from '../wire/operation.ts';
import { toText } from '../wire/protocols/ui/calls.ts';
import { type AguiMessage, toMediaPart } from './message.ts';

type ShownMessage = Shown<typeof shownMessage>;

/**
 * Converts stored messages, in their order. Names them as the client has them, because a client sorts a snapshot by the
 * names that it knows. Leaves out replaced and system messages, and what the run `without` wrote.
 */
export function toAguiMessages(
	stored: readonly ShownMessage[],
	{ without, known = [] }: { readonly without?: string; readonly known?: readonly AguiMessage[] } = {},
): AguiMessage[] {
	const results = new Map(known.map((message) => [message.toolCallId, message.id]));
	const turns = new Map<string, number>();
	return stored.flatMap((message): AguiMessage[] => {
		const { id, runId = '', isInput, isReplaced } = message;
		if (isReplaced || (runId === without && !isInput)) return [];
		switch (message.role) {
			case 'user':
				return [{ id: message.messageId ?? id, role: 'user', content: toContent(message) }];
			case 'assistant': {
				const turn = (turns.get(runId) ?? 0) + 1;
				turns.set(runId, turn);
				return toAssistant(message, runId === '' ? id : `${runId}-${turn}`);
			}
			case 'tool': {
				const { toolCallId, content } = message;
				return [
					{ id: results.get(toolCallId) ?? `${toolCallId}-result`, role: 'tool', toolCallId, content: toText(content) },
				];
			}
			default:
				return [];
		}
	});
}

function toAssistant(
	{ content, reasoning, turn, toolCalls = [] }: Extract<ShownMessage, { role: 'assistant' }>,
	id: string,
): AguiMessage[] {
	const calls = toolCalls.map(({ id, name, input }) => ({
		id,
		type: 'function',
		function: { name, arguments: turn?.streamedInputs?.[id] ?? JSON.stringify(input ?? {}) },
	}));
	const message = {
		id,
		role: 'assistant',
		...(content !== '' && { content }),
		...(calls.length > 0 && { toolCalls: calls }),
	};
	const thought = reasoning ? [{ id: `${id}-reasoning`, role: 'reasoning', content: reasoning }] : [];
	return content === '' && calls.length === 0 ? thought : [...thought, message];
}

/** Returns the text of a message, and its media. The text of an attached file is left out. */
function toContent({ content, parts = [], attachments = [] }: Extract<ShownMessage, { role: 'user' }>) {
	const own = parts.length - attachments.length;
	const shown = parts.flatMap((part, at): object[] => {
		if (part.kind !== 'text') return toMediaPart(part);
		return at < own ? [{ type: 'text', text: part.text ?? '' }] : [];
	});
	const [first, ...more] = shown;
	if (parts.length === 0) return content;
	return more.length === 0 && first !== undefined && 'text' in first ? first.text : shown;
}
