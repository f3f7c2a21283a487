import { createDeferred, type Deferred } from '../ground/deferred.ts';
import { RunletError, toRunletError } from '../ground/errors.ts';
import { copyData } from '../tool/copy.ts';
import { isDelta, joinPieces, type RunEvent, type TerminalEvent } from './event.ts';
import { readUsage } from './failure.ts';
import { type LoopContext, loop, type RunResult } from './loop.ts';
import type { Message } from './message.ts';
import type { ChatOptions } from './options.ts';
import { longestTimer, raceAbort } from './signal.ts';
import { close, toSse } from './sse.ts';

/** A run that has begun. Read `events`, or `toStream()`, or neither; `result` settles either way. */
export interface Run {
	/** Every event, in order, the last one terminal. Leaving the loop early cancels the run. */
	readonly events: AsyncIterable<RunEvent>;
	/** How the run ended. Rejects with a `RunletError`, on abort with code `cancelled`. */
	readonly result: Promise<RunResult>;
	/** The same events as `text/event-stream` bytes. Cancelling the stream cancels the run. */
	toStream(): ReadableStream<Uint8Array>;
}

/**
 * Runs an agent over a conversation: what every other way of running folds over. Never throws synchronously. It begins
 * at once and goes on by itself; a reader that is there and slow holds it back.
 */
export function run(options: ChatOptions, messages: readonly Message[]): Run {
	const { result, batches, abort } = startRun(options, messages);
	return {
		result,
		events: { [Symbol.asyncIterator]: () => allowLeaving(flattenBatches(batches()), abort) },
		toStream: () => {
			const reader = batches();
			const encoder = new TextEncoder();
			return new ReadableStream({
				type: 'bytes',
				pull: async (controller) => {
					const { value } = await reader.next();
					if (value === undefined) close(controller);
					else controller.enqueue(encoder.encode(value.map((event) => toSse(event)).join('')));
				},
				cancel: abort,
			});
		},
	};
}

/** A run as `run` gives it, read by its batches: the events that were there at one moment, together. */
export interface StartedRun {
	readonly result: Promise<RunResult>;
	/** The one reader of the run. Leaving it early cancels the run. */
	readonly batches: () => AsyncGenerator<RunEvent[], undefined>;
	readonly abort: () => void;
}

/** Starts a run; `stream: false` asks the model for whole replies, `resume` takes up one that was cut off. */
export function startRun(
	options: ChatOptions,
	messages: readonly Message[],
	{ stream = true, resume }: Partial<Omit<LoopContext, 'signal'>> = {},
): StartedRun {
	const own = new AbortController();
	const feed = eventFeed();
	const result = drive(options, messages, { stream, resume }, own, feed);
	// Whoever reads only the events has seen the failure there.
	result.catch(() => {});
	return {
		result,
		abort: () => own.abort(),
		batches: () => {
			feed.attach();
			return eachBatch(feed, own);
		},
	};
}

async function drive(
	options: ChatOptions,
	given: readonly Message[],
	how: Omit<LoopContext, 'signal'>,
	own: AbortController,
	feed: EventFeed,
): Promise<RunResult> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	try {
		// What the caller does with its messages from now on is not the run's.
		const messages = copyData(given);
		// A reader that comes in the same tick is there before the first event.
		await null;
		const runMs = options.timeouts?.runMs ?? 1_800_000;
		const failLate = (): void => own.abort(new RunletError('timeout', `The run was not done within ${runMs} ms.`));
		timer = setTimeout(failLate, Math.min(runMs, longestTimer));
		const signal = options.signal === undefined ? own.signal : AbortSignal.any([options.signal, own.signal]);
		const events = loop(options, messages, { ...how, signal });
		for (;;) {
			const next = await events.next();
			if (next.done === true) {
				feed.end(toTerminal(next.value));
				return next.value;
			}
			for (const event of next.value) mirror(options, event);
			const room = feed.put(next.value);
			// After an abort nobody is waited for: the loop comes to its end.
			if (room !== undefined) await raceAbort(room, signal).catch(() => {});
		}
	} catch (thrown) {
		const error = toRunletError(thrown);
		feed.end(toFailureEvent(error));
		throw error;
	} finally {
		if (timer !== undefined) clearTimeout(timer);
	}
}

