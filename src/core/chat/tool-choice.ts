import { RunletError } from '../ground/errors.ts';
import type { Tool } from '../tool/index.ts';
import { type Message, type UserMessage, userMessage } from './message.ts';
import type { ChatOptions } from './options.ts';
import { isRepair } from './output.ts';
import type { CallOptions } from './provider.ts';

/** Returns the tool choice of a request. A tool is forced once: after its result the model may answer. */
export function toCallChoice(
	toolChoice: ChatOptions['toolChoice'],
	messages: readonly Message[],
): CallOptions['toolChoice'] {
	const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
	if (isForced && isAnswered(messages)) return 'auto';
	const oneOf = findAllowedNames(toolChoice);
	const [name, ...more] = oneOf ?? [];
	if (name !== undefined && more.length === 0) return { name };
	return typeof toolChoice === 'object' && 'oneOf' in toolChoice ? 'required' : toolChoice;
}

/** Selects the tools to offer: some of them if the turn must call one of these, else all. */
export function selectOfferedTools(
	tools: readonly Tool[],
	{ toolChoice }: ChatOptions,
	messages: readonly Message[],
): readonly Tool[] {
	const oneOf = findAllowedNames(toolChoice);
	if (oneOf === undefined || oneOf.length === 1 || isAnswered(messages)) return tools;
	return tools.filter(({ name }) => oneOf.includes(name));
}

const mustCallBegins = 'You have to call a tool now, and you answered in words.';

/**
 * Returns the message that repeats a request if the model had to call a tool and did not, because some providers do not
 * enforce it. Returns `undefined` if all is well. Throws `invalid_output` if the model was asked again before.
 */
export function toCallReminder(
	toolChoice: ChatOptions['toolChoice'],
	messages: readonly Message[],
): UserMessage | undefined {
	const oneOf = findAllowedNames(toolChoice);
	if (oneOf === undefined || isAnswered(messages)) return undefined;
	const names = oneOf.join(', ');
	const last = messages.findLast((message) => message.role === 'user');
	if (last === undefined || !isReminder(last)) return userMessage(`${mustCallBegins} Call one of: ${names}.`);
	throw new RunletError(
		'invalid_output',
		`The model had to call one of ${names} and answered in words, also when asked again. Use another model, or leave the choice to it (tool_choice: auto).`,
	);
}

function findAllowedNames(toolChoice: ChatOptions['toolChoice']): readonly string[] | undefined {
	return typeof toolChoice === 'object' && 'oneOf' in toolChoice ? toolChoice.oneOf : undefined;
}

function isReminder({ content }: UserMessage): boolean {
	return content.startsWith(mustCallBegins);
}

/** Whether the model has the result of a call. Repeated requests do not count. */
function isAnswered(messages: readonly Message[]): boolean {
	const last = messages.findLast((message) => {
		if (message.role === 'assistant') return (message.toolCalls ?? []).length > 0;
		return message.role !== 'user' || !(isRepair(message) || isReminder(message));
	});
	return last?.role === 'tool';
}
