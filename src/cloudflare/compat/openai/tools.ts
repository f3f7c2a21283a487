import type { ChatOptions } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import { define, providerName } from '../../../core/tool/index.ts';
import { createSchemaReader } from '../client-schema.ts';
import type { ClientTool } from '../client-tool.ts';
import type { CompletionRequest } from './schema.ts';

/** The agent that a request means. */
export interface Meant {
	readonly name: string;
	/** Names of its own tools, as a provider is shown them. */
	readonly toolNames: ReadonlySet<string>;
}

/**
 * The client's own tools, checked. Throws `invalid_request` that names the field: for a name that is the agent's, or
 * another tool's, and for a schema that no arguments can be checked by.
 */
export function readClientTools(
	{ tools, tool_choice }: Pick<CompletionRequest, 'tools' | 'tool_choice'>,
	{ name: agent, toolNames: own }: Meant,
): readonly ClientTool[] {
	const seen = new Set<string>();
	const readSchema = createSchemaReader();
	const offered: ClientTool[] = [];
	for (const [index, { function: given }] of (tools ?? []).entries()) {
		const { name, description, parameters } = given;
		const at = `tools.${index}.function`;
		if (own.has(name)) throw createRefusal(`${at}.name`, `${agent} has a tool of this name by itself. Rename yours`);
		if (seen.has(name)) throw createRefusal(`${at}.name`, 'another of these tools has this name');
		seen.add(name);
		const inputSchema = readSchema(parameters ?? { type: 'object', properties: {} }, `${at}.parameters`);
		assertOfObject(inputSchema, `${at}.parameters`);
		offered.push({ name, ...(description != null && { description }), inputSchema });
	}
	return tool_choice === 'none' ? [] : offered;
}

/**
 * What the client wants called: one of its tools, or any of them, so not one of the agent's. Throws `invalid_request`
 * where it has none such.
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
 * A client tells of its own calls only: one of a tool of the agent, or of what reads skills, would have been made by
 * nobody. Throws `invalid_request` that names the call.
 */
export function assertOwnCalls(
	{ messages }: Pick<CompletionRequest, 'messages'>,
	{ name: agent, toolNames: own }: Meant,
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

/** Throws where a tool of this schema could not be offered. */
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
