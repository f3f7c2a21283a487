import { type Message, messageText } from '../../../core/chat/index.ts';

/** Writes messages as JSON in the form of the attributes `gen_ai.input.messages` and `gen_ai.output.messages`. */
export function writeMessages(messages: readonly Message[], finishReason?: string): string {
	const finish = finishReason === undefined ? {} : { finish_reason: finishReason };
	return JSON.stringify(messages.map((message) => ({ role: message.role, parts: listParts(message), ...finish })));
}

function listParts(message: Message) {
	if (message.role === 'tool') {
		const { toolCallId: id, content: response } = message;
		return [{ type: 'tool_call_response', id, response }];
	}
	const text = messageText(message);
	const parts: object[] = text === '' ? [] : [{ type: 'text', content: text }];
	if (message.role !== 'assistant') return parts;
	const { reasoning, toolCalls = [] } = message;
	const calls = toolCalls.map(({ id, name, input }) => ({ type: 'tool_call', id, name, arguments: input }));
	return [...(reasoning === undefined ? [] : [{ type: 'reasoning', content: reasoning }]), ...parts, ...calls];
}
