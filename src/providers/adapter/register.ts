import * as v from 'valibot';
import { attempt, chargedReply, retrying } from '../../chat/attempt.ts';
import { withUsage } from '../../chat/failure.ts';
import {
	type CallOptions,
	type ChatReply,
	type ChatUsage,
	type Message,
	type OnDelta,
	type ProviderMeta,
	type ProviderRegistration,
	prefixDetector,
	type Timeouts,
	type ToolChoice,
} from '../../chat/index.ts';
import { abortable, abortError } from '../../chat/signal.ts';
import { check } from '../../check.ts';
import { RunletError } from '../../errors.ts';
import { type JsonSchema, providerName, type Tool } from '../../tool/index.ts';
import { done, eventBatches } from './events.ts';
import { type Caller, complaintOf, notTheApi, toProviderError } from './failure.ts';
import { isJson, type Json } from './json.ts';
import { contextWindowOf, costOf, loadPrices } from './price.ts';
import { type ReplyBuilder, replyBuilder } from './reply.ts';

/** What every provider function takes. */
export interface ProviderSettings {
	/** Sent to the provider and nowhere else; never in a message. Without one its models are known but cannot be asked. */
	readonly apiKey: string | undefined;
	/** Where the API is, as the provider's own SDK takes it: a gateway, a proxy, a server of your own. */
	readonly baseURL?: string | undefined;
	/** Further headers of each request. */
	readonly headers?: Readonly<Record<string, string>> | undefined;
	/** Further fields of each request's body, in the API's own words (`temperature`, server tools, …). Lists are joined. */
	readonly body?: Readonly<Record<string, unknown>> | undefined;
	/** Makes the requests; the global `fetch`. */
	readonly fetch?: typeof fetch | undefined;
	/** Retries of a failed call: 2 in a run; a function called by itself makes one request unless this says more. */
	readonly maxRetries?: number | undefined;
	/** How long a call may take to begin, and to go on. */
	readonly timeouts?: Timeouts | undefined;
}

const settingsSchema = v.object({
	apiKey: v.optional(v.string()),
	baseURL: v.optional(
		v.pipe(
			v.string(),
			v.url('must be a URL, such as https://example.com'),
			v.regex(/^https?:/i, 'must begin with https:// or http://'),
			v.check((url) => !/[?#]/.test(url), 'must have no query; what is wanted there may go into headers'),
		),
	),
	maxRetries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
});

/** The settings of a provider function, checked; a mistake is `invalid_request` that names the field. */
export function checkSettings(name: string, settings: Partial<ProviderSettings>): void {
	if (settings === undefined || settings === null)
		throw new RunletError('invalid_request', `${name}: missing. Call ${name}({ apiKey: … }).`, { field: name });
	check(settingsSchema, settings, name);
}

/** Texts that no error may show: the key, and what stands in headers or in the base URL to prove who asks. */
function secretsOf({ apiKey, headers = {}, baseURL = '' }: Partial<ProviderSettings>): readonly string[] {
	const telling = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name));
	const { username = '', password = '' } = URL.canParse(baseURL) ? new URL(baseURL) : {};
	const words = telling.flatMap(([, value]) => value.split(/[\s;,=]+/));
	return [apiKey ?? '', ...words, username, password, decodeURIComponent(password)].filter(({ length }) => length > 3);
}

/** A tool as a provider sees it: its name is safe on the wire. */
export interface WireTool {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: JsonSchema;
}

/** One request, prepared: names are aliases already, and the model has no prefix. */
export interface ModelRequest {
	readonly model: string;
	readonly messages: readonly Message[];
	readonly system: string | undefined;
	readonly tools: readonly WireTool[];
	readonly toolChoice: ToolChoice | undefined;
	readonly maxOutputTokens: number | undefined;
	readonly outputSchema: JsonSchema | undefined;
	readonly reasoningEffort: CallOptions['reasoningEffort'];
	readonly stream: boolean;
	readonly signal: AbortSignal;
}

/** Reads one answer into its reply builder. */
export interface ReplyReader {
	/** One event of a stream. A promise means that the reader of the run is behind. */
	readonly event: (event: Json) => undefined | Promise<void>;
	/** A whole answer. */
	readonly body: (body: Json) => undefined | Promise<void>;
	/** The stream ended, without an end or with `data: [DONE]`. */
	readonly end?: (how: 'eof' | 'done') => void;
}

