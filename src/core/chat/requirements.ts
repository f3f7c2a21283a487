import { RunletError, toMessageText } from '../base/errors.ts';
import type { AnySchema, JsonSchema, Tool } from '../tool/index.ts';
import { type Checked, checkOutput, isSchema, prepareOutputCheck, toJsonSchema } from '../tool/schema.ts';
import { type Message, type UserMessage, userMessage } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { CallOptions } from './provider.ts';

/** Returns the tool choice of a request. Forces a tool only once: after its result the model is free to answer. */
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

/** Selects the tools to offer: the allowed tools if the turn must call one of them, else all tools. */
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
 * Returns a message that repeats the request if the model did not call a required tool, because some providers do not
 * enforce the call. Otherwise returns `undefined`. Throws `invalid_output` if the request was repeated before.
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
	const message = `The model had to call one of ${names} and answered in words, also when asked again. Use another model, or leave the choice to it (tool_choice: auto).`;
	throw new RunletError('invalid_output', message);
}

function findAllowedNames(toolChoice: ChatOptions['toolChoice']): readonly string[] | undefined {
	return typeof toolChoice === 'object' && 'oneOf' in toolChoice ? toolChoice.oneOf : undefined;
}

function isReminder({ content }: UserMessage): boolean {
	return content.startsWith(mustCallBegins);
}

/** Whether the model already has the result of a call. Ignores messages that repeat the request. */
function isAnswered(messages: readonly Message[]): boolean {
	const last = messages.findLast((message) => {
		if (message.role === 'assistant') return (message.toolCalls ?? []).length > 0;
		return message.role !== 'user' || !(isRepair(message) || isReminder(message));
	});
	return last?.role === 'tool';
}

/** The maximum number of repeated requests for a reply that fits `outputSchema`. */
const mostRepairs = 2;
/** The maximum number of issues in a message to the model, and the maximum number of characters of an issue. */
const mostIssues = 10;
const longestIssue = 300;

export type OutputOutcome = { readonly value: unknown } | { readonly repair: UserMessage };

/** Reads a final reply as JSON of a schema. Throws `invalid_output` after too many repeated requests in the history. */
export async function readOutput(
	text: string,
	schema: JsonSchema | AnySchema,
	messages: readonly Message[],
): Promise<OutputOutcome> {
	const json = findJson(text);
	const notJson: Checked = { issues: ['it is not JSON'] };
	const checked = json === undefined ? notJson : await checkOutput(schema, JSON.parse(json));
	if ('value' in checked) return { value: checked.value };
	const issues = checked.issues.slice(0, mostIssues).map((issue) => issue.slice(0, longestIssue));
	if (countRepairs(messages) >= mostRepairs) throw createInvalidOutput(issues);
	return { repair: userMessage([repairBegins, ...issues.map((issue) => `- ${issue}`), repairEnds].join('\n')) };
}

/** Throws `invalid_request` if the schema cannot check a reply. */
export function assertReadable(schema: JsonSchema | AnySchema | undefined): void {
	if (schema === undefined) return;
	try {
		if (isSchema(schema)) toJsonSchema(schema, 'outputSchema');
		else prepareOutputCheck(schema);
	} catch (cause) {
		const message = `outputSchema: ${toMessageText(cause)
			.replace(/^outputSchema: /, '')
			.replace(/\.$/, '')}. Correct the schema.`;
		throw new RunletError('invalid_request', message, { field: 'outputSchema' }, { cause });
	}
}

/** Finds the JSON in a reply: the whole reply, or the content of its code fence. Returns `undefined` without JSON. */
export function findJson(text: string): string | undefined {
	const whole = text.trim();
	if (isJsonText(whole)) return whole;
	const begins = whole.indexOf('\n');
	const ends = whole.lastIndexOf('```');
	if (!whole.startsWith('```') || begins === -1 || ends <= begins) return undefined;
	const fenced = whole.slice(begins, ends).trim();
	return isJsonText(fenced) ? fenced : undefined;
}

/** Whether a schema asks for an object of any form. Providers have no common form for such a schema. */
export function isAnyObject(schema: JsonSchema | AnySchema | undefined): boolean {
	if (schema === undefined || isSchema(schema) || schema.type !== 'object') return false;
	return Object.keys(schema).every((key) => key === 'type' || key === '$schema' || key === 'description');
}

export const anyObjectWords = 'Answer with one JSON object and nothing else: no words around it, no code fence.';
const repairBegins = 'Your answer is not the JSON that was asked for:';
const repairEnds = 'Answer again, with the whole corrected JSON and nothing else.';

function isRepair({ content }: UserMessage): boolean {
	return content.startsWith(repairBegins);
}

/** Counts the repeated requests since the last message of a person. */
function countRepairs(messages: readonly Message[]): number {
	let count = 0;
	for (const message of messages.toReversed()) {
		if (message.role !== 'user') continue;
		if (!isRepair(message)) break;
		count++;
	}
	return count;
}

function isJsonText(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

function createInvalidOutput(issues: readonly string[]): RunletError {
	const message = `The model did not answer as outputSchema says, also when asked again (${issues.join('; ')}). Simplify the schema, or use another model.`;
	return new RunletError('invalid_output', message, { issues });
}
