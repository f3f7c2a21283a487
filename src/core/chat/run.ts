import { RunletError, toRunletError } from '../base/errors.ts';
import { dropUndefined } from '../base/json.ts';
import { longestTimer, raceAbort } from '../base/promises.ts';
import type { AnySchema, FromAnySchema, JsonSchema } from '../tool/index.ts';
import { copyData } from '../tool/state.ts';
import {
	close,
	createEventFeed,
	type Emit,
	type EventFeed,
	isDelta,
	joinDeltas,
	type RunEvent,
	type TerminalEvent,
	toSse,
} from './event.ts';
import { type LoopContext, loop, type RunResult } from './loop.ts';
import { type Message, userMessage } from './message.ts';
import { readUsage } from './model-error.ts';
import type { ChatOptions } from './options.ts';
import type { Parking } from './provider.ts';
import type { ReplyDelta } from './reply.ts';

/** A started run. Read `events`, or `toStream()`, or neither: `result` settles in all cases. */
export interface Run<Output = unknown> {
	/** All events in order. The last event is terminal. Leaving the iteration early cancels the run. */
	readonly events: AsyncIterable<RunEvent>;
	/** The result. Rejects with a `RunletError`, whose code is `cancelled` after an abort. */
	readonly result: Promise<RunResult<Output>>;
	/** The same events as `text/event-stream` bytes, with joined deltas. Cancelling the stream cancels the run. */
	toStream(): ReadableStream<Uint8Array>;
}

/**
 * Runs an agent over a conversation. The run starts at once. A slow reader slows it down. Never throws synchronously.
 */
export function run<const S extends JsonSchema | AnySchema>(
	options: ChatOptions & { readonly outputSchema: S },
	messages: readonly Message[],
): Run<FromAnySchema<S>>;
export function run(options: ChatOptions, messages: readonly Message[]): Run;
export function run(options: ChatOptions, messages: readonly Message[]): Run {
	const { result, read, abort } = startRun(options, messages);
	return {
		result,
		events: { [Symbol.asyncIterator]: () => allowLeaving(readEvents(read()), abort) },
		toStream: () => {
			const take = read();
			const encoder = new TextEncoder();
			return new ReadableStream({
				type: 'bytes',
				pull: async (controller) => {
					const events = await take();
					if (events === undefined) return close(controller);
					const frames = joinDeltas(events).map((event) => toSse(event));
					controller.enqueue(encoder.encode(frames.join('')));
				},
				cancel: abort,
			});
		},
	};
}

interface StartedRun {
	readonly result: Promise<RunResult>;
	/** Adds the only reader. The function waits for the next batch of events, and returns `undefined` after the end. */
	readonly read: () => () => Promise<RunEvent[] | undefined>;
	/** Cancels the run. */
	readonly abort: () => void;
}

interface StartOptions extends Partial<Pick<LoopContext, 'stream' | 'resume'>> {
	/** Whether the messages are frozen at any depth. If so, they are not copied. */
	readonly isFrozen?: boolean;
}

/** Starts a run. With `stream: false` the model sends whole replies. `resume` continues an interrupted run. */
export function startRun(
	options: ChatOptions,
	messages: readonly Message[],
	{ stream = true, resume, isFrozen = false }: StartOptions = {},
): StartedRun {
	const own = new AbortController();
	const feed = createEventFeed();
	// The caller may change its messages later.
	const copyMessages = () => (isFrozen ? messages : copyData(messages));
	const result = drive(options, copyMessages, { stream, resume }, own, feed);
	// A caller that reads only the events sees the failure there.
	result.catch(() => {});
	return {
		result,
		abort: () => own.abort(),
		read: () => {
			feed.attach();
			return feed.take;
		},
	};
}

