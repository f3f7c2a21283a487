import { countBytes } from '../base/bytes.ts';
import { RunletError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { withTimeLimit } from '../base/promises.ts';
import { addLostUsage, readUsage, retry, withUsage } from './model-error.ts';
import type { Timeouts } from './provider.ts';
import type { ChatReply, OnDelta } from './reply.ts';
import { longestTimer, raceAbort, toAbortError } from './signal.ts';
import type { ChatUsage } from './usage.ts';

/** The milliseconds to wait for the cost of an abandoned call. */
const lastWordMs = 50;

/** Makes one request. Calls `onActivity` at each sign of activity. */
export type ModelCall = (
	onDelta: OnDelta,
	signal: AbortSignal,
	onActivity: () => void,
) => Promise<ChatReply | undefined>;

interface CallLimits {
	readonly model: string;
	/** Whether the reply is streamed. Without streaming the first event comes with the complete reply. */
	readonly stream: boolean;
	readonly timeouts: Timeouts;
	readonly signal: AbortSignal;
	readonly maxReplyBytes?: number;
}

/**
 * Makes one call within its timeouts. After a timeout or an abort it passes on no delta, and the error has the cost
 * that the provider reports at once. Throws `timeout`, `interrupted` without a reply, and `reply_too_large`.
 */
export async function watchCall(
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
	const onActivity = (): void => {
		if (isStopped) return;
		const isFirst = last === 0;
		last = Date.now();
		// The check at the end of the start timer is early enough, unless a pause must be shorter than the start.
		if (!isFirst || longestPause >= longestStart) return;
		clearTimeout(timer);
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

/** The default for the most bytes of a reply: text, thinking and the input of calls together. */
export const usualReplyBytes = 8_388_608;
/** The approximate bytes of an event besides its text. */
const eventBytes = 32;
/** The most successive empty deltas before timers may run. Only a timeout ends a stream of empty deltas. */
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
		/** Returns a promise to wait for after many empty deltas. */
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
