import { createFieldError } from '../../core/base/errors.ts';
import type { Agent } from '../agent/define.ts';
import { hasWebSearch, listToolNames } from '../agent/tool-names.ts';
import type { NewPart } from '../routes/conversation.ts';
import { toConversation } from '../wire/protocols/openai/conversation.ts';
import { readAnswerForm, readClientTools, readToolChoice } from '../wire/protocols/openai/request.ts';
import { nameFields, type ReadInput } from '../wire/protocols/responses/input.ts';
import type { ResponseRequest } from '../wire/protocols/responses/schema.ts';

interface Known {
	readonly agent: Agent;
	readonly model: string | undefined;
}

/** Reads what a request adds. Its errors name the fields of the request. */
export function readUpdate(body: ResponseRequest, input: ReadInput, { agent, model }: Known): NewPart {
	const { messages, fields, answers, named } = input;
	assertSearch(body, agent);
	return nameFields(fields, () => {
		const requested = { name: agent.name, toolNames: listToolNames(agent) };
		const chat = toChatTools(body);
		const about = {
			model,
			clientTools: readClientTools(chat, requested),
			toolChoice: readToolChoice(chat),
			terms: {
				outputSchema: readAnswerForm(toChatFormat(body)).outputSchema,
				...(!body.parallel_tool_calls && { parallelToolCalls: false }),
			},
			maxOutputTokens: body.max_output_tokens ?? undefined,
		};
		if (answers !== undefined) return { ...about, results: [], answers };
		const isOpen = body.conversation != null || body.previous_response_id != null || named !== undefined;
		const { history, results, message } = toConversation(messages, { open: isOpen, agent: requested });
		const { content: text, parts } = message ?? {};
		const instructions = body.instructions ? [{ role: 'system' as const, content: body.instructions }] : [];
		// Results without their calls belong to an existing session. They cannot start a new one.
		const isWhole = results.length === 0 || history.at(-1)?.role === 'assistant';
		const canBegin = isWhole && body.previous_response_id == null && named === undefined;
		return {
			...about,
			results,
			...(message !== undefined && {
				input: { ...(parts === undefined ? { text } : { parts }), transport: 'responses' },
			}),
			...(canBegin && { history: [...instructions, ...history] }),
		};
	});
}

/** Returns the tools of the client, and the choice among them, in the form of Chat Completions. */
function toChatTools({ tools, tool_choice: choice }: ResponseRequest): Parameters<typeof readToolChoice>[0] {
	const allowed = typeof choice === 'object' && choice.type === 'allowed_tools' ? choice : undefined;
	const names = allowed?.tools.map(({ name }) => name);
	const functions = tools.flatMap((tool) => (tool.type === 'namespace' ? tool.tools : [tool]));
	const own = functions.flatMap((tool) => {
		if (tool.type !== 'function' || names?.includes(tool.name) === false) return [];
		const { name, description, parameters } = tool;
		return [{ type: tool.type, function: { name, description, parameters } }];
	});
	if (typeof choice === 'object' && choice.type === 'function')
		return { tools: own, tool_choice: { type: choice.type, function: { name: choice.name } } };
	return { tools: own, tool_choice: typeof choice === 'string' ? choice : (allowed?.mode ?? 'auto') };
}

function toChatFormat({ text }: ResponseRequest): Parameters<typeof readAnswerForm>[0] {
	const format = text?.format;
	if (format == null || format.type !== 'json_schema') return { response_format: format, stop: undefined };
	const { type, ...json_schema } = format;
	return { response_format: { type, json_schema }, stop: undefined };
}

/** Refuses a request for web search if the agent has no web search: the answer would lack the search. */
function assertSearch({ tools }: ResponseRequest, agent: Agent): void {
	const index = tools.findIndex(({ type }) => type !== 'function' && type !== 'namespace');
	if (index === -1 || hasWebSearch(agent)) return;
	const remedy = 'Leave it out, or use an agent with the tool web_search or with providerTools: ["web_search"]';
	throw createFieldError('invalid_request', `tools.${index}`, `${agent.name} has no web search. ${remedy}.`);
}