/** Runs the loop within its time limit, and ends the feed with the terminal event. */
async function drive(
	options: ChatOptions,
	copyMessages: () => readonly Message[],
	settings: Pick<LoopContext, 'stream' | 'resume'>,
	own: AbortController,
	feed: EventFeed,
): Promise<RunResult> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	try {
		const messages = copyMessages();
		// A reader that is added in the same tick gets the first event.
		await null;
		const runMs = options.timeouts?.runMs ?? 1_800_000;
		const { parking } = options;
		const endsAt = (parking?.since ?? Date.now()) + runMs;
		const failLate = (): void => own.abort(new RunletError('timeout', `The run was not done within ${runMs} ms.`));
		const startTimer = (): void => {
			timer = setTimeout(failLate, Math.min(Math.max(0, endsAt - Date.now()), longestTimer));
		};
		startTimer();
		const signal = options.signal === undefined ? own.signal : AbortSignal.any([options.signal, own.signal]);
		// After an abort the loop waits for no reader.
		signal.addEventListener('abort', feed.release, { once: true });
		const emit: Emit = (event) => {
			mirror(options, event);
			return feed.add(event);
		};
		const wait: Parking['wait'] = async (reply) => {
			clearTimeout(timer);
			if (Date.now() >= endsAt) failLate();
			await raceAbort(parking?.wait(reply), signal);
			startTimer();
		};
		const parked = parking === undefined ? options : { ...options, parking: { ...parking, wait } };
		const result = await loop(parked, messages, { ...settings, signal, emit });
		feed.end(toTerminal(result));
		return result;
	} catch (thrown) {
		const error = toRunletError(thrown);
		feed.end(toFailureEvent(error));
		throw error;
	} finally {
		if (timer !== undefined) clearTimeout(timer);
	}
}

function toTerminal({ status, text, usage, haltedReason, metadata, ...more }: RunResult): TerminalEvent {
	if (status === 'completed') return { type: 'done', text, usage, ...('output' in more && { output: more.output }) };
	if (status === 'halted') return { type: 'halted', reason: haltedReason ?? 'halted' };
	const { question, manualToolCalls } = metadata;
	return { type: 'awaiting', status, question, toolCalls: manualToolCalls };
}

function toFailureEvent(error: RunletError): TerminalEvent {
	const { code, message, data } = error;
	if (code === 'cancelled') return dropUndefined({ type: 'cancelled', usage: readUsage(error) });
	return dropUndefined({ type: 'error', code, message, data });
}

/** Passes steps and deltas to `options.emit`, if the options ask for them. */
function mirror(options: ChatOptions, event: RunEvent): void {
	const { emit, emitSteps, emitStreamDeltas, stepDataType = 'ai:chat:step', deltaDataType = 'ai:chat:delta' } = options;
	if (emit === undefined) return;
	const isPiece = isDelta(event) || event.type === 'turn.restarted';
	if (!(isPiece ? emitStreamDeltas : emitSteps && event.type === 'step')) return;
	try {
		const { type: _, ...record } = event;
		const emitted = isPiece ? emit(deltaDataType, event) : emit(stepDataType, record);
		if (emitted instanceof Promise) emitted.catch(() => {});
	} catch {
		// An error of `emit` does not end the run.
	}
}

/** Makes a generator's `return` call `leave` first, so that the source stops even before or during a `next`. */
function allowLeaving<T>(events: AsyncGenerator<T, undefined>, leave: () => void): AsyncGenerator<T, undefined> {
	const end = events.return.bind(events);
	return Object.assign(events, {
		return: (value: undefined) => {
			leave();
			return end(value);
		},
	});
}

async function* readEvents(take: () => Promise<RunEvent[] | undefined>): AsyncGenerator<RunEvent, undefined> {
	for (let events = await take(); events !== undefined; events = await take()) yield* events;
}

/** Asks an agent and resolves to its final text. The model does not stream. Rejects like `Run.result`. */
export function runLoop(options: ChatOptions, text: string): Promise<string> {
	return runLoopMessages(options, [userMessage(text)]);
}

/** Like `runLoop`, but starts from a conversation. */
export async function runLoopMessages(options: ChatOptions, messages: readonly Message[]): Promise<string> {
	return (await startRun(options, messages, { stream: false }).result).text;
}

/** Asks an agent and resolves to its final text. `onDelta` gets each delta of every turn, and `turn.restarted`. */
export function runLoopStream(options: ChatOptions, text: string, onDelta?: OnStreamDelta): Promise<string> {
	return runLoopStreamMessages(options, [userMessage(text)], onDelta);
}

/**
 * Receives the deltas of a run, and `turn.restarted`, which voids the turn's deltas. Can be a function for deltas only.
 */
type OnStreamDelta = {
	// A method type also allows functions with a narrower parameter.
	take(delta: ReplyDelta | Restarted): void | Promise<void>;
}['take'];

type Restarted = Extract<RunEvent, { readonly type: 'turn.restarted' }>;

/** Like `runLoopStream`, but with a conversation. The run waits for `onDelta`. An error of `onDelta` ends the run. */
export async function runLoopStreamMessages(
	options: ChatOptions,
	messages: readonly Message[],
	onDelta?: OnStreamDelta,
): Promise<string> {
	const { events, result } = run(options, messages);
	if (onDelta !== undefined) {
		for await (const event of events) {
			if (isDelta(event) || event.type === 'turn.restarted') await onDelta(event);
		}
	}
	return (await result).text;
}
