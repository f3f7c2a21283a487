import type { JsonSchema, Tool } from '../tool/index.ts';
import { isSchema, toJsonSchema } from '../tool/schema.ts';
import { dropCompacted } from './conversation.ts';
import { estimateAudio, estimateRequest } from './estimate.ts';
import type { Emit } from './event.ts';
import type { Message } from './message.ts';
import type { Meter, MeteredRequest } from './meter.ts';
import { watchCall } from './model-call.ts';
import { addLostUsage, isCut, isRetryable, readUsage, retry, toModelError, withUsage } from './model-error.ts';
import type { ChatOptions } from './options.ts';
import type { CallOptions, Timeouts } from './provider.ts';
import { pickChoices } from './provider-tool.ts';
import { canTalk, dispatchChat, dispatchChatStream, findObstacle, findProvider } from './registry.ts';
import { isAnyObject, toCallChoice } from './requirements.ts';
import { raceAbort, toAbortError } from './signal.ts';
import { StreamedReply, type TurnReply } from './streamed-reply.ts';
import { addUsage, type ChatUsage } from './usage.ts';

export interface TurnReaders {
	readonly emit: Emit;
	/** Whether readers have seen a part of a reply that may still be dropped. */
	isShown: boolean;
	/** Tells the readers to drop what they have seen of the turn. */
	readonly restart: () => Promise<void>;
}

export interface TurnRequest {
	readonly options: ChatOptions;
	readonly messages: readonly Message[];
	readonly system?: string;
	readonly tools?: readonly Tool[];
	/** The id of the call whose result brought a tool, by the tool's name. */
	readonly foundBy?: ReadonlyMap<string, string>;
	readonly stream: boolean;
	readonly signal: AbortSignal;
	readonly readers: TurnReaders;
}

interface MeteredTurn extends TurnRequest {
	readonly inputTokens: number;
	/** Whether the reply may have the full length of the options. */
	readonly isWhole?: boolean;
	/** Called if the meter refuses the request. Neither a retry nor a fallback helps then. */
	readonly onRefused: () => void;
}

/**
 * Asks a model for one turn. Retries a failure that may pass, then asks the fallbacks. If readers have seen a part of a
 * failed try, `turn.restarted` comes before the next try. Errors of the meter are not retried. A reply without
 * streaming is emitted as one delta. The usage includes failed tries. Throws a `RunletError`.
 */
export async function askModel(turn: TurnRequest): Promise<TurnReply> {
	const { options, signal, readers } = turn;
	const fallbacks = [...(options.fallbacks ?? [])];
	let lost: ChatUsage = {};
	let isRefused = false;
	const onRefused = (): void => {
		isRefused = true;
	};
	for (let model = options.model; ; ) {
		const { maxRetries = 2, timeouts } = findLimits(options, model);
		const messages = dropCompacted(turn.messages, findVariant(options, model));
		const inputTokens = await estimateInput({ ...turn, messages }, model);
		const request = { ...turn, messages, inputTokens, onRefused };
		try {
			const reply = await retry(() => tryModel(request, model, timeouts), {
				model,
				maxRetries,
				signal,
				mayRetry: () => !isRefused,
				addLost: addLostUsage,
			});
			return addLostUsage(reply, lost);
		} catch (thrown) {
			const failure = toModelError(thrown, model);
			lost = addUsage(lost, readUsage(failure));
			const error = withUsage(failure, lost);
			if (signal.aborted || isRefused || !isRetryable(error)) throw error;
			const next = await findNextReady(options, fallbacks, readers.emit);
			if (next === undefined) throw error;
			const message = `${model} could not be reached (${error.code}); asking ${next}.`;
			await readers.emit({ type: 'warning', code: 'fallback', message });
			model = next;
		}
	}
}

/** Estimates the tokens of a request, if a meter needs them. They depend on the provider of the model. */
async function estimateInput(request: TurnRequest, model: string): Promise<number> {
	const { options, messages, system, tools, signal } = request;
	if (options.meter === undefined) return 0;
	const outputSchema = toSentSchema(options.outputSchema);
	return raceAbort(estimateRequest({ ...options, model, system, outputSchema }, messages, tools), signal);
}

/** Makes one request. Repeats it with the full length if the budget cut the reply off. */
async function tryModel(request: MeteredTurn, model: string, timeouts: Timeouts): Promise<TurnReply> {
	const { meter } = request.options;
	const { reply, streamed } = await requestReply(request, model, timeouts);
	if (reply.stopReason !== 'max_tokens' || meter?.isShort !== true) return reply;
	await meter.lost(reply.usage, reply.usage === undefined, streamed.countTokens(), streamed.hidden);
	request.readers.isShown ||= streamed.isShown;
	const lost = reply.usage ?? {};
	const whole = await requestReply({ ...request, isWhole: true }, model, timeouts).catch((thrown: unknown) => {
		const error = toModelError(thrown, model);
		throw withUsage(error, addUsage(lost, readUsage(error)));
	});
	return addLostUsage(whole.reply, lost);
}