/** What an adapter writes: how a provider is asked, and how its answers are read. */
export interface Adapter {
	readonly variant: string;
	readonly displayName: string;
	readonly detect: (model: string) => boolean;
	/** In front of a model's name, for Runlet only. */
	readonly prefix?: string | undefined;
	/** The variable that holds the key in a Worker, for remedies. */
	readonly keyName?: string | undefined;
	/** What is missing for it to talk, where something is; it then only knows its models. */
	readonly needs?: string | undefined;
	readonly meta: ProviderMeta;
	/** Makes the request. Resolves to a success; throws what the SDK throws. */
	readonly send: (request: ModelRequest) => Promise<Response>;
	readonly reader: (reply: ReplyBuilder, request: ModelRequest) => ReplyReader;
	readonly embed?:
		| ((model: string, texts: readonly string[], signal: AbortSignal) => Promise<readonly (readonly number[])[]>)
		| undefined;
	readonly countTokens?: ((request: ModelRequest) => Promise<number>) | undefined;
}

/**
 * An adapter as the loop takes it. Here is what all of them share: aliases, timeouts and retries of direct calls, reading
 * a stream until its terminal event and closing it, errors, usage and its cost.
 */
export function register(adapter: Adapter, settings: Partial<ProviderSettings>): ProviderRegistration {
	const { variant, displayName, detect, keyName, embed, countTokens } = adapter;
	const { maxRetries, timeouts } = settings;
	const secrets = secretsOf(settings);
	const caller = (model: string): Caller => ({ displayName, variant, model, secrets, keyName });
	// A provider may know models of its own that have no prefix.
	const { prefix = '' } = adapter;
	const prefixed = prefixDetector(prefix);
	const bare = (model: string): string => (prefixed(model) ? model.slice(prefix.length) : model);

	const call = async (
		model: string,
		messages: readonly Message[],
		system: string | undefined,
		tools: readonly Tool[] = [],
		onDelta: OnDelta,
		options: CallOptions = {},
		stream: boolean,
	): Promise<ChatReply> => {
		const { signal = new AbortController().signal, ...told } = options;
		let shown = false;
		const note: OnDelta = (delta) => {
			shown = true;
			return onDelta(delta);
		};
		const names = ownNames(tools);
		const once = () =>
			attempt(
				(take, either, seen) => {
					const alive = (): void => {
						seen();
						options.onActivity?.();
					};
					const request = requestOf({
						model: bare(model),
						messages,
						system,
						tools,
						options: told,
						stream,
						signal: either,
					});
					return ask(adapter, request, caller(model), named(take, names), alive);
				},
				note,
				{ model, stream, timeouts: { ...timeouts, ...options.timeouts }, signal },
			);
		const reply = await retrying(once, {
			model,
			maxRetries: options.maxRetries ?? maxRetries ?? 0,
			signal,
			mayRetry: () => !shown,
			charged: chargedReply,
		});
		return { ...reply, toolCalls: reply.toolCalls?.map((one) => ({ ...one, name: names.get(one.name) ?? one.name })) };
	};

	const about = {
		variant,
		displayName,
		detect,
		maxRetries,
		timeouts,
		meta: adapter.meta,
		contextWindow: (model: string) => contextWindowOf(variant, bare(model)),
	};
	const needs = adapter.needs ?? (keyName !== undefined && !settings.apiKey ? keyName : undefined);
	if (needs !== undefined) return { ...about, needs };
	return {
		...about,
		chatFn: (model, messages, system, tools, options) =>
			call(model, messages, system, tools, () => undefined, options, false),
		chatStreamFn: (model, messages, system, tools, onDelta, options) =>
			call(model, messages, system, tools, onDelta, options, true),
		...(embed !== undefined && {
			embedFn: (model, texts, options = {}) => {
				const { signal = new AbortController().signal } = options;
				return retrying(() => guarded(() => embed(bare(model), texts, signal), caller(model), signal), {
					model,
					maxRetries: options.maxRetries ?? maxRetries ?? 0,
					signal,
				});
			},
		}),
		...(countTokens !== undefined && {
			countTokens: (messages, model) => {
				const { signal } = new AbortController();
				const request = requestOf({
					model: bare(model),
					messages,
					system: undefined,
					tools: [],
					options: {},
					stream: false,
					signal,
				});
				return guarded(() => countTokens(request), caller(model), signal);
			},
		}),
	};
}

async function guarded<T>(work: () => Promise<T>, caller: Caller, signal: AbortSignal): Promise<T> {
	try {
		return await abortable(work(), signal);
	} catch (thrown) {
		throw signal.aborted ? abortError(signal) : toProviderError(thrown, caller);
	}
}

