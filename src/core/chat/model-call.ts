import { countBytes } from '../base/bytes.ts';
import { RunletError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { longestTimer, raceAbort, toAbortError, withTimeLimit } from '../base/promises.ts';
import type { JsonSchema, Tool } from '../tool/index.ts';
import { isSchema, toJsonSchema } from '../tool/schema.ts';
import { dropCompacted } from './conversation.ts';
import { estimateAudio, estimateRequest } from './estimate.ts';
import type { Emit } from './event.ts';
import type { Message } from './message.ts';
import type { Meter, MeteredRequest } from './meter.ts';
import { addLostUsage, isCut, isRetryable, readUsage, retry, toModelError, withUsage } from './model-error.ts';
import type { ChatOptions, SpanOfWork } from './options.ts';
import type { CallOptions, Timeouts } from './provider.ts';
import { pickChoices } from './provider-tool.ts';
import { canTalk, dispatchChat, dispatchChatStream, findObstacle, findProvider } from './registry.ts';
import { addUsage, type ChatReply, type ChatUsage, type OnDelta } from './reply.ts';
import { isAnyObject, toCallChoice } from './requirements.ts';
import { StreamedReply, type TurnReply } from './streamed-reply.ts';

/** The milliseconds to wait for the cost of an abandoned call. */
const lastWordMs = 50;

/** Notes a sign of activity. With `rest`, the timers of the call stop until the promise settles. */
export type ModelActivity = NonNullable<CallOptions['onActivity']>;

/** Makes one request. Calls `onActivity` at each sign of activity. */
export type ModelCall = (
	onDelta: OnDelta,
	signal: AbortSignal,
	onActivity: ModelActivity,
) => Promise<ChatReply | undefined>;

interface CallLimits {
	readonly model: string;
	/** Whether the reply is streamed. Without streaming, the first event is the complete reply. */
	readonly stream: boolean;
	readonly timeouts: Timeouts;
	readonly signal: AbortSignal;
	readonly maxReplyBytes?: number;
}

/**
 * Makes one call within its timeouts. After a timeout or an abort it passes on no delta, and the error has the cost
 * that the provider reports at once. Throws `timeout`, `interrupted` if there is no reply, and `reply_too_large`.
 */
async function watchCall(
	call: ModelCall,
	onDelta: OnDelta,
	{ model, stream, timeouts, signal, maxReplyBytes = usualReplyBytes }: CallLimits,
): Promise<ChatReply> {
	const { firstEventMs = stream ? 120_000 : 600_000, idleMs = 300_000 } = timeouts;
	const watchdog = createWatchdog({ firstEventMs, idleMs }, model);
	const { signal: until } = watchdog;
	// An abort after the end of the call would close a connection that the next call uses.
	const onAbort = (): void => watchdog.abort(signal.reason);
	if (signal.aborted) onAbort();
	signal.addEventListener('abort', onAbort, { once: true });
	const size = createDeltaMeter(maxReplyBytes);
	const take: OnDelta = (delta) => {
		if (!size.fits(delta)) watchdog.abort(createReplyTooLarge(model, maxReplyBytes));
		if (until.aborted) return size.pause();
		watchdog.onActivity();
		const wait = onDelta(delta) ?? size.pause();
		return wait === undefined ? undefined : watchdog.pause(wait);
	};
	const replying = call(take, until, watchdog.onActivity);
	try {
		const reply = await raceAbort(replying, until);
		if (isRecord(reply)) {
			if (measureReply(reply) <= maxReplyBytes) return reply;
			throw withUsage(createReplyTooLarge(model, maxReplyBytes), reply.usage ?? {});
		}
		throw new RunletError('interrupted', `${model}: the reply broke off before its end. Send the message again.`);
	} catch (error) {
		if (!until.aborted) throw error;
		throw withUsage(toAbortError(until), (await readLastUsage(replying)) ?? {});
	} finally {
		signal.removeEventListener('abort', onAbort);
		watchdog.stop();
	}
}

/** Makes a call outside of a run, with retries and timeouts. Does not retry after a delta was shown. */
export function callDirectly(
	call: ModelCall,
	onDelta: OnDelta,
	{ maxRetries, ...limits }: CallLimits & { readonly maxRetries: number },
): Promise<ChatReply> {
	let isShown = false;
	const show: OnDelta = (delta) => {
		isShown = true;
		return onDelta(delta);
	};
	const { model, signal } = limits;
	return retry(() => watchCall(call, show, limits), {
		model,
		maxRetries,
		signal,
		mayRetry: () => !isShown,
		addLost: addLostUsage,
	});
}

/** Reads the cost of an abandoned call, if its provider reports it at once. */
async function readLastUsage(replying: Promise<ChatReply | undefined>): Promise<ChatUsage | undefined> {
	try {
		return (await withTimeLimit(replying, lastWordMs, 'The model'))?.usage;
	} catch (error) {
		return error instanceof RunletError ? readUsage(error) : undefined;
	}
}

/**
 * Aborts a call whose first or next event takes too long. The time that the call waits for its reader does not count.
 */
function createWatchdog({ firstEventMs, idleMs }: Required<Pick<Timeouts, 'firstEventMs' | 'idleMs'>>, model: string) {
	const controller = new AbortController();
	const longestPause = Math.min(idleMs, longestTimer);
	const longestStart = Math.min(firstEventMs, longestTimer);
	let last = 0;
	let waiting = 0;
	let isStopped = false;
	const giveUp = (what: string, ms: number): void =>
		controller.abort(new RunletError('timeout', `${model} ${what} within ${ms} ms.`));
	const check = (): void => {
		const left = waiting > 0 ? longestPause : last + longestPause - Date.now();
		if (last === 0) giveUp('did not begin to answer', longestStart);
		else if (left <= 0) giveUp('sent nothing more', longestPause);
		else timer = setTimeout(check, left);
	};
	const onActivity = (rest?: Promise<void>): void => {
		if (isStopped) return;
		const isFirst = last === 0;
		last = Date.now();
		if (rest !== undefined) {
			clearTimeout(timer);
			rest.then(restart, () => {});
			return;
		}
		// The running timer fires in time for the first pause, unless the pause limit is shorter than the start limit.
		if (!isFirst || longestPause >= longestStart) return;
		clearTimeout(timer);
		timer = setTimeout(check, longestPause);
	};
	const restart = (): void => {
		if (isStopped) return;
		last = Date.now();
		timer = setTimeout(check, longestPause);
	};
	let timer: ReturnType<typeof setTimeout> = setTimeout(check, longestStart);
	return {
		signal: controller.signal,
		abort: (reason: unknown): void => controller.abort(reason),
		onActivity,
		pause: async (wait: Promise<void>): Promise<void> => {
			waiting++;
			await wait;
			waiting--;
			onActivity();
		},
		stop: (): void => {
			isStopped = true;
			clearTimeout(timer);
		},
	};
}

/** The default size limit of a reply in bytes: text, thinking and the input of calls together. */
export const usualReplyBytes = 8_388_608;
/** The approximate bytes of an event besides its text. */
const eventBytes = 32;
/** After this many successive empty deltas the call lets timers run, because only a timeout ends such a stream. */
const emptyAtOnce = 1_024;

export function createReplyTooLarge(model: string, maxBytes: number): RunletError {
	const message = `${model}: the reply is longer than ${maxBytes} bytes, so it was broken off. Ask for less, or raise maxReplyBytes.`;
	return new RunletError('reply_too_large', message, { model, maxReplyBytes: maxBytes });
}

function createDeltaMeter(maxBytes: number) {
	let bytes = 0;
	let empty = 0;
	return {
		/** Counts a delta. Returns whether the reply is still within the limit. */
		fits: (delta: Parameters<OnDelta>[0]): boolean => {
			// Deltas after the limit are not counted.
			if (bytes > maxBytes) return false;
			const size = measureDelta(delta);
			bytes += size;
			empty = size === 0 ? empty + 1 : 0;
			return bytes <= maxBytes;
		},
		/** After many empty deltas, returns a promise to wait for. */
		pause: (): undefined | Promise<void> => {
			if (empty < emptyAtOnce) return undefined;
			empty = 0;
			return new Promise((resolve) => setTimeout(resolve, 0));
		},
	};
}

function measureReply({ text = '', reasoning = '', toolCalls = [] }: ChatReply): number {
	const inputs = toolCalls.reduce((sum, { input }) => sum + eventBytes + measureData(input), 0);
	return byteLength(text) + byteLength(reasoning) + inputs;
}

function measureDelta(delta: Parameters<OnDelta>[0]): number {
	if (!isRecord(delta) || delta.type === 'stop') return 0;
	if (delta.type === 'text' || delta.type === 'reasoning') return byteLength(delta.text);
	return eventBytes + Object.values(delta).reduce<number>((sum, value) => sum + byteLength(value), 0);
}

/** Counts the bytes of the texts and keys of data, at any depth. */
function measureData(data: unknown): number {
	const seen = new Set<object>();
	const open: unknown[] = [data];
	let size = 0;
	while (open.length > 0) {
		const value = open.pop();
		size += byteLength(value) + 1;
		if (typeof value !== 'object' || value === null || seen.has(value)) continue;
		seen.add(value);
		if (isRecord(value)) for (const key of Object.keys(value)) size += byteLength(key);
		open.push(...Object.values(value));
	}
	return size;
}

function byteLength(text: unknown): number {
	return typeof text === 'string' ? countBytes(text) : 0;
}

export interface TurnReaders {
	readonly emit: Emit;
	/** Whether readers have seen a part of a reply that may still be dropped. */
	isShown: boolean;
	/** Makes the readers drop the part of the turn that they have seen. */
	readonly restart: () => Promise<void>;
}

export interface TurnRequest {
	readonly options: ChatOptions;
	readonly messages: readonly Message[];
	readonly system?: string;
	readonly tools?: readonly Tool[];
	/** The id of the call whose result introduced a tool, by the tool's name. */
	readonly foundBy?: ReadonlyMap<string, string>;
	readonly stream: boolean;
	readonly signal: AbortSignal;
	readonly readers: TurnReaders;
}

interface MeteredTurn extends TurnRequest {
	readonly inputTokens: number;
	/** Whether the reply is allowed the full length that the options set. */
	readonly isWhole?: boolean;
	/** Called if the meter refuses the request. Neither a retry nor a fallback helps then. */
	readonly onRefused: () => void;
}

/**
 * Asks a model for one turn. Retries after a temporary failure, then asks the fallbacks. If readers have seen a part of
 * a failed attempt, emits `turn.restarted` before the next attempt. Does not retry after errors of the meter. Emits a
 * reply without streaming as one delta. The usage includes failed attempts. Throws a `RunletError`.
 */
export async function askModel(turn: TurnRequest): Promise<TurnReply> {
	const { options, signal, readers } = turn;
	const { fallbacks: all = [], parking } = options;
	const begun = parking?.findBegun();
	// A fallback may have begun the reply.
	const fallbacks = all.slice(begun === undefined ? 0 : all.indexOf(begun.model) + 1);
	let lost: ChatUsage = {};
	let isRefused = false;
	let failed = 0;
	const onRefused = (): void => {
		isRefused = true;
	};
	for (let model = begun?.model ?? options.model; ; ) {
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
				onRetry: (code, retry, afterMs) => {
					failed++;
					return readers.emit({ type: 'retry', model, code, retry, of: maxRetries, afterMs });
				},
			});
			const whole = addLostUsage(reply, lost);
			return failed === 0 ? whole : { ...whole, retries: failed };
		} catch (thrown) {
			const failure = toModelError(thrown, model);
			lost = addUsage(lost, readUsage(failure));
			failed++;
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

/** Makes one request. Reports the cost of a failure to the meter. */
async function requestReply(request: MeteredTurn, model: string, timeouts: Timeouts) {
	const { options, inputTokens, isWhole, stream, signal, readers, onRefused } = request;
	const { meter, maxReplyBytes, inSpan = (_, work) => work() } = options;
	const inputAudioTokens = Math.min(inputTokens, estimateAudio(model, request.messages));
	const choices = { ...pickChoices(options), cache: options.cache, inputAudioTokens };
	const isBegun = options.parking?.findBegun() !== undefined;
	const metered = { model, inputTokens, choices, maxOutputTokens: options.maxOutputTokens, isWhole, signal };
	const maxOutputTokens = meter === undefined ? options.maxOutputTokens : await reserve(meter, metered, onRefused);
	if (signal.aborted) {
		// The account of a begun reply stays open, so that the reply is cancelled at its provider.
		if (!isBegun) await meter?.lost(undefined, false, 0);
		throw toAbortError(signal);
	}
	const streamed = new StreamedReply(readers.emit, options.takenIds, options.secrets?.list());
	try {
		if (readers.isShown) {
			await readers.restart();
			readers.isShown = false;
		}
		const call = toModelCall(request, model, maxOutputTokens);
		const limits = { model, stream, timeouts, signal, maxReplyBytes };
		const reply = await inSpan(toSpan(model), () => watchCall(call, (delta) => streamed.take(delta), limits));
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

function toSpan(model: string): SpanOfWork {
	return { name: `chat ${model}`, attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model } };
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
			parking: options.parking,
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

/** Returns the schema for the request. A schema that allows any object goes into the system prompt instead. */
function toSentSchema(schema: ChatOptions['outputSchema']): JsonSchema | undefined {
	if (isAnyObject(schema)) return undefined;
	return isSchema(schema) ? toJsonSchema(schema, 'outputSchema') : schema;
}

/** Takes the next ready fallback from the list. Warns of each fallback that it skips. */
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

/** Returns the retries and timeouts of a call: from the options, else from the model's provider. */
function findLimits(options: ChatOptions, model: string): { maxRetries?: number; timeouts: Timeouts } {
	const { maxRetries, timeouts } = options;
	const own = findProvider({ ...options, model });
	return { maxRetries: maxRetries ?? own?.maxRetries, timeouts: { ...own?.timeouts, ...timeouts } };
}

/** Returns the name of a model's provider. Returns nothing if the options have functions of their own. */
export function findVariant(options: ChatOptions, model = options.model): string | undefined {
	return findProvider({ ...options, model })?.variant;
}
