import { RunletError } from '../errors.ts';
import type { Tool } from '../tool/index.ts';
import { isRecord } from '../tool/schema.ts';
import { type DeltaReader, deltaReader, type Push, type TurnReply } from './deltas.ts';
import { dispatchChat, dispatchChatStream } from './dispatch.ts';
import { isRetryable, retryAfterOf, toModelError, usageOf, withUsage } from './failure.ts';
import type { Message } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { ChatReply, OnDelta } from './reply.ts';
import { abortable, abortError, delay } from './signal.ts';
import { addUsage, type ChatUsage } from './usage.ts';
import { watchdog } from './watchdog.ts';

/** One request to a model: what it is sent, and what holds for the call. */
export interface TurnRequest {
	readonly options: ChatOptions;
	readonly messages: readonly Message[];
	readonly system: string | undefined;
	readonly tools: readonly Tool[] | undefined;
	readonly stream: boolean;
	readonly signal: AbortSignal;
}

/** A `retry-after` beyond this many seconds is not waited for: the call counts as failed. */
const longestWait = 60;

/** How long a provider has, in milliseconds, to say what a call cost that was given up. */
const lastWordMs = 50;

/**
 * One turn of a model: asks it, again after a failure that may pass, and then its fallbacks, as long as nothing was
 * shown (design.md, "The loop"). Pushes its deltas; what it did not stream is pushed from its reply, so that a reader
 * sees every reply alike. The usage of tries that failed counts. Throws a `RunletError`.
 */
export async function modelTurn(request: TurnRequest, push: Push): Promise<TurnReply> {
	const { options, signal } = request;
	const { fallbacks = [], maxRetries = 2 } = options;
	const models = [options.model, ...fallbacks];
	let lost: ChatUsage = {};
	for (const [index, model] of models.entries()) {
		for (let retry = 0; ; retry++) {
			const reader = deltaReader(push);
			try {
				const reply = await ask(request, model, reader);
				return { ...reply, usage: addUsage(lost, reply.usage) };
			} catch (thrown) {
				const failure = toModelError(thrown, model);
				lost = addUsage(lost, usageOf(failure) ?? reader.seenUsage());
				const error = withUsage(failure, lost);
				if (signal.aborted || reader.shown() || !isRetryable(error)) throw error;
				const wait = retryAfterOf(error);
				if (retry < maxRetries && (wait ?? 0) <= longestWait) {
					await delay(wait === undefined ? backoff(retry) : wait * 1000, signal).catch(() => {
						throw withUsage(abortError(signal), lost);
					});
					continue;
				}
				const next = models[index + 1];
				if (next === undefined) throw error;
				await push({
					type: 'warning',
					code: 'fallback',
					message: `${model} could not be reached (${error.code}); asking ${next}.`,
				});
				break;
			} finally {
				reader.close();
			}
		}
	}
	throw new RunletError('internal', 'The list of models ended without an answer.');
}

async function ask(request: TurnRequest, model: string, reader: DeltaReader): Promise<TurnReply> {
	const { options, messages, system, tools, stream, signal } = request;
	const watch = watchdog(options.timeouts ?? {}, model);
	const call = {
		signal: AbortSignal.any([signal, watch.signal]),
		maxOutputTokens: options.maxOutputTokens,
		toolChoice: options.toolChoice,
	};
	const target = { ...options, model, system };
	const onDelta: OnDelta = (delta) => {
		watch.seen();
		const room = reader.take(delta);
		return room === undefined ? undefined : watch.pause(room);
	};
	const replying = stream
		? dispatchChatStream(target, messages, tools, onDelta, call)
		: dispatchChat(target, messages, tools, call);
	try {
		const reply = await abortable(replying, call.signal);
		if (!isRecord(reply)) {
			throw new RunletError('interrupted', `${model}: the reply broke off before its end. Send the message again.`);
		}
		return await reader.finish(reply, model);
	} catch (error) {
		if (!call.signal.aborted) throw error;
		reader.close();
		throw withUsage(abortError(call.signal), (await usageAtEnd(replying)) ?? {});
	} finally {
		watch.stop();
	}
}

/** What a call that was given up has cost, if its provider says so at once. */
async function usageAtEnd(replying: Promise<ChatReply | undefined>): Promise<ChatUsage | undefined> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<undefined>((resolve) => {
		timer = setTimeout(() => resolve(undefined), lastWordMs);
	});
	const said = replying.then(
		(reply) => reply?.usage,
		(error) => (error instanceof RunletError ? usageOf(error) : undefined),
	);
	return Promise.race([said, late]).finally(() => {
		if (timer !== undefined) clearTimeout(timer);
	});
}

/** Milliseconds before the next try: half a second doubled each time, half of it by chance. */
function backoff(retry: number): number {
	return 500 * 2 ** retry * (0.5 + Math.random() / 2);
}
