import type { Context } from 'hono';
import { toBase64Url } from '../../core/base/bytes.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import type { Agent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { hasWebSearch, listToolNames } from '../agent/tool-names.ts';
import { findKeyId } from '../auth/identity.ts';
import { hasRight } from '../auth/rights.ts';
import { readConfig } from '../config/config.ts';
import { log, toFailureFields } from '../log.ts';
import { askDirectory } from '../objects/directory/api.ts';
import type { Once } from '../objects/once.ts';
import type { ConversationUpdate, Handling } from '../objects/session-api.ts';
import { toConversation } from '../wire/protocols/openai/conversation.ts';
import { createCompletion } from '../wire/protocols/openai/endpoints.ts';
import { refusalResponse, runFailureResponse } from '../wire/protocols/openai/error.ts';
import type { CompletionFormat } from '../wire/protocols/openai/protocol.ts';
import {
	type AnswerForm,
	assertOwnCalls,
	readAnswerForm,
	readClientTools,
	readToolChoice,
} from '../wire/protocols/openai/request.ts';
import type { CompletionRequest } from '../wire/protocols/openai/schema.ts';
import { getPerson, type PersonCaller, type RouteEnv } from './identity.ts';
import { findModel } from './model-list.ts';
import { createSessionId, mount, readHandling } from './request.ts';
import { askSession, toRunResponse, toSessionName } from './respond.ts';

/** Milliseconds from the last activity to the removal of a session, if the request names no session. */
const fleetingMs = 3_600_000;

/** `/v1/chat/completions`: serves agents as models of OpenAI's Chat Completions (docs/openai.md). */
export function createCompletionRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(createCompletion, async (c) => {
			const caller = getPerson(c);
			const { owner } = caller;
			const body = c.req.valid('json');
			const user = findUser(caller, body);
			const { agent, model } = findModel(agents, body.model, readConfig(c.env).model);
			const form = readAnswerForm(body);
			const resend = await readResend(c);
			const handling = createHandling(c, body, form);
			const how = { ...handling, once: handling.once ?? resend };
			const { id, isNew, isUnknown } = await findSession(c, { caller, user, agent }, how, resend);
			const isKept = c.req.header(sessionHeader) !== undefined;
			const update = await toUpdate(body, { agent, model, caller, user, isKept, form });
			const { create, ...rest } = update;
			const answered = askSession(c, id, (one) => one.converse(caller, isNew ? update : rest, how)).then(
				(outcome) => toRunResponse(outcome, { toFailure: runFailureResponse }),
				(error: unknown) => {
					if (how.once === undefined && mayHaveBegun(error)) return runFailureResponse(createLostError());
					if (isAnswer(error)) return refusalResponse(error);
					throw error;
				},
			);
			const [response] = await Promise.all([
				answered,
				isUnknown && resend && noteSent(c, owner, resend, id.toString()),
			]);
			if (response.status !== 404) response.headers.set(sessionHeader, id.toString());
			return response;
		}),
	];
}

const sessionHeader = 'Runlet-Session';

/** Whether the session itself sent this error. If the session did not answer, the error has a `cause`. */
function isAnswer(error: unknown): boolean {
	return error instanceof RunletError && error.cause === undefined;
}

/**
 * Whether the request has possibly begun a run: the session's error names a run, or the session did not answer, but was
 * not overloaded.
 */
function mayHaveBegun(error: unknown): boolean {
	if (!(error instanceof RunletError)) return false;
	if (isAnswer(error)) return error.code === 'storage_unavailable' && error.data?.run !== undefined;
	return error.code === 'overloaded' && Reflect.get(Object(error.cause), 'overloaded') !== true;
}

/** The error for a lost answer. The request had no key, so a retry would start a second run. */
function createLostError(): RunletError {
	const remedy = `Look into the session that ${sessionHeader} names, or send an Idempotency-Key with the next request`;
	return new RunletError('interrupted', `The answer was lost, and its run may go on. ${remedy}.`);
}

