import { flattenParts } from '../ground/part.ts';
import type { Tool } from '../tool/index.ts';
import { toInputText } from '../tool/input.ts';
import { countMediaTokens } from './media.ts';
import { type Message, messageText } from './message.ts';
import type { ChatOptions } from './options.ts';
import { estimateTokens } from './tokens.ts';

/** The tokens around each message, call and tool: its role, its id, its form. */
const aroundMessage = 6;
const aroundCall = 10;
const aroundTool = 9;

/**
 * Estimates the tokens that a request sends, for budgets: texts by their script, images, audio and files by the
 * providers' published rules. If there is a `countTokensFn`, it counts the messages instead.
 */
export async function estimateRequest(
	{ model, system, countTokensFn }: Pick<ChatOptions, 'model' | 'countTokensFn'> & { readonly system?: string },
	messages: readonly Message[],
	tools: readonly Tool[] = [],
): Promise<number> {
	const counted = countTokensFn === undefined ? estimateMessages(messages) : await countTokensFn(messages, model);
	const around = system === undefined || system === '' ? 0 : estimateTokens(system) + aroundMessage;
	return counted + around + tools.reduce((sum, tool) => sum + estimateTool(tool), 0);
}

/** Estimates the tokens of messages. */
function estimateMessages(messages: readonly Message[]): number {
	return messages.reduce((sum, message) => sum + estimateMessage(message), 0);
}

/** Estimates the tokens of a reply: its text, what it showed of its thinking, its calls. */
export function estimateReply({ content, reasoning = '', toolCalls = [] }: Message & { role: 'assistant' }): number {
	const calls = toolCalls.map(({ name, input }) => `${name}${JSON.stringify(input) ?? ''}`);
	return [content, reasoning, ...calls].reduce((sum, text) => sum + estimateTokens(text), 0);
}

// Messages and tools never change, so each is measured once, even if several turns send it.
const messageTokens = new WeakMap<Message, number>();
const toolTokens = new WeakMap<Tool, number>();

function estimateMessage(message: Message): number {
	const known = messageTokens.get(message);
	if (known !== undefined) return known;
	const parts = ('parts' in message ? message.parts : undefined) ?? [];
	const text = parts.length > 0 ? flattenParts(parts) : messageText(message);
	const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
	const tokens =
		aroundMessage +
		estimateTokens(text) +
		(message.role === 'tool' ? estimateTokens(message.toolCallId + toInputText(message.ranWith ?? '')) : 0) +
		parts.reduce((sum, part) => sum + countMediaTokens(part), 0) +
		calls.reduce((sum, call) => sum + aroundCall + estimateTokens(JSON.stringify(call)), 0);
	messageTokens.set(message, tokens);
	return tokens;
}

function estimateTool(tool: Tool): number {
	const known = toolTokens.get(tool);
	if (known !== undefined) return known;
	const { name, description, inputSchema } = tool;
	const json = JSON.stringify({ name, description, inputSchema });
	// Providers shorten a schema but keep its texts in other scripts.
	const tokens = aroundTool + Math.ceil(Math.max(json.length / 4, estimateTokens(json) * 0.75));
	toolTokens.set(tool, tokens);
	return tokens;
}
