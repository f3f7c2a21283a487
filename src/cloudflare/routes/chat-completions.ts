import type { Context } from 'hono';
import { createFieldError } from '../../core/base/errors.ts';
import type { Agent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { hasWebSearch, listToolNames } from '../agent/tool-names.ts';
import { readConfig } from '../config/config.ts';
import type { Handling } from '../objects/session-api.ts';
import { toConversation } from '../wire/protocols/openai/conversation.ts';
import { createCompletion } from '../wire/protocols/openai/endpoints.ts';
import { refusalResponse, runFailureResponse } from '../wire/protocols/openai/error.ts';
import type { CompletionFormat } from '../wire/protocols/openai/protocol.ts';
import { type AnswerForm, readAnswerForm, readClientTools, readToolChoice } from '../wire/protocols/openai/request.ts';
import type { CompletionRequest } from '../wire/protocols/openai/schema.ts';
import { converse, findUser, type NewPart } from './conversation.ts';
import { getPerson, type RouteEnv } from './identity.ts';
import { findModel } from './model-list.ts';
import { mount, readHandling } from './request.ts';
import { toRunResponse } from './respond.ts';

/** `/v1/chat/completions`: serves agents as models of OpenAI's Chat Completions (docs/openai.md). */
export function createCompletionRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(createCompletion, (c) => {
			const caller = getPerson(c);
			const body = c.req.valid('json');
			const user = findUser(caller, body.user ?? body.safety_identifier ?? body.metadata?.user);
			const { agent, model } = findModel(agents, body.model, readConfig(c.env).model);
			const form = readAnswerForm(body);
			return converse(c, {
				speaker: { caller, user, agent },
				how: createHandling(c, body, form),
				readUpdate: (isKept) => readUpdate(body, { agent, model, isKept, form }),
				answer: (outcome) => toRunResponse(outcome, { toFailure: runFailureResponse }),
				fail: runFailureResponse,
				refuse: refusalResponse,
			});
		}),
	];
}

/** The body of the request decides whether the answer is a stream. The `Accept` header is ignored. */
function createHandling(c: Context<RouteEnv>, body: CompletionRequest, { outputSchema, stop }: AnswerForm): Handling {
	const format: CompletionFormat = {
		type: 'chat.completions',
		model: body.model,
		includeUsage: body.stream_options?.include_usage ?? false,
		tools: body.tool_choice === 'none' ? [] : (body.tools ?? []).map((tool) => tool.function.name),
		isJson: outputSchema !== undefined,
		stop,
	};
	return { ...readHandling(c, body), delivery: body.stream ? 'stream' : 'result', format };
}

interface Known {
	readonly agent: Agent;
	readonly model: string | undefined;
	readonly isKept: boolean;
	readonly form: AnswerForm;
}

function readUpdate(body: CompletionRequest, { agent, model, isKept, form }: Known): NewPart {
	const requested = { name: agent.name, toolNames: listToolNames(agent) };
	assertSearch(body, agent);
	const clientTools = readClientTools(body, requested);
	const { history, results, message } = toConversation(body.messages, { open: isKept, agent: requested });
	const { content: text, parts } = message ?? {};
	// Tool results without their calls belong to an existing session. They cannot start a new conversation.
	const isWhole = results.length === 0 || history.at(-1)?.role === 'assistant';
	const content = parts === undefined ? { text } : { parts };
	return {
		model,
		results,
		clientTools,
		toolChoice: readToolChoice(body),
		terms: {
			outputSchema: form.outputSchema,
			...(body.parallel_tool_calls === false && { parallelToolCalls: false }),
		},
		maxOutputTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
		...(message !== undefined && { input: { ...content, transport: 'chat-completions' } }),
		...(isWhole && { history }),
	};
}

/** Refuses a request for web search if the agent has no web search: the answer would lack the search. */
function assertSearch({ web_search_options: options }: CompletionRequest, agent: Agent): void {
	if (options === undefined || options === null || hasWebSearch(agent)) return;
	const remedy = 'Leave it out, or use an agent with the tool web_search or with providerTools: ["web_search"]';
	throw createFieldError('invalid_request', 'web_search_options', `${agent.name} has no web search. ${remedy}.`);
}