function toTerminal({ status, text, usage, haltedReason, metadata }: RunResult): TerminalEvent {
	if (status === 'completed') return { type: 'done', text, usage };
	if (status === 'halted') return { type: 'halted', reason: haltedReason ?? 'halted' };
	const { question, manualToolCalls } = metadata;
	return {
		type: 'awaiting',
		status,
		question,
		toolCalls: manualToolCalls,
	};
}

function toFailureEvent(error: RunletError): TerminalEvent {
	const { code, message, data } = error;
	const usage = readUsage(error);
	if (code === 'cancelled') return usage === undefined ? { type: 'cancelled' } : { type: 'cancelled', usage };
	return data === undefined ? { type: 'error', code, message } : { type: 'error', code, message, data };
}

/** Mirrors steps and deltas to `options.emit` where asked. */
function mirror(options: ChatOptions, event: RunEvent): void {
	const { emit, emitSteps, emitStreamDeltas, stepDataType = 'ai:chat:step', deltaDataType = 'ai:chat:delta' } = options;
	const delta = isDelta(event) || event.type === 'turn.restarted';
	if (emit === undefined || !(delta ? emitStreamDeltas : emitSteps && event.type === 'step')) return;
	try {
		const { type: _, ...record } = event;
		const emitted = delta ? emit(deltaDataType, event) : emit(stepDataType, record);
		if (emitted instanceof Promise) emitted.catch(() => {});
	} catch {
		// An emit that throws never breaks the loop.
	}
}

/** The generator, whose `return` stops what it reads from at once: also before its first `next`, and during one. */
function allowLeaving<T>(events: AsyncGenerator<T, undefined>, leave: () => void): AsyncGenerator<T, undefined> {
	const end = events.return.bind(events);
	return Object.assign(events, {
		return: (value: undefined) => {
			leave();
			return end(value);
		},
	});
}

async function* flattenBatches(batches: AsyncGenerator<RunEvent[], undefined>): AsyncGenerator<RunEvent, undefined> {
	for await (const batch of batches) yield* batch;
}

async function* eachBatch(feed: EventFeed, own: AbortController): AsyncGenerator<RunEvent[], undefined> {
	try {
		for (let batch = await feed.take(); batch !== undefined; batch = await feed.take()) yield batch;
	} finally {
		own.abort();
	}
}

interface EventFeed {
	/** Marks that there is a reader, who is waited for from now on. There can be one. */
	readonly attach: () => void;
	/** Adds events; a promise means that the reader is behind. */
	readonly put: (events: readonly RunEvent[]) => undefined | Promise<void>;
	readonly end: (event: TerminalEvent) => void;
	/** All that is there, or the next; `undefined` after the end. */
	readonly take: () => Promise<RunEvent[] | undefined>;
}

/** Events that may lie unread before a reader is waited for or, where there is none, before neighbours are joined. */
const highWater = 1_024;

function eventFeed(): EventFeed {
	let buffer: RunEvent[] = [];
	let joinAt = highWater;
	let attached = false;
	let ended = false;
	let wake: (() => void) | undefined;
	let drained: Deferred<void> | undefined;

	const add = (events: readonly RunEvent[]): void => {
		for (const event of events) buffer.push(event);
		wake?.();
	};
	return {
		attach: () => {
			if (attached)
				throw new RunletError('invalid_request', 'This run is being read already: read events or toStream(), once.');
			attached = true;
		},
		put: (events) => {
			add(events);
			if (buffer.length < joinAt) return undefined;
			if (attached) {
				drained ??= createDeferred<void>();
				return drained.promise;
			}
			buffer = joinDeltas(buffer);
			joinAt = Math.max(highWater, 2 * buffer.length);
			return undefined;
		},
		end: (event) => {
			add([event]);
			ended = true;
		},
		take: async () => {
			if (buffer.length === 0 && !ended) await new Promise<void>((resolve) => (wake = resolve));
			const batch = buffer;
			buffer = [];
			drained?.resolve();
			drained = undefined;
			return batch.length > 0 ? batch : undefined;
		},
	};
}

/** The same events with neighbouring pieces of one text joined: what nobody read yet costs no more than the reply itself. */
function joinDeltas(events: readonly RunEvent[]): RunEvent[] {
	const out: RunEvent[] = [];
	for (const event of events) {
		const joined = joinPieces(out.at(-1), event);
		if (joined === undefined) out.push(event);
		else out[out.length - 1] = joined;
	}
	return out;
}
