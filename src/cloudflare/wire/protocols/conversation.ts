/** Conversations of protocols whose clients send all messages each time. */
import { RunletError } from '../../../core/base/errors.ts';
import { type Message, type ToolMessage, type UserMessage, userMessage } from '../../../core/chat/index.ts';
import { providerName } from '../../../core/tool/index.ts';
import type { RequestedAgent } from './client-tools.ts';

export interface Conversation {
	/** The messages before `results` and `message`. */
	readonly history: readonly Message[];
	/** Results of the client's own tools, for the calls of the newest answer. */
	readonly results: readonly ToolMessage[];
	/** The new message of the user. */
	readonly message: UserMessage | undefined;
}

/** A message of a request, with its path in the request and the paths of its calls. */
export interface PlacedMessage {
	readonly message: Message;
	readonly path: string;
	readonly calls?: readonly string[];
}

/** The names of a protocol's fields. */
export interface FieldNames {
	/** The field of a result with the id of its call. */
	readonly answered: string;
	/** The field of a call with the name of its tool. */
	readonly tool: string;
}

/**
 * Splits a client's messages. The run answers what comes after the last assistant message. Throws `invalid_request`,
 * which names the message, if calls and results do not belong together, or if there is nothing to answer.
 *
 * @param open whether results may come without their calls, because the session has the calls
 */
export function splitConversation(
	placed: readonly PlacedMessage[],
	{ answered }: Pick<FieldNames, 'answered'>,
	{ open = false } = {},
): Conversation {
	assertPaired(placed, { answered }, open);
	const behind = placed.findLastIndex(({ message }) => message.role === 'assistant') + 1;
	const rest = placed.slice(behind).map(({ message }) => message);
	const system = rest.filter(({ role }) => role === 'system');
	const results = rest.filter((message) => message.role === 'tool');
	const inputs = rest.filter((message) => message.role === 'user');
	if (results.length === 0 && inputs.length === 0)
		throw createRefusal(`${placed.at(-1)?.path}.role`, "the last message must be a user's, or a tool's result");
	if (inputs.length > 0 && inputs.every(({ content }) => content.trim() === ''))
		throw createRefusal(
			`${placed.findLast(({ message }) => message.role === 'user')?.path}.content`,
			'must not be empty',
		);
	// A turn's results must come right after the turn, so a system message between them is moved before the turn.
	const front = placed.slice(0, behind).map(({ message }) => message);
	const turn = results.length > 0 ? front.splice(-1) : [];
	return {
		history: [...front, ...system, ...turn],
		results,
		message: inputs.length > 0 ? joinUserMessages(inputs) : undefined,
	};
}

/**
 * Checks that the messages hold only calls of the client's tools. Throws `invalid_request`, which names the call,
 * for a call of the agent's tools or of the skill reader, because no answer ever showed such a call.
 */
export function assertOwnCalls(
	placed: readonly PlacedMessage[],
	{ tool }: Pick<FieldNames, 'tool'>,
	{ name: agent, toolNames: own }: RequestedAgent,
): void {
	for (const { message, calls = [] } of placed) {
		const used = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
		for (const [at, { name }] of used.entries())
			if (own.has(providerName(name)))
				throw createRefusal(
					`${calls[at]}.${tool}`,
					`this tool is ${agent}'s own, and no answer shows its calls. Leave the call out`,
				);
	}
}

function joinUserMessages(messages: readonly UserMessage[]): UserMessage {
	const [first, ...more] = messages;
	if (first !== undefined && more.length === 0) return first;
	if (messages.every(({ parts }) => parts === undefined))
		return userMessage(messages.map(({ content }) => content).join('\n\n'));
	return userMessage(messages.flatMap(({ content, parts }) => parts ?? [{ kind: 'text' as const, text: content }]));
}

/** Checks that each result follows the turn of its call, once, and that the newest turn has all results or none. */
export function assertPaired(
	placed: readonly PlacedMessage[],
	{ answered }: Pick<FieldNames, 'answered'>,
	open = false,
): void {
	/** The calls of the last turn that have no result yet. */
	let unanswered: Map<string, string> | undefined = open ? undefined : new Map();
	let results = 0;
	for (const { message, path, calls = [] } of placed) {
		if (message.role === 'tool') {
			results++;
			if (unanswered !== undefined && !unanswered.delete(message.toolCallId))
				throw createRefusal(`${path}.${answered}`, 'answers no open call of the assistant message in front of it');
		} else if (message.role === 'assistant') {
			unanswered = new Map();
			results = 0;
			for (const [at, { id }] of (message.toolCalls ?? []).entries()) {
				if (unanswered.has(id)) throw createRefusal(`${calls[at]}.id`, 'another call of this message has it');
				unanswered.set(id, `${calls[at]}.id`);
			}
		} else if (message.role === 'user' && results === 0) unanswered = new Map();
	}
	const [missing] = unanswered?.values() ?? [];
	if (results > 0 && missing !== undefined)
		throw createRefusal(missing, 'has no result. Answer every call of the message');
}

function createRefusal(field: string, why: string): RunletError {
	return new RunletError('invalid_request', `${field}: ${why}.`, { field });
}