/** Makes one request. Tells the meter the cost of a failure. */
async function requestReply(request: MeteredTurn, model: string, timeouts: Timeouts) {
	const { options, inputTokens, isWhole, stream, signal, readers, onRefused } = request;
	const { meter, maxReplyBytes } = options;
	const inputAudioTokens = Math.min(inputTokens, estimateAudio(model, request.messages));
	const choices = { ...pickChoices(options), cache: options.cache, inputAudioTokens };
	const metered = { model, inputTokens, choices, maxOutputTokens: options.maxOutputTokens, isWhole, signal };
	const maxOutputTokens = meter === undefined ? options.maxOutputTokens : await reserve(meter, metered, onRefused);
	if (signal.aborted) {
		await meter?.lost(undefined, false, 0);
		throw toAbortError(signal);
	}
	const streamed = new StreamedReply(readers.emit, options.takenIds);
	try {
		if (readers.isShown) {
			await readers.restart();
			readers.isShown = false;
		}
		const call = toModelCall(request, model, maxOutputTokens);
		const reply = await watchCall(call, (delta) => streamed.take(delta), {
			model,
			stream,
			timeouts,
			signal,
			maxReplyBytes,
		});
		return { reply: await streamed.complete(reply, model), streamed };
	} catch (thrown) {
		const failure = toModelError(thrown, model);
		const error = readUsage(failure) === undefined ? withUsage(failure, streamed.usage ?? {}) : failure;
		const { isShown } = streamed;
		const cut = signal.aborted || isShown || isCut(error);
		await meter?.lost(readUsage(error), cut, streamed.countTokens(), streamed.hidden);
		readers.isShown ||= isShown;
		throw error;
	} finally {
		streamed.close();
	}
}

async function reserve(meter: Meter, request: MeteredRequest, onRefused: () => void): Promise<number | undefined> {
	try {
		return await meter.reserve(request);
	} catch (error) {
		onRefused();
		throw error;
	}
}

function toModelCall(
	{ options, messages, system, tools, foundBy, stream }: TurnRequest,
	model: string,
	maxOutputTokens: number | undefined,
): Parameters<typeof watchCall>[0] {
	const target = { ...options, model, system };
	return (onDelta, signal, onActivity) => {
		const call: CallOptions = {
			...pickChoices(options),
			toolChoice: toCallChoice(options.toolChoice, messages),
			parallelToolCalls: options.parallelToolCalls,
			outputSchema: toSentSchema(options.outputSchema),
			reasoningEffort: options.reasoningEffort,
			cache: options.cache,
			cacheKey: options.cacheKey,
			foundBy,
			maxReplyBytes: options.maxReplyBytes,
			maxOutputTokens,
			signal,
			onActivity,
		};
		return stream
			? dispatchChatStream(target, messages, tools, onDelta, call)
			: dispatchChat(target, messages, tools, call);
	};
}

/** Returns the schema for the request. A schema for any object is part of the system prompt instead. */
function toSentSchema(schema: ChatOptions['outputSchema']): JsonSchema | undefined {
	if (isAnyObject(schema)) return undefined;
	return isSchema(schema) ? toJsonSchema(schema, 'outputSchema') : schema;
}

/** Takes the next ready fallback from the list. Warns of each other fallback. */
async function findNextReady(options: ChatOptions, fallbacks: string[], emit: Emit): Promise<string | undefined> {
	for (let model = fallbacks.shift(); model !== undefined; model = fallbacks.shift()) {
		if (canTalk(options)) return model;
		const obstacle = findObstacle({ ...options, model });
		if (obstacle === undefined) return model;
		const message = `The fallback ${model} is left out. ${obstacle.message}`;
		await emit({ type: 'warning', code: 'fallback_not_ready', message });
	}
	return undefined;
}

/** Returns the retries and timeouts of a call: those of the options, else those of the model's provider. */
function findLimits(options: ChatOptions, model: string): { maxRetries?: number; timeouts: Timeouts } {
	const { maxRetries, timeouts } = options;
	const own = findProvider({ ...options, model });
	return { maxRetries: maxRetries ?? own?.maxRetries, timeouts: { ...own?.timeouts, ...timeouts } };
}

/** Returns the name of a model's provider. Missing for the options' own functions. */
export function findVariant(options: ChatOptions, model = options.model): string | undefined {
	return findProvider({ ...options, model })?.variant;
}
