import { RunletError } from '../ground/errors.ts';
import { isRecord } from '../ground/json.ts';

import { isRetryable, readRetryAfter, readUsage, toModelError, withUsage } from './failure.ts';
import type { ChatReply, OnDelta } from './reply.ts';
import { deltaMeter, replyTooLarge, sizeOfReply, usualReplyBytes } from './reply-size.ts';
import { raceAbort, sleep, toAbortError } from './signal.ts';
import type { Timeouts } from './timeouts.ts';
import { addUsage, type ChatUsage } from './usage.ts';
import { watchdog } from './watchdog.ts';

/** A `retry-after` beyond this many seconds is not waited for: the call counts as failed. */
const longestWait = 60;

/** How long a provider has, in milliseconds, to say what a call cost that was given up. */
const lastWordMs = 50;

/**
 * One call of a model: how it is made, given where its deltas go, the signal that ends it, and whom to tell of a sign of
 * life that is no delta.
 */
export type ModelCall = (
	onDelta: OnDelta,
	signal: AbortSignal,
	onActivity: () => void,
) => Promise<ChatReply | undefined>;

/**
 * Makes one call under its timeouts and its caller's signal. Once either has ended it no delta comes through, and the
 * error has what the call cost, if its provider says so at once. Throws `interrupted` where no reply came, and
 * `reply_too_large` where it is longer than `maxReplyBytes`.
 */
export async function attempt(
	call: ModelCall,
	onDelta: OnDelta,
	{
		model,
		stream,
		timeouts,
		signal,
		maxReplyBytes = usualReplyBytes,
	}: {
		readonly model: string;
		readonly stream: boolean;
		readonly timeouts: Timeouts;
		readonly signal: AbortSignal;
		readonly maxReplyBytes?: number;
	},
): Promise<ChatReply> {
	// A whole reply comes when all of it is written.
	const { firstEventMs = stream ? 120_000 : 600_000, idleMs = 300_000 } = timeouts;
	const watch = watchdog({ firstEventMs, idleMs }, model);
	const either = AbortSignal.any([signal, watch.signal]);
	const meter = deltaMeter(maxReplyBytes);
	const take: OnDelta = (delta) => {
		if (!meter.fits(delta)) watch.abort(replyTooLarge(model, maxReplyBytes));
		if (either.aborted) return meter.pause();
		watch.seen();
		const room = onDelta(delta) ?? meter.pause();
		return room === undefined ? undefined : watch.pause(room);
	};
	const replying = call(take, either, watch.seen);
	try {
		const reply = await raceAbort(replying, either);
		if (isRecord(reply)) {
			if (sizeOfReply(reply) <= maxReplyBytes) return reply;
			throw withUsage(replyTooLarge(model, maxReplyBytes), reply.usage ?? {});
		}
		throw new RunletError('interrupted', `${model}: the reply broke off before its end. Send the message again.`);
	} catch (error) {
		if (!either.aborted) throw error;
		throw withUsage(toAbortError(either), (await usageAtEnd(replying)) ?? {});
	} finally {
		watch.stop();
	}
}

/**
 * Makes a call, and makes it again after a failure that may pass, as long as `mayRetry` says so.
 * The usage of tries that failed counts in the reply, and in the error.
 */
export async function retry<R>(
	call: () => Promise<R>,
	options: {
		readonly model: string;
		readonly maxRetries: number;
		readonly signal: AbortSignal;
		/** Whether another try would surprise nobody; always, if it does not say. */
		readonly mayRetry?: () => boolean;
		/** The reply with what the lost tries cost. */
		readonly charged?: (reply: R, lost: ChatUsage) => R;
	},
): Promise<R> {
	const { model, maxRetries, signal, mayRetry = () => true, charged } = options;
	let lost: ChatUsage | undefined;
	for (let retry = 0; ; retry++) {
		try {
			const reply = await call();
			return lost === undefined || charged === undefined ? reply : charged(reply, lost);
		} catch (thrown) {
			const failure = toModelError(thrown, model);
			const spent = readUsage(failure);
			lost = lost === undefined ? spent : addUsage(lost, spent);
			const error = withUsage(failure, lost ?? {});
			const wait = readRetryAfter(error);
			const again = retry < maxRetries && isRetryable(error) && (wait ?? 0) <= longestWait;
			if (!again || signal.aborted || !mayRetry()) throw error;
			await sleep(wait === undefined ? computeBackoff(retry) : wait * 1000, signal).catch(() => {
				throw withUsage(toAbortError(signal), lost ?? {});
			});
		}
	}
}

/** A reply that also counts what lost tries cost. */
export function addLostUsage<R extends ChatReply>(reply: R, lost: ChatUsage): R {
	return { ...reply, usage: addUsage(lost, reply.usage) };
}

/** What a call that was given up has cost, if its provider says so at once. */
async function usageAtEnd(replying: Promise<ChatReply | undefined>): Promise<ChatUsage | undefined> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<undefined>((resolve) => {
		timer = setTimeout(() => resolve(undefined), lastWordMs);
	});
	const said = replying.then(
		(reply) => reply?.usage,
		(error) => (error instanceof RunletError ? readUsage(error) : undefined),
	);
	return Promise.race([said, late]).finally(() => {
		if (timer !== undefined) clearTimeout(timer);
	});
}

/** Milliseconds before the next try: half a second doubled each time, half of it by chance. */
function computeBackoff(retry: number): number {
	return 500 * 2 ** retry * (0.5 + Math.random() / 2);
}
