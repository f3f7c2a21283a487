import type { RunletError } from '../ground/errors.ts';
import type { JsonSchema, Tool } from '../tool/index.ts';
import { isSchema, toJsonSchema } from '../tool/schema.ts';
import { addLostUsage, attempt, retry } from './attempt.ts';
import { deltaReader, type Push, type TurnReply } from './deltas.ts';
import { dispatchChat, dispatchChatStream } from './dispatch.ts';
import { estimateRequest } from './estimate.ts';
import type { RunEvent } from './event.ts';
import { isRetryable, readUsage, toModelError, withUsage } from './failure.ts';
import type { Message } from './message.ts';
import type { ChatOptions } from './options.ts';
import { isAnyObject } from './output.ts';
import type { CallOptions } from './provider.ts';
import { canTalk, resolveRegistration, unknownModel } from './registry.ts';
import { raceAbort, toAbortError } from './signal.ts';
import type { Timeouts } from './timeouts.ts';
import { toCallChoice } from './tool-choice.ts';
import { addUsage, type ChatUsage } from './usage.ts';

/** One request to a model: what it is sent, and what holds for the call. */
export interface TurnRequest {
	readonly options: ChatOptions;
	readonly messages: readonly Message[];
	readonly system: string | undefined;
	readonly tools: readonly Tool[] | undefined;
	/** Tokens that it sends, estimated; for the meter. */
	readonly inputTokens: number;
	readonly stream: boolean;
	readonly signal: AbortSignal;
	/** Has noted that what was shown of the turn is void; gives what its readers are told. */
	readonly restart: () => Promise<readonly RunEvent[]>;
}

/** A request with what it sends, estimated where somebody keeps account of it. */
export async function reserveTokens(request: Omit<TurnRequest, 'inputTokens'>): Promise<TurnRequest> {
	const { options, messages, system, tools, signal } = request;
	if (options.meter === undefined) return { ...request, inputTokens: 0 };
	const inputTokens = await raceAbort(estimateRequest({ ...options, system }, messages, tools), signal);
	return { ...request, inputTokens };
}

/** A provider called by the loop waits for nothing by itself: the loop does. */
const unwatched: Timeouts = { firstEventMs: Number.POSITIVE_INFINITY, idleMs: Number.POSITIVE_INFINITY };

/**
 * One turn of a model: asks it, again after a failure that may pass, and then its fallbacks (docs/runs.md, "The loop").
 * Where something of a try was shown, `turn.restarted` comes before the next one begins. Pushes its deltas; what it did
 * not stream is pushed from its reply, so that a reader sees every reply alike. The usage of tries that failed counts.
 * Throws a `RunletError`.
 */
export async function modelTurn(request: TurnRequest, push: Push): Promise<TurnReply> {
	const { options, signal } = request;
	const fallbacks = [...(options.fallbacks ?? [])];
	let lost: ChatUsage = {};
	let shown = false;
	const readers: TurnReaders = {
		push: (event) => {
			shown = true;
			return push(event);
		},
		begin: async () => {
			if (!shown) return;
			for (const event of await request.restart()) await push(event);
			shown = false;
		},
	};
	for (let model = options.model; ; ) {
		const own = findDefaults(options, model);
		try {
			const reply = await retry(() => ask(request, model, readers, own.timeouts), {
				model,
				maxRetries: options.maxRetries ?? own.maxRetries ?? 2,
				signal,
				charged: addLostUsage,
			});
			return addLostUsage(reply, lost);
		} catch (thrown) {
			const failure = toModelError(thrown, model);
			lost = addUsage(lost, readUsage(failure));
			const error = withUsage(failure, lost);
			if (signal.aborted || !isRetryable(error)) throw error;
			const next = await findNextReady(options, fallbacks, push);
			if (next === undefined) throw error;
			await push({
				type: 'warning',
				code: 'fallback',
				message: `${model} could not be reached (${error.code}); asking ${next}.`,
			});
			model = next;
		}
	}
}

