import { RunletError } from '../errors.ts';
import type { Tool, ToolCall } from '../tool/index.ts';
import { isRecord } from '../tool/schema.ts';
import { dispatchChat, dispatchChatStream } from './dispatch.ts';
import { isLoopKind, type RunEvent } from './event.ts';
import { isRetryable, retryAfterOf, toModelError, usageOf, withUsage } from './failure.ts';
import type { Message } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { ChatReply, OnDelta, ReplyDelta, StreamStop } from './reply.ts';
import { abortable, abortError, delay, longestTimer } from './signal.ts';
import { addUsage, type ChatUsage } from './usage.ts';

/** One request to a model: what it is sent, and what holds for the call. */
export interface TurnRequest {
	readonly options: ChatOptions;
	readonly messages: readonly Message[];
	readonly system: string | undefined;
	readonly tools: readonly Tool[] | undefined;
	readonly stream: boolean;
	readonly signal: AbortSignal;
}

/** A whole reply: the text is always there, every call has an id of its own, and `model` is the one that answered. */
export type TurnReply = ChatReply & {
	readonly text: string;
	readonly toolCalls: readonly ToolCall[];
	readonly model: string;
};

type Push = (event: RunEvent) => undefined | Promise<void>;

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

interface DeltaReader {
	/** Takes one delta from the adapter. */
	readonly take: OnDelta;
	/** Completes the reply from what was streamed, and shows what was not. */
	readonly finish: (reply: ChatReply, model: string) => Promise<TurnReply>;
	readonly shown: () => boolean;
	readonly seenUsage: () => ChatUsage | undefined;
	/** Deltas that come later are dropped: the call is over. */
	readonly close: () => void;
}

/** Follows the deltas of one call: drops the empty ones, tells equal call ids apart, remembers what was shown. */
function deltaReader(push: Push): DeltaReader {
	const nameless = `call_${crypto.randomUUID()}`;
	const ids = callIds(nameless);
	const started = new Set<string>();
	const texts: string[] = [];
	const thoughts: string[] = [];
	let stop: StreamStop | undefined;
	let shown = false;
	let open = true;

	const show = (delta: ReplyDelta): undefined | Promise<void> => {
		shown = true;
		return push(delta);
	};
	const take: OnDelta = (given) => {
		if (!open || typeof given?.type !== 'string' || isLoopKind(given.type)) return undefined;
		// What an adapter sends of a known kind is as the types say; other kinds pass through unread.
		const delta = given as ReplyDelta;
		switch (delta.type) {
			case 'text':
				if (!delta.text) return undefined;
				texts.push(delta.text);
				return show(delta);
			case 'reasoning':
				if (!delta.text) return undefined;
				thoughts.push(delta.text);
				return show(delta);
			case 'tool_use_start': {
				const id = ids.start(delta.id);
				started.add(id);
				return show(id === delta.id ? delta : { ...delta, id });
			}
			case 'tool_use_input':
			case 'tool_use_end': {
				if (delta.type === 'tool_use_input' && !delta.partialInputJson) return undefined;
				const id = ids.current(delta.id);
				return show(id === delta.id ? delta : { ...delta, id });
			}
			case 'stop':
				stop = delta;
				return undefined;
			default:
				return show(delta);
		}
	};

	return {
		take,
		shown: () => shown,
		seenUsage: () => stop?.usage,
		close: () => {
			open = false;
		},
		finish: async (reply, model) => {
			const text = reply.text ?? texts.join('');
			const toolCalls = uniqueCalls(reply.toolCalls ?? [], nameless);
			if (reply.reasoning !== undefined && !shown) await take({ type: 'reasoning', text: reply.reasoning });
			if (texts.length === 0) await take({ type: 'text', text });
			for (const { id, name, input } of toolCalls) {
				if (started.has(id)) continue;
				await show({ type: 'tool_use_start', id, name });
				await show({
					type: 'tool_use_input',
					id,
					partialInputJson: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
				});
				await show({ type: 'tool_use_end', id });
			}
			return {
				...reply,
				reasoning: reply.reasoning ?? (thoughts.length > 0 ? thoughts.join('') : undefined),
				text,
				toolCalls,
				stopReason: reply.stopReason ?? stop?.reason ?? 'end_turn',
				usage: reply.usage ?? stop?.usage,
				model,
			};
		},
	};
}

/** Gives every call of a turn an id of its own: one without gets `nameless`, an id that comes again a suffix. */
function callIds(nameless: string): { start: (id: string) => string; current: (id: string) => string } {
	const taken = new Set<string>();
	const latest = new Map<string, string>();
	return {
		start: (id) => {
			const base = id || nameless;
			let own = base;
			for (let again = 2; taken.has(own); again++) own = `${base}_${again}`;
			taken.add(own);
			latest.set(id, own);
			return own;
		},
		current: (id) => latest.get(id) ?? id,
	};
}

function uniqueCalls(calls: readonly ToolCall[], nameless: string): ToolCall[] {
	const ids = callIds(nameless);
	return calls.map(({ id, name, input }) => ({ id: ids.start(id), name, input: input === '' ? {} : (input ?? {}) }));
}

/**
 * Aborts a call whose first event, or next event, does not come in time. One timer, whatever the number of events. The
 * time in which the call waits for its reader is not its own.
 */
function watchdog(
	{ firstEventMs = 120_000, idleMs = 120_000 }: { firstEventMs?: number | undefined; idleMs?: number | undefined },
	model: string,
): { signal: AbortSignal; seen: () => void; pause: (room: Promise<void>) => Promise<void>; stop: () => void } {
	const controller = new AbortController();
	let last = 0;
	let waiting = 0;
	const limit = (): number => Math.min(last === 0 ? firstEventMs : idleMs, longestTimer);
	const lost = (): void => {
		const what = last === 0 ? 'did not begin to answer' : 'sent nothing more';
		controller.abort(new RunletError('timeout', `${model} ${what} within ${limit()} ms.`));
	};
	const check = (): void => {
		const left = waiting > 0 ? limit() : last + limit() - Date.now();
		if (left <= 0) lost();
		else timer = setTimeout(check, left);
	};
	const seen = (): void => {
		if (last === 0) {
			clearTimeout(timer);
			last = Date.now();
			timer = setTimeout(check, limit());
		}
		last = Date.now();
	};
	let timer = setTimeout(lost, limit());
	return {
		signal: controller.signal,
		seen,
		pause: async (room) => {
			waiting++;
			await room;
			waiting--;
			seen();
		},
		stop: () => clearTimeout(timer),
	};
}

/** What a call that was given up has cost, if its provider says so at once. */
async function usageAtEnd(replying: Promise<ChatReply | undefined>): Promise<ChatUsage | undefined> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<undefined>((resolve) => {
		timer = setTimeout(resolve, lastWordMs);
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
