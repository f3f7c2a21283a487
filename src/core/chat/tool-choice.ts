import { RunletError } from '../ground/errors.ts';
import type { Tool } from '../tool/index.ts';
import { type Message, type UserMessage, userMessage } from './message.ts';
import type { ChatOptions } from './options.ts';
import { isRepair } from './output.ts';
import type { CallOptions } from './provider.ts';

/** The tool choice of a request. A tool is forced once: with its result the model may answer. */
export function toCallChoice(
	toolChoice: ChatOptions['toolChoice'],
	messages: readonly Message[],
): CallOptions['toolChoice'] {
	const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
	if (isForced && isAnswered(messages)) return 'auto';
	const oneOf = findOneOf(toolChoice);
	const [name, ...more] = oneOf ?? [];
	if (name !== undefined && more.length === 0) return { name };
	return typeof toolChoice === 'object' && 'oneOf' in toolChoice ? 'required' : toolChoice;
}

/** The tools to offer: some of them to a turn that has to call one of these, all of them to any other. */
export function selectOfferedTools(
	tools: readonly Tool[],
	{ toolChoice }: ChatOptions,
	messages: readonly Message[],
): readonly Tool[] {
	const oneOf = findOneOf(toolChoice);
	if (oneOf === undefined || oneOf.length === 1 || isAnswered(messages)) return tools;
	return tools.filter(({ name }) => oneOf.includes(name));
}

const mustCallBegins = 'You have to call a tool now, and you answered in words.';

/**
 * The message that asks a model again that had to call one of some tools and called none: not every provider enforces
 * this. `undefined` where all is well. Throws `invalid_output` where the history says that the model was asked again.
 */
export function toCallReminder(
	toolChoice: ChatOptions['toolChoice'],
	messages: readonly Message[],
): UserMessage | undefined {
	const oneOf = findOneOf(toolChoice);
	if (oneOf === undefined || isAnswered(messages)) return undefined;
	const names = oneOf.join(', ');
	const last = messages.findLast((message) => message.role === 'user');
	if (last === undefined || !isReminder(last)) return userMessage(`${mustCallBegins} Call one of: ${names}.`);
	throw new RunletError(
		'invalid_output',
		`The model had to call one of ${names} and answered in words, also when asked again. Use another model, or leave the choice to it (tool_choice: auto).`,
	);
}

function findOneOf(toolChoice: ChatOptions['toolChoice']): readonly string[] | undefined {
	return typeof toolChoice === 'object' && 'oneOf' in toolChoice ? toolChoice.oneOf : undefined;
}

function isReminder({ content }: UserMessage): boolean {
	return content.startsWith(mustCallBegins);
}

/** Whether the model has the result of a call. Messages that ask it again do not count. */
function isAnswered(messages: readonly Message[]): boolean {
	const last = messages.findLast((message) => {
		if (message.role === 'assistant') return (message.toolCalls ?? []).length > 0;
		return message.role !== 'user' || !(isRepair(message) || isReminder(message));
	});
	return last?.role === 'tool';
}
