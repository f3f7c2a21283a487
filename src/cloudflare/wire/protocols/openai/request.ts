import { RunletError } from '../../../../core/base/errors.ts';
import type { ChatOptions } from '../../../../core/chat/index.ts';
import { define, type JsonSchema, providerName } from '../../../../core/tool/index.ts';
import { createSchemaReader } from '../../../../core/tool/json-schema/limits.ts';
import type { ClientTool } from '../../run.ts';
import type { CompletionRequest } from './schema.ts';

export interface AnswerForm {
	/** The schema of a JSON answer. Missing for an answer as text. */
	readonly outputSchema: JsonSchema | undefined;
	/** The answer ends before the first occurrence of one of these texts. */
	readonly stop: readonly string[];
}

/** Reads the form of the answer that a request asks for. Throws `invalid_request`, which names the field. */
export function readAnswerForm({
	response_format: format,
	stop: sequences,
}: Pick<CompletionRequest, 'response_format' | 'stop'>): AnswerForm {
	const stop = typeof sequences === 'string' ? [sequences] : (sequences ?? []);
	const outputSchema = readOutputSchema(format);
	if (outputSchema === undefined || stop.length === 0) return { outputSchema, stop };
	throw createRefusal('stop', 'would cut the JSON that response_format asks for. Leave one of them out');
}

function readOutputSchema(format: CompletionRequest['response_format']): JsonSchema | undefined {
	if (format === undefined || format === null || format.type === 'text') return undefined;
	const schema = format.type === 'json_schema' ? format.json_schema.schema : undefined;
	if (schema === undefined || schema === null) return { type: 'object' };
	return createSchemaReader()(schema, 'response_format.json_schema.schema');
}

export interface RequestedAgent {
	readonly name: string;
	/** The names of the agent's own tools in the form that providers get. */
	readonly toolNames: ReadonlySet<string>;
}

/**
 * Returns the client's tools. Throws `invalid_request`, which names the field, if the agent has a tool of the same
 * name, if two tools have the same name, or if arguments cannot be checked against a schema.
 */
export function readClientTools(
	{ tools, tool_choice }: Pick<CompletionRequest, 'tools' | 'tool_choice'>,
	{ name: agent, toolNames: own }: RequestedAgent,
): readonly ClientTool[] {
	const seen = new Set<string>();
	const readSchema = createSchemaReader();
	const offered: ClientTool[] = [];
	for (const [index, tool] of (tools ?? []).entries()) {
		const { name, description, parameters } = tool.function;
		const at = `tools.${index}.function`;
		if (own.has(name)) throw createRefusal(`${at}.name`, `${agent} has a tool with this name. Rename yours`);
		if (seen.has(name)) throw createRefusal(`${at}.name`, 'another of these tools has this name');
		seen.add(name);
		const inputSchema = readSchema(parameters ?? { type: 'object', properties: {} }, `${at}.parameters`);
		assertOfObject(inputSchema, `${at}.parameters`);
		offered.push({ name, ...(description != null && { description }), inputSchema });
	}
	return tool_choice === 'none' ? [] : offered;
}

/**
 * Returns what the model must call: a certain tool of the client, or any tool of the client, but never a tool of
 * the agent. Throws `invalid_request` if the client has no such tool.
 */
export function readToolChoice({
	tools,
	tool_choice: choice,
}: Pick<CompletionRequest, 'tools' | 'tool_choice'>): ChatOptions['toolChoice'] {
	const names = (tools ?? []).map((tool) => tool.function.name);
	if (choice === 'required') {
		if (names.length === 0) throw createRefusal('tool_choice', 'required means one of your tools, and there are none');
		return { oneOf: names };
	}
	if (typeof choice === 'string') return undefined;
	const { name } = choice.function;
	if (names.includes(name)) return { oneOf: [name] };
	throw createRefusal('tool_choice.function.name', 'none of your tools has this name');
}

/**
 * Checks that the messages hold only calls of the client's tools. Throws `invalid_request`, which names the call,
 * for a call of the agent's tools or of the skill reader, because no answer ever showed such a call.
 */
export function assertOwnCalls(
	{ messages }: Pick<CompletionRequest, 'messages'>,
	{ name: agent, toolNames: own }: RequestedAgent,
): void {
	for (const [index, message] of messages.entries()) {
		if (message.role !== 'assistant') continue;
		for (const [at, call] of (message.tool_calls ?? []).entries()) {
			if (!own.has(providerName(call.function.name))) continue;
			const field = `messages.${index}.tool_calls.${at}.function.name`;
			throw createRefusal(field, `this tool is ${agent}'s own, and no answer shows its calls. Leave the call out`);
		}
	}
}

/** Throws if a tool with this schema cannot be offered to a model. */
function assertOfObject(inputSchema: ClientTool['inputSchema'], field: string): void {
	try {
		define({ name: 'client', description: '', inputSchema });
	} catch {
		throw createRefusal(field, 'Expected a JSON Schema of an object, such as { "type": "object", "properties": {} }');
	}
}

function createRefusal(field: string, why: string): RunletError {
	return new RunletError('invalid_request', `${field}: ${why}.`, { field });
}