/** Returns the user that the request names, if the caller can name users. Otherwise returns the caller's own user. */
function findUser({ by, role }: PersonCaller, { user, safety_identifier: id, metadata }: CompletionRequest) {
	return (hasRight(role, 'nameUser') ? (user ?? id ?? metadata?.user) : undefined) ?? by.user;
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

/**
 * Returns the session that the header names by its id or by the client's own name. Without the header, returns a new
 * session, or for a retry the session of the first attempt. `isUnknown`: the session is not stored for retries yet.
 */
async function findSession(
	c: Context<RouteEnv>,
	{ caller, user, agent: { name } }: Pick<Known, 'caller' | 'user' | 'agent'>,
	how: Handling,
	resend: Once | undefined,
): Promise<{ readonly id: DurableObjectId; readonly isNew: boolean; readonly isUnknown?: boolean }> {
	const { sessions, placeSessions } = readConfig(c.env);
	const { owner } = caller;
	const ids = placeSessions({ owner, agent: name });
	const header = c.req.header(sessionHeader);
	if (header === undefined && resend !== undefined) {
		const before = await findResent(c, owner, resend);
		if (before !== undefined) return { id: sessions.idFromString(before), isNew: true };
		return { id: ids.newUniqueId(), isNew: true, isUnknown: true };
	}
	// If two persons send the same text as a key, it counts as two keys.
	const speaker = { ...caller, by: { ...caller.by, user } };
	if (header === undefined) return { id: createSessionId(c, speaker, name, how), isNew: true };
	const text = header.trim();
	if (text === '' || text.length > 200)
		throw createFieldError(
			'invalid_request',
			sessionHeader,
			'expected the id of a session, or a name of your own with 1 to 200 characters.',
		);
	try {
		return { id: sessions.idFromString(text), isNew: false };
	} catch {
		const ownName = toSessionName({ owner, user }, 'chat', name, text);
		return { id: ids.idFromName(ownName), isNew: true };
	}
}

interface Known {
	readonly agent: Agent;
	readonly model: string | undefined;
	readonly caller: PersonCaller;
	readonly user: string | undefined;
	readonly isKept: boolean;
	readonly form: AnswerForm;
}

async function toUpdate(
	body: CompletionRequest,
	{ agent, model, caller, user, isKept, form }: Known,
): Promise<ConversationUpdate> {
	const requested = { name: agent.name, toolNames: listToolNames(agent) };
	assertOwnCalls(body, requested);
	assertSearch(body, agent);
	const clientTools = readClientTools(body, requested);
	const { history, results, message } = toConversation(body.messages, { open: isKept });
	const { content: text, parts } = message ?? {};
	// Tool results without their calls belong to an existing session. They cannot start a new conversation.
	const isWhole = results.length === 0 || history.at(-1)?.role === 'assistant';
	const content = parts === undefined ? { text } : { parts };
	const expiresAfterMs = Math.min(agent.expiresAfterMs ?? fleetingMs, fleetingMs);
	const { owner, by } = caller;
	return {
		agent: agent.name,
		user,
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
		...(isWhole && { create: { agent: agent.name, owner, user, by, history, ...(!isKept && { expiresAfterMs }) } }),
	};
}

/** Refuses a request for web search if the agent has no web search: the answer would lack the search. */
function assertSearch({ web_search_options: options }: CompletionRequest, agent: Agent): void {
	if (options === undefined || options === null || hasWebSearch(agent)) return;
	const remedy = 'Leave it out, or use an agent with the tool web_search or with providerTools: ["web_search"]';
	throw createFieldError('invalid_request', 'web_search_options', `${agent.name} has no web search. ${remedy}.`);
}

/** Returns a key for the `openai` package, which counts its retries in a header but sends no `Idempotency-Key`. */
async function readResend(c: Context<RouteEnv>): Promise<Once | undefined> {
	const count = c.req.header('x-stainless-retry-count');
	const { identity, bodyText } = c.var;
	if (count === undefined || !/^\d{1,4}$/.test(count) || bodyText === undefined) return undefined;
	if (identity.kind !== 'person' || c.req.header('idempotency-key') !== undefined) return undefined;
	const bytes = new TextEncoder().encode(
		`${findKeyId(identity.by)} ${JSON.stringify(identity.by.user ?? null)} ${c.req.path} ${bodyText}`,
	);
	const request = toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
	// No Idempotency-Key has a space, so no client can send this key.
	return { key: `resent ${request}`, request, isFirst: Number(count) === 0 };
}

/** Finds the session of an earlier attempt. Throws if the read fails, because a second run would repeat the effects. */
async function findResent(
	c: Context<RouteEnv>,
	owner: string,
	{ request, isFirst }: Once,
): Promise<string | undefined> {
	if (isFirst) return undefined;
	return askDirectory(readConfig(c.env).directories, owner, (one) => one.findSent(request));
}

/** Stores the session of a request, for retries. Never throws. Without the entry, a retry counts as a new request. */
async function noteSent(c: Context<RouteEnv>, owner: string, { request }: Once, session: string): Promise<void> {
	try {
		await askDirectory(readConfig(c.env).directories, owner, (one) => one.noteSent(request, session));
	} catch (cause) {
		log('warn', 'request.not_noted', toFailureFields(cause));
	}
}