async function ask(
	adapter: Adapter,
	request: ModelRequest,
	caller: Caller,
	onDelta: OnDelta,
	alive: () => void,
): Promise<ChatReply> {
	const { signal } = request;
	const started = Date.now();
	const reply = replyBuilder(onDelta, adapter.variant, caller.model);
	// Fetched while the model thinks; what goes wrong shows when a price is asked for.
	loadPrices().catch(() => {});
	const usage = async (): Promise<ChatUsage> => {
		const { raw, usage } = reply.usageSoFar();
		const costUsd = await costOf(adapter.variant, [reply.answeredBy(), request.model], raw, usage);
		return { ...usage, ...(costUsd !== undefined && { costUsd }), latencyMs: Date.now() - started };
	};
	try {
		const response = await adapter.send(request);
		await read(response, adapter.reader(reply, request), reply, request, caller, alive);
		if (reply.finished()) return await reply.close(await usage());
		throw new RunletError('interrupted', 'the reply broke off before its end.');
	} catch (thrown) {
		const error = signal.aborted ? abortError(signal) : toProviderError(thrown, caller);
		throw Object.keys(reply.usageSoFar().raw).length > 0 ? withUsage(error, await usage()) : error;
	}
}

async function read(
	response: Response,
	reader: ReplyReader,
	reply: ReplyBuilder,
	{ stream, signal }: ModelRequest,
	caller: Caller,
	alive: () => void,
): Promise<void> {
	if (!response.ok) throw await complaintOf(response);
	const type = response.headers.get('content-type') ?? '';
	if (type.includes('text/html')) {
		await response.body?.cancel();
		throw notTheApi(caller);
	}
	// A server that cannot stream may answer with a whole reply.
	if (!stream || type.includes('application/json')) {
		const body = parsed(await response.text());
		if (isJson(body)) return reader.body(body);
		if (!Array.isArray(body))
			throw new RunletError('interrupted', 'the answer is no JSON; it was cut or changed on its way.');
		// Google lists the events of a stream, and errors, where nobody asks for server-sent ones.
		for (const event of body.filter(isJson)) await reader.event(event);
		reader.end?.('eof');
		return;
	}
	for await (const batch of eventBatches(response, signal)) {
		alive();
		for (const event of batch) {
			if (event === done) {
				reader.end?.('done');
				return;
			}
			const room = reader.event(event);
			if (room !== undefined) await room;
			if (reply.finished()) return;
		}
	}
	if (!signal.aborted) reader.end?.('eof');
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function requestOf(given: {
	readonly model: string;
	readonly messages: readonly Message[];
	readonly system: string | undefined;
	readonly tools: readonly Tool[];
	readonly options: CallOptions;
	readonly stream: boolean;
	readonly signal: AbortSignal;
}): ModelRequest {
	const { model, messages, system, tools, options, stream, signal } = given;
	const { toolChoice, maxOutputTokens, outputSchema, reasoningEffort } = options;
	return {
		model,
		messages,
		system,
		tools: tools.map(({ name, description = '', inputSchema }) => ({
			name: providerName(name),
			description,
			inputSchema,
		})),
		toolChoice: typeof toolChoice === 'object' ? { name: providerName(toolChoice.name) } : toolChoice,
		maxOutputTokens,
		outputSchema,
		reasoningEffort,
		stream,
		signal,
	};
}

/** A request's body with the fields that a user adds: objects are merged, lists joined, and anything else replaced. */
export function withBody(body: Json, more: Json = {}): Json {
	const merged: Record<string, unknown> = { ...body };
	for (const [key, value] of Object.entries(more)) {
		const own = merged[key];
		if (Array.isArray(own) && Array.isArray(value)) merged[key] = [...own, ...value];
		else merged[key] = isJson(own) && isJson(value) ? { ...own, ...value } : value;
	}
	return merged;
}

/** Own names by their aliases, of the tools that need one. */
function ownNames(tools: readonly Tool[]): ReadonlyMap<string, string> {
	const pairs = tools.map(({ name }) => [providerName(name), name] as const);
	return new Map(pairs.filter(([alias, name]) => alias !== name));
}

function named(take: OnDelta, names: ReadonlyMap<string, string>): OnDelta {
	if (names.size === 0) return take;
	return (delta) => {
		if (delta.type !== 'tool_use_start' || typeof delta.name !== 'string') return take(delta);
		return take({ ...delta, name: names.get(delta.name) ?? delta.name });
	};
}
