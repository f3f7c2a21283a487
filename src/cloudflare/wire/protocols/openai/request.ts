import { RunletError } from '../../../../core/base/errors.ts';
import type { ChatOptions } from '../../../../core/chat/index.ts';
import type { JsonSchema } from '../../../../core/tool/index.ts';
import { createSchemaReader } from '../../../../core/tool/json-schema/limits.ts';
import type { ClientTool } from '../../run.ts';
import { type RequestedAgent, readTools } from '../client-tools.ts';
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

/** Returns the client's tools. Throws `invalid_request`, which names the field. */
export function readClientTools(
	{ tools, tool_choice }: Pick<CompletionRequest, 'tools' | 'tool_choice'>,
	agent: RequestedAgent,
): readonly ClientTool[] {
	const requested = (tools ?? []).map(({ function: { name, description, parameters } }, index) => {
		const at = `tools.${index}.function`;
		return { name, description, inputSchema: parameters, namePath: `${at}.name`, schemaPath: `${at}.parameters` };
	});
	const offered = readTools(requested, agent);
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

function createRefusal(field: string, why: string): RunletError {
	return new RunletError('invalid_request', `${field}: ${why}.`, { field });
}
