import type { Context } from 'hono';
import { RunletError } from '../../core/base/errors.ts';
import { estimateRequest } from '../../core/chat/estimate.ts';
import { toSse } from '../../core/chat/event.ts';
import type { RunEvent } from '../../core/chat/index.ts';
import { writeSystem } from '../../core/chat/options.ts';
import { type Agent, chooseModel } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { hasWebSearch, listToolNames } from '../agent/tool-names.ts';
import { readConfig } from '../config/config.ts';
import { readLines } from '../objects/outside-call.ts';
import type { Bytes, Failure } from '../objects/reach.ts';
import type { RunOutcome } from '../objects/session-api.ts';
import { converse, findUser, type NewPart } from '../routes/conversation.ts';
import { getPerson, type RouteEnv } from '../routes/identity.ts';
import { findModel } from '../routes/model-list.ts';
import { getRequestId } from '../routes/reader.ts';
import { mount, readHandling } from '../routes/request.ts';
import { toEventStream, toReplayHeaders, toRunResponse, toStream } from '../routes/respond.ts';
import { toConversation } from '../wire/protocols/anthropic/conversation.ts';
import { countTokens, createMessage } from '../wire/protocols/anthropic/endpoints.ts';
import { refusalResponse, runFailureResponse, toRunErrorBody } from '../wire/protocols/anthropic/error.ts';
import {
	type AnthropicAgent,
	readClientTools,
	readOutputSchema,
	readToolChoice,
	showsThinking,
} from '../wire/protocols/anthropic/request.ts';
import type { MessageRequest } from '../wire/protocols/anthropic/schema.ts';
import { type AnswerFormat, createWriter, toAnswer } from '../wire/protocols/anthropic/writer.ts';

/** `/v1/messages`: serves agents as models of Anthropic's Messages (docs/anthropic.md). */
export function createMessageRoutes({ agents, providers }: Pick<Runtime, 'agents' | 'providers'>) {
	return [
		mount(createMessage, async (c) => {
			const caller = getPerson(c);
			const body = c.req.valid('json');
			const user = findUser(caller, body.metadata?.user_id);
			const { agent, model } = findModel(agents, body.model, readConfig(c.env).model);
			// If a stream fails, Claude Code sends the request once more, without a stream and with no sign.
			const claudeCode = c.req.header('x-claude-code-session-id');
			const response = await converse(c, {
				speaker: { caller, user, agent },
				how: { ...readHandling(c, body), delivery: 'stream', format: { type: 'events' } },
				repeatable: claudeCode && JSON.stringify([claudeCode, { ...body, stream: undefined }]),
				readUpdate: (isKept) => readUpdate(body, { agent, model, isKept }),
				answer: (outcome) => answer(c, outcome, body),
				fail: (error) => runFailureResponse(error, getRequestId(c)),
				refuse: (error) => refusalResponse(error, getRequestId(c)),
			});
			response.headers.set('request-id', getRequestId(c));
			return response;
		}),
		mount(countTokens, async (c) => {
			const { owner, by } = getPerson(c);
			const config = readConfig(c.env);
			const body = c.req.valid('json');
			const { agent, model } = findModel(agents, body.model, config.model);
			const requested = describe(agent);
			const { history, results, message } = toConversation(body, { open: false, agent: requested });
			const system = await writeSystem(agent.system, { owner, user: by.user, askedBy: by, env: config.env });
			const input_tokens = await estimateRequest(
				{ model: chooseModel(agent, model, config.model), providers: providers(config), system },
				[...history, ...results, ...(message === undefined ? [] : [message])],
				[...agent.tools, ...readClientTools(body, requested)],
			);
			return c.json({ input_tokens }, { headers: { 'request-id': getRequestId(c) } });
		}),
	];
}

function describe(agent: Agent): AnthropicAgent {
	return { name: agent.name, toolNames: listToolNames(agent), hasWebSearch: hasWebSearch(agent) };
}

