import { createFieldError } from '../../../../core/base/errors.ts';
import type { ChatOptions } from '../../../../core/chat/index.ts';
import type { JsonSchema } from '../../../../core/tool/index.ts';
import { createSchemaReader } from '../../../../core/tool/json-schema/limits.ts';
import type { ClientTool } from '../../run.ts';
import { type RequestedAgent, readTools } from '../client-tools.ts';
import type { CountRequest, MessageRequest } from './schema.ts';

export interface AnthropicAgent extends RequestedAgent {
	/** Whether the agent can search the web. */
	readonly hasWebSearch: boolean;
}

/**
 * Returns the client's tools. A web search is a hint to an agent that has a web search of its own. Throws
 * `invalid_request`, which names the field, for any other tool of Anthropic's, because only Anthropic runs it.
 */
export function readClientTools(
	{ tools, tool_choice }: Pick<CountRequest, 'tools' | 'tool_choice'>,
	agent: AnthropicAgent,
): readonly ClientTool[] {
	const requested = (tools ?? []).flatMap(({ type, name, description, input_schema }, index) => {
		const at = `tools.${index}`;
		if (type == null || type === 'custom')
			return [
				{ name, description, inputSchema: input_schema, namePath: `${at}.name`, schemaPath: `${at}.input_schema` },
			];
		assertHint(type, `${at}.type`, agent);
		return [];
	});
	const offered = readTools(requested, agent);
	return tool_choice?.type === 'none' ? [] : offered;
}

function assertHint(type: string, field: string, { name, hasWebSearch }: AnthropicAgent): void {
	const isSearch = type.startsWith('web_search');
	if (isSearch && hasWebSearch) return;
	const remedy = isSearch
		? `${name} has no web search. Leave it out, or use an agent with the tool web_search or with providerTools: ["web_search"].`
		: 'only Anthropic’s own models have this tool. Give it a name and an input_schema and no type, or give it to the agent.';
	throw createFieldError('invalid_request', field, remedy);
}

/**
 * Returns what the model must call: a certain tool of the client, or any tool of the client, but never a tool of
 * the agent. Throws `invalid_request` if the client has no such tool.
 */
export function readToolChoice(
	{ tool_choice: choice }: Pick<MessageRequest, 'tool_choice'>,
	tools: readonly ClientTool[],
): ChatOptions['toolChoice'] {
	const names = tools.map(({ name }) => name);
	if (choice?.type === 'any') {
		if (names.length > 0) return { oneOf: names };
		throw createFieldError('invalid_request', 'tool_choice.type', 'any means one of your tools, and there are none.');
	}
	if (choice?.type !== 'tool') return undefined;
	if (names.includes(choice.name)) return { oneOf: [choice.name] };
	throw createFieldError('invalid_request', 'tool_choice.name', 'none of your tools has this name.');
}

/** Returns the schema of a JSON answer. Throws `invalid_request`, which names the field. */
export function readOutputSchema({
	output_config,
	output_format,
	stop_sequences,
}: Pick<MessageRequest, 'output_config' | 'output_format' | 'stop_sequences'>): JsonSchema | undefined {
	const [format, field] =
		output_config?.format == null
			? [output_format, 'output_format.schema']
			: [output_config.format, 'output_config.format.schema'];
	if (format == null) return undefined;
	if ((stop_sequences ?? []).length > 0)
		throw createFieldError('invalid_request', 'stop_sequences', 'would cut the JSON. Leave it out.');
	return createSchemaReader()(format.schema, field);
}

/** Whether the client wants to see the thinking. */
export function showsThinking({ thinking }: Pick<MessageRequest, 'thinking'>): boolean {
	return (thinking?.type === 'enabled' || thinking?.type === 'adaptive') && thinking.display !== 'omitted';
}
