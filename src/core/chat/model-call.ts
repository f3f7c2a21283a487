import { RunletError } from '../ground/errors.ts';
import { isRecord } from '../ground/json.ts';
import { readUsage, withUsage } from './model-error.ts';
import type { ChatReply, OnDelta } from './reply.ts';
import { createDeltaMeter, createReplyTooLarge, measureReply, usualReplyBytes } from './reply-size.ts';
import { addLostUsage, retry } from './retry.ts';
import { longestTimer, raceAbort, toAbortError } from './signal.ts';
import type { Timeouts } from './timeouts.ts';
import type { ChatUsage } from './usage.ts';

/** Milliseconds in which a provider may report the cost of an abandoned call. */
const lastWordMs = 50;

/** Makes one request. Gets a function for the deltas, the signal that ends it, and a function for signs of activity. */
export type ModelCall = (
	onDelta: OnDelta,
	signal: AbortSignal,
	onActivity: () => void,
) => Promise<ChatReply | undefined>;

/** The limits of a call. */
export interface CallLimits {
	readonly model: string;
	/** Whether the reply is streamed. Without streaming the first event comes with the complete reply. */
	readonly stream: boolean;
	readonly timeouts: Timeouts;
	readonly signal: AbortSignal;
	readonly maxReplyBytes?: number;
}

/**
 * Makes one call within its timeouts and its caller's signal. After either has ended, no delta comes through, and the
 * error has the cost of the call if its provider reports it at once. Throws `timeout`, `interrupted` without a reply,
 * and `reply_too_large` over `maxReplyBytes`.
 */
export async function watchCall(
	call: ModelCall,
	onDelta: OnDelta,
	{ model, stream, timeouts, signal, maxReplyBytes = usualReplyBytes }: CallLimits,
): Promise<ChatReply> {
	const { firstEventMs = stream ? 120_000 : 600_000, idleMs = 300_000 } = timeouts;
	const watchdog = createWatchdog({ firstEventMs, idleMs }, model);
	const { signal: until } = watchdog;
	// The end of the run does not reach a call that has ended: its connection serves the next one.
	const onAbort = (): void => watchdog.abort(signal.reason);
	if (signal.aborted) onAbort();
	signal.addEventListener('abort', onAbort, { once: true });
	const size = createDeltaMeter(maxReplyBytes);
	const take: OnDelta = (delta) => {
		if (!size.fits(delta)) watchdog.abort(createReplyTooLarge(model, maxReplyBytes));
		if (until.aborted) return size.pause();
		watchdog.onActivity();
		const room = onDelta(delta) ?? size.pause();
		return room === undefined ? undefined : watchdog.pause(room);
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

/**
 * Makes a call outside of a run, with retries and timeouts. It is not repeated after something was shown, because
 * nobody would tell the reader to drop it.
 */
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

/**
 * Aborts a call whose first or next event takes too long. Uses one timer for any number of events. Time in which the
 * call waits for its reader does not count.
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
	const onActivity = (): void => {
		if (isStopped) return;
		const isFirst = last === 0;
		last = Date.now();
		// The timer of the start ends before a pause could be too long, unless it is the longer of the two.
		if (!isFirst || longestPause >= longestStart) return;
		clearTimeout(timer);
		timer = setTimeout(check, longestPause);
	};
	let timer: ReturnType<typeof setTimeout> = setTimeout(check, longestStart);
	return {
		signal: controller.signal,
		/** Ends the call for another reason. */
		abort: (why: unknown): void => controller.abort(why),
		onActivity,
		pause: async (room: Promise<void>): Promise<void> => {
			waiting++;
			await room;
			waiting--;
			onActivity();
		},
		stop: (): void => {
			isStopped = true;
			clearTimeout(timer);
		},
	};
}