interface Known {
	readonly agent: Agent;
	readonly model: string | undefined;
	readonly isKept: boolean;
}

function readUpdate(body: MessageRequest, { agent, model, isKept }: Known): NewPart {
	const requested = describe(agent);
	const clientTools = readClientTools(body, requested);
	const { history, results, message } = toConversation(body, { open: isKept, agent: requested });
	const { content: text, parts } = message ?? {};
	// Tool results without their calls belong to an existing session. They cannot start a new conversation.
	const isWhole = results.length === 0 || history.at(-1)?.role === 'assistant';
	const content = parts === undefined ? { text } : { parts };
	const { tool_choice: choice } = body;
	const isSingle = choice != null && choice.type !== 'none' && choice.disable_parallel_tool_use === true;
	return {
		model,
		results,
		clientTools,
		toolChoice: readToolChoice(body, clientTools),
		terms: { outputSchema: readOutputSchema(body), ...(isSingle && { parallelToolCalls: false }) },
		maxOutputTokens: body.max_tokens ?? undefined,
		...(message !== undefined && { input: { ...content, transport: 'messages' } }),
		...(isWhole && { history }),
	};
}

function answer(c: Context<RouteEnv>, outcome: RunOutcome, body: MessageRequest): Response | Promise<Response> {
	const requestId = getRequestId(c);
	const toFailure = (error: RunletError) => runFailureResponse(error, requestId);
	if (outcome.kind !== 'stream') return toRunResponse(outcome, { toFailure });
	const format: AnswerFormat = {
		model: body.model,
		tools: body.tool_choice?.type === 'none' ? [] : (body.tools ?? []).map(({ name }) => name),
		isJson: readOutputSchema(body) !== undefined,
		stop: body.stop_sequences ?? [],
		showsThinking: showsThinking(body),
	};
	const headers = toReplayHeaders(outcome);
	if (body.stream) return toEventStream(toStream(writeAnswer(outcome.stream, format, requestId)), headers);
	return readAnswer(outcome.stream, format).then(
		(message) => Response.json(message, { headers }),
		(error: unknown) => {
			if (error instanceof RunletError && error.cause === undefined) return toFailure(error);
			throw error;
		},
	);
}

type Line = { readonly event: RunEvent } | { readonly closed: Failure } | 'beat';

/** Writes the events of a streamed answer. While the run is silent it writes pings. */
async function* writeAnswer(stream: Bytes, format: AnswerFormat, requestId: string): AsyncGenerator<string> {
	const write = createWriter(format);
	const toFailure = (error: RunletError) => toSse(toRunErrorBody(error, requestId));
	try {
		for await (const line of readLines<Line>(stream, new AbortController().signal, 'beat')) {
			if (line === 'beat') yield toSse({ type: 'ping' });
			else if ('closed' in line) return yield toFailure(toError(line.closed));
			else for (const event of write(line.event)) yield event instanceof RunletError ? toFailure(event) : toSse(event);
		}
	} catch {
		yield toFailure(createLost());
	}
}

/** Reads a whole answer. Throws the error of a run without an answer, and `overloaded` if the session broke off. */
async function readAnswer(stream: Bytes, format: AnswerFormat) {
	const events: RunEvent[] = [];
	try {
		for await (const line of readLines<Line>(stream, new AbortController().signal)) {
			if (line === 'beat') continue;
			if ('closed' in line) throw toError(line.closed);
			events.push(line.event);
		}
	} catch (cause) {
		throw cause instanceof RunletError ? cause : new RunletError('overloaded', createLost().message, {}, { cause });
	}
	return toAnswer(format, events);
}

function toError({ code, message, data }: Failure): RunletError {
	return new RunletError(code, message, data);
}

function createLost(): RunletError {
	const remedy = 'Read its answer in the session that the header Runlet-Session names';
	return new RunletError('interrupted', `The connection to the run broke off, and the run may go on. ${remedy}.`);
}