/** The next fallback that can be asked, taken from the list. One that cannot is told of, and does not hide why it was needed. */
async function findNextReady(options: ChatOptions, fallbacks: string[], push: Push): Promise<string | undefined> {
	for (let model = fallbacks.shift(); model !== undefined; model = fallbacks.shift()) {
		if (hasOwnFunctions(options)) return model;
		const found = resolveRegistration({ model, providers: options.providers });
		if (found !== undefined && canTalk(found)) return model;
		const { message } = unknownModel(model, options.providers ?? []);
		await push({ type: 'warning', code: 'fallback_not_ready', message: `This fallback is left out. ${message}` });
	}
	return undefined;
}

function hasOwnFunctions({ chatFn, chatStreamFn }: ChatOptions): boolean {
	return chatFn !== undefined || chatStreamFn !== undefined;
}

/** What a model's provider says about retries and timeouts; nothing where the options call the model by themselves. */
function findDefaults(options: ChatOptions, model: string) {
	const { providers, timeouts } = options;
	const own = hasOwnFunctions(options) ? undefined : resolveRegistration({ model, providers });
	return { maxRetries: own?.maxRetries, timeouts: { ...own?.timeouts, ...timeouts } };
}

/** Who is shown a turn, over all its tries. */
interface TurnReaders {
	readonly push: Push;
	/** A try begins: what was shown of the one before is taken back. */
	readonly begin: () => Promise<void>;
}

async function ask(request: TurnRequest, model: string, readers: TurnReaders, timeouts: Timeouts): Promise<TurnReply> {
	const { options, messages, system, tools, inputTokens, stream, signal } = request;
	const reader = deltaReader(readers.push, options.takenIds);
	const target = { ...options, model, system };
	const { meter } = options;
	const asked = { model, inputTokens, maxOutputTokens: options.maxOutputTokens };
	const maxOutputTokens = meter === undefined ? options.maxOutputTokens : await meter.reserve(asked);
	if (signal.aborted) {
		await meter?.lost(undefined, false, 0);
		throw toAbortError(signal);
	}
	try {
		await readers.begin();
		const reply = await attempt(
			(onDelta, either, onActivity) => {
				const call: CallOptions = { ...callOptions(options, messages), maxOutputTokens, signal: either, onActivity };
				return stream
					? dispatchChatStream(target, messages, tools, onDelta, call)
					: dispatchChat(target, messages, tools, call);
			},
			reader.take,
			{ model, stream, timeouts, signal, maxReplyBytes: options.maxReplyBytes },
		);
		return await reader.finish(reply, model);
	} catch (thrown) {
		const failure = toModelError(thrown, model);
		const error = readUsage(failure) === undefined ? withUsage(failure, reader.getSeenUsage() ?? {}) : failure;
		await meter?.lost(
			readUsage(error),
			signal.aborted || reader.isShown() || isCut(error),
			reader.countStreamedTokens(),
		);
		throw error;
	} finally {
		reader.close();
	}
}

/** Whether a call failed on its way: nobody knows how far it came. A refusal, or no connection, has cost nothing. */
function isCut({ code }: RunletError): boolean {
	return code === 'interrupted' || code === 'timeout' || code === 'cancelled' || code === 'reply_too_large';
}

/** What a call is told. */
function callOptions(
	{ toolChoice, parallelToolCalls, outputSchema, reasoningEffort, maxReplyBytes }: ChatOptions,
	messages: readonly Message[],
): Omit<CallOptions, 'maxOutputTokens'> {
	return {
		toolChoice: toCallChoice(toolChoice, messages),
		parallelToolCalls,
		outputSchema: isAnyObject(outputSchema) ? undefined : toPlainSchema(outputSchema),
		reasoningEffort,
		maxReplyBytes,
		maxRetries: 0,
		timeouts: unwatched,
	};
}

function toPlainSchema(schema: ChatOptions['outputSchema']): JsonSchema | undefined {
	return isSchema(schema) ? toJsonSchema(schema, 'outputSchema') : schema;
}
