import { createFieldError, RunletError, toMessageText } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { type ProviderRegistration, prefixDetector, type ReasoningEffort, renderPart } from '../chat/index.ts';
import type { ModelRequest } from './adapter/adapter.ts';
import { roundEffort } from './adapter/body.ts';
import { readError } from './adapter/bounded.ts';
import { ProviderComplaint } from './adapter/failure.ts';
import { getNumber, getNumbers, getObject, getObjects, getString, type Json, readJson } from './adapter/json.ts';
import { register } from './adapter/register.ts';
import { capLength, checkSettings, type ProviderSettings, withBody } from './adapter/settings.ts';
import { readVectorUsage, requestInBatches } from './adapter/vectors.ts';
import { toChatChoices } from './dialects/chat/provider-tools.ts';
import { ChatReader } from './dialects/chat/reader.ts';
import { type ChatDialect, toChatBody } from './dialects/chat/request.ts';

/** The part of the Workers AI binding (`env.AI`) that Runlet uses. */
export interface AiBinding {
	run(
		model: string,
		inputs: Record<string, unknown>,
		options?: { readonly returnRawResponse?: boolean; readonly signal?: AbortSignal },
	): Promise<unknown>;
}

export interface WorkersAiSettings extends Pick<ProviderSettings, 'body' | 'maxRetries' | 'timeouts' | 'price'> {
	/** The binding. Without a binding, the provider recognizes its models but cannot call them. */
	readonly binding: AiBinding | undefined;
	/** Further options of each `run`, such as `{ gateway: { id: 'my-gateway' } }`. */
	readonly options?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The models of Cloudflare's Workers AI, such as `workers-ai/@cf/meta/llama-4-scout-17b-16e-instruct`. Uses the
 * Worker's binding and needs no key. Only some models can use tools.
 */
export function workersAi(settings: WorkersAiSettings): ProviderRegistration {
	checkSettings('workersAi', settings);
	const { binding, options, body: more } = settings;
	if (binding !== undefined && typeof binding?.run !== 'function')
		throw createFieldError('invalid_request', 'binding', 'is none. Call workersAi({ binding: env.AI }).');
	const run = async (
		model: string,
		inputs: Record<string, unknown>,
		signal: AbortSignal,
		session?: string,
	): Promise<Response> => {
		// Requests of one session reach the same machine, which has the prompt in its cache.
		const affinity = session === undefined ? {} : { extraHeaders: { 'x-session-affinity': session } };
		// The raw response has the status, and shows whether the answer is a stream.
		let response: Response;
		try {
			response = toFetchResponse(
				await binding?.run(model, inputs, { ...affinity, ...options, signal, returnRawResponse: true }),
			);
		} catch (thrown) {
			throw signal.aborted ? thrown : complaintOfError(thrown);
		}
		if (!response.ok) throw await complaintOfResponse(response);
		return response;
	};
	return register(
		{
			variant: 'workers-ai',
			displayName: 'Workers AI',
			prefix: 'workers-ai/',
			detect: prefixDetector('workers-ai/'),
			needs: binding === undefined ? 'the AI binding' : undefined,
			meta: { vision: true, audio: false, reasoning: true },
			choose: (choices) => toChatChoices({ providerTools: choices.providerTools }, 'Workers AI'),
			send: (request, fields) => {
				const session = request.cache === false ? undefined : request.cacheKey;
				return run(request.model, { ...withBody(toInputs(request), fields) }, request.signal, session);
			},
			reader: (reply, request) => {
				const chat = new ChatReader(reply);
				const longest =
					getNumber(capLength(more ?? {}, request.maxOutputTokens), 'max_tokens') ??
					request.maxOutputTokens ??
					findUsualLength(request.model);
				return {
					event: (event) => chat.event(readChat(checkAnswer(event), 'delta', longest)),
					body: (body) => chat.body(readChat(checkAnswer(unwrap(body)), 'message', longest)),
					end: (how) => chat.end(how),
				};
			},
			embed: (model, texts, signal, onUsage) =>
				requestInBatches(texts, embeddingsAtOnce, async (text) => {
					const answer: unknown = await (await run(model, { text }, signal)).json();
					const found = isRecord(answer) ? checkAnswer(unwrap(answer)) : {};
					onUsage(readVectorUsage(found));
					return Array.isArray(found.data) ? found.data.map(getNumbers) : [];
				}),
		},
		settings,
	);
}

/** The maximum number of texts in one embeddings request. */
const embeddingsAtOnce = 100;

/** Converts the answer of a binding to a response. The answer is a response, a stream or an object. */
function toFetchResponse(answer: unknown): Response {
	if (isResponse(answer)) return answer;
	if (answer instanceof ReadableStream)
		return new Response(answer, { headers: { 'content-type': 'text/event-stream' } });
	return Response.json(answer ?? {});
}

/** Also recognizes responses of another JavaScript realm, because the proxy of a binding returns them. */
function isResponse(answer: unknown): answer is Response {
	return answer instanceof Response || Object.prototype.toString.call(answer) === '[object Response]';
}

/** The effort levels by model (@cloudflare/workers-types). The first match counts. `[]`: thinking is only on or off. */
const efforts: readonly (readonly [model: RegExp, steps: readonly ReasoningEffort[]])[] = [
	[/kimi-k2\.6/i, ['none', 'high']],
	[/kimi-k2\.7|glm-4|gemma-4|nemotron/i, []],
	[/glm-5\.[012]/i, ['none', 'high', 'max']],
	[/glm-5/i, ['low', 'high', 'max']],
	[/deepseek-v4/i, ['none', 'low', 'high', 'max']],
	[/qwen3\.8/i, ['low', 'medium', 'xhigh']],
	[/^/, ['low', 'medium', 'high']],
];

function toEffort(effort: ReasoningEffort, model: string): Json {
	const steps = efforts.find(([pattern]) => pattern.test(model))?.[1] ?? [];
	if (steps.length > 0) return { reasoning_effort: roundEffort(effort, steps) };
	return /kimi/i.test(model) ? {} : { chat_template_kwargs: { enable_thinking: effort !== 'none' } };
}

const dialect: ChatDialect = { variant: 'workers-ai', audio: false, pdf: false, effort: toEffort };

/** Older models. They take no images by URL, and stop after 256 tokens unless the request sets a limit. */
const older = /llama|mistral|gemma-[23]|qwq|qwen(1|2|3-)|deepseek-(math|coder|r1)|hermes|granite|sea-lion/i;

function findUsualLength(model: string): number | undefined {
	return older.test(model) ? 2_048 : undefined;
}

function toInputs(request: ModelRequest): Json {
	const { model, ...inputs } = toChatBody(request, dialect);
	const { outputSchema } = request;
	const length = findUsualLength(request.model);
	return {
		...(length !== undefined && { max_tokens: length }),
		...inputs,
		messages: getObjects(inputs, 'messages').map((message) => toChatMessage(message, length === undefined)),
		// Older models accept the schema itself. Newer models accept the schema inside an object.
		...(outputSchema !== undefined &&
			length !== undefined && { response_format: { type: 'json_schema', json_schema: outputSchema } }),
	};
}

/** Converts a message. The binding refuses `content: null`. Older models refuse images by URL. */
function toChatMessage(message: Json, fetches: boolean): Json {
	if (message.content === null) return { ...message, content: '' };
	if (fetches || !Array.isArray(message.content)) return message;
	const content = getObjects(message, 'content').map((part) => {
		const url = getString(getObject(part, 'image_url'), 'url');
		if (url === undefined || url.startsWith('data:')) return part;
		return { type: 'text', text: renderPart({ kind: 'image', url }) };
	});
	return { ...message, content };
}

/**
 * Converts a reply, or a piece of a reply, to the form of Chat Completions. Older models answer with `{ response,
 * tool_calls }` and without a stop reason. A reply of the maximum length counts as cut off.
 */
function readChat(from: Json, key: 'delta' | 'message', longest = Number.POSITIVE_INFINITY): Json {
	if (Array.isArray(from.choices) || (from.response === undefined && from.tool_calls === undefined)) return from;
	const cut = (getNumber(getObject(from, 'usage'), 'completion_tokens') ?? 0) >= longest;
	const finish = getString(from, 'finish_reason') ?? (cut ? 'length' : key === 'message' ? 'stop' : null);
	const message = { content: readText(from), tool_calls: readCalls(from) };
	return { choices: [{ index: 0, [key]: message, finish_reason: finish }], usage: from.usage };
}

/** Returns the text of an older model's reply. A reply that is JSON arrives as a parsed value. */
function readText({ response }: Json): string {
	if (response === undefined || response === null) return '';
	return typeof response === 'string' ? response : JSON.stringify(response);
}

/** Converts the calls of an older model, `{ name, arguments }`, to the form of Chat Completions. */
function readCalls(from: Json): Json[] {
	return getObjects(from, 'tool_calls').map((call) => {
		if (isRecord(call.function)) return call;
		const { name, arguments: args, ...rest } = call;
		return { ...rest, function: { name, arguments: args ?? {} } };
	});
}

/** Unwraps the `{ result: … }` of Cloudflare's REST API and of some gateways. */
function unwrap(body: Json): Json {
	return isRecord(body.result) && body.choices === undefined ? body.result : body;
}

/** Throws if the answer is a failure, even if its status is 200. */
function checkAnswer(answer: Json): Json {
	const failed =
		isRecord(answer.error) || typeof answer.internalCode === 'number' || getObjects(answer, 'errors').length > 0;
	if (failed) throw findComplaint(answer, undefined);
	return answer;
}

/** The HTTP status and the name of each error code (developers.cloudflare.com/workers-ai/platform/errors). */
const codes: Readonly<Record<string, readonly [status: number, word: string]>> = {
	3003: [400, 'invalid_request'],
	3006: [413, 'request_too_large'],
	3007: [408, 'timeout_error'],
	3008: [408, 'timeout_error'],
	3010: [400, 'invalid_request'],
	3023: [403, 'permission_denied'],
	3036: [429, 'insufficient_quota'],
	3039: [400, 'invalid_request'],
	3040: [503, 'overloaded'],
	3041: [403, 'permission_denied'],
	3042: [404, 'model_not_found'],
	4006: [429, 'insufficient_quota'],
	5004: [400, 'invalid_request'],
	5005: [405, 'invalid_request'],
	5007: [404, 'model_not_found'],
	5016: [403, 'permission_denied'],
	5018: [403, 'permission_denied'],
	5019: [405, 'invalid_request'],
	5021: [400, 'invalid_request'],
	10000: [401, 'unauthorized'],
};

async function complaintOfResponse(response: Response): Promise<ProviderComplaint> {
	const text = await readError(response).catch(() => '');
	const body = parseObject(text);
	return body === undefined
		? complaintOfText(text, response.status, response.headers)
		: findComplaint(body, response.status, response.headers);
}

/** Converts an error of `run`, whose message begins with the code: `3040: Capacity temporarily exceeded`. */
function complaintOfError(thrown: unknown): unknown {
	const text = toMessageText(thrown);
	if (/run remotely/i.test(text)) return createOnlyRemote();
	const body = parseObject(text);
	if (body !== undefined) return findComplaint(body, undefined);
	const known = findCode(text) !== undefined || /timeout/i.test(text);
	const isOfService = thrown instanceof Error && /^(InferenceUpstream|AiInternal|Ai)Error$/.test(thrown.name);
	return known || isOfService ? complaintOfText(text, undefined) : thrown;
}

/** The error under `wrangler dev` without a remote binding: the models run only at Cloudflare. */
function createOnlyRemote(): RunletError {
	const remedy = 'Log in with npx wrangler login and set remote = true under [ai] in wrangler.toml, or deploy.';
	return new RunletError('not_configured', `Workers AI runs at Cloudflare only. ${remedy}`, { needs: 'remote = true' });
}

/** Reads `{ internalCode, description }`, `{ errors: [{ code, message }] }`, or an error in OpenAI's form. */
function findComplaint(body: Json, status: number | undefined, headers?: Headers): ProviderComplaint {
	const error = isRecord(body.error) ? body.error : (getObjects(body, 'errors')[0] ?? body);
	const code = getNumber(error, 'internalCode') ?? getNumber(error, 'code') ?? Number(getString(error, 'code'));
	const text = getString(error, 'description') ?? getString(error, 'message') ?? '';
	const named = codes[code] === undefined ? findCode(text) : code;
	if (named === undefined) return new ProviderComplaint({ status, headers, body });
	return complaintOfText(findCode(text) === undefined ? `${named}: ${text}` : text, status, headers);
}

function complaintOfText(text: string, status: number | undefined, headers?: Headers): ProviderComplaint {
	const known = codes[findCode(text) ?? ''];
	if (known === undefined && status !== undefined) return new ProviderComplaint({ status, headers, body: text });
	const [own, word] = known ?? [undefined, /timeout/i.test(text) ? 'timeout_error' : 'server_error'];
	return new ProviderComplaint({ status: own, headers, body: { error: { message: text, code: word } } });
}

/** Returns the code at the beginning of a message. Error names can precede the code. */
function findCode(text: string): number | undefined {
	const code = /^(?:\w*Error\b:?\s*)*(\d{4,5}):/.exec(text.trim())?.[1];
	return code === undefined ? undefined : Number(code);
}

function parseObject(text: string): Json | undefined {
	const value = readJson(text);
	return isRecord(value) ? value : undefined;
}
