import { RunletError } from '../base/errors.ts';
import { createDeferred, type Deferred } from '../base/promises.ts';
import type { TaskList, ToolCall, ToolResult } from '../tool/index.ts';
import type { FlowReason } from './flow.ts';
import type { CacheMiss } from './prompt-record.ts';
import type { ProviderCall, Source } from './provider-tool.ts';
import type { ChatUsage, ReplyDelta } from './reply.ts';

/** The record of one turn of the loop. */
export interface Step {
	/** The number of the model's turn in this run, from 1. It is 0 for calls that an earlier run left open. */
	readonly iteration: number;
	readonly model: string;
	readonly text: string;
	readonly toolCalls: readonly ToolCall[];
	readonly toolResults: readonly ToolResult[];
	readonly stopReason: string;
	readonly usage: ChatUsage;
	/** The calls that the provider itself ran in this turn. */
	readonly providerCalls?: readonly ProviderCall[];
	/** The sources of the text. */
	readonly sources?: readonly Source[];
	/** The cause of a cache miss. Missing after a hit, or if the provider does not report its cache. */
	readonly cacheMiss?: CacheMiss;
}

/** A call that waits for its result or, with `kind: 'approval'`, for permission to run. */
export type WaitingCall = ToolCall & {
	readonly kind?: 'approval';
	/** Why it needs permission, if text of strangers may have led to it. */
	readonly flow?: FlowReason;
	/** What it would do, as its tool says. */
	readonly preview?: string;
};

/** A person's arguments for an approved call. They replace the model's arguments. */
export interface CallEdit {
	readonly callId: string;
	readonly input: Readonly<Record<string, unknown>>;
}

/** A question of a tool to the person, and the call that waits for the answer. */
export interface Question {
	readonly callId: string;
	readonly question: string;
	readonly options?: Readonly<Record<string, unknown>>;
}

/** A call that asked a question and whose tool handles the answer (`onAnswer`). Not sent to readers. */
export interface AnswerTo {
	readonly callId: string;
	readonly resume: unknown;
}

/** The end of a run. Every run emits exactly one such event, as its last event. */
export type TerminalEvent =
	| {
			readonly type: 'done';
			readonly text: string;
			readonly usage: ChatUsage;
			/** The parsed value of the text, if `outputSchema` is set. */
			readonly output?: unknown;
	  }
	| {
			readonly type: 'awaiting';
			readonly status: 'awaiting_user' | 'awaiting_tools';
			readonly question?: Question;
			readonly toolCalls?: readonly WaitingCall[];
	  }
	| { readonly type: 'halted'; readonly reason: string }
	| { readonly type: 'cancelled'; readonly usage?: ChatUsage }
	| {
			readonly type: 'error';
			readonly code: string;
			readonly message: string;
			readonly data?: Readonly<Record<string, unknown>>;
	  };

/** The events of the loop besides the model's deltas (docs/events.md). */
export type LoopEvent =
	| { readonly type: 'run.started'; readonly runId: string; readonly attempt: number }
	| ({ readonly type: 'tool_result' } & ToolResult)
	| { readonly type: 'note'; readonly id: string; readonly label: string; readonly detail?: string }
	/** The stack of an error of a tool's function. Emitted only with the option `showThrown`, and not stored. */
	| { readonly type: 'tool_stack'; readonly id: string; readonly stack: string }
	/** A request failed for a temporary reason, and is repeated after `afterMs`. Not stored. */
	| {
			readonly type: 'retry';
			readonly model: string;
			readonly code: string;
			/** The number of the retry that follows, from 1, and the most retries. */
			readonly retry: number;
			readonly of: number;
			readonly afterMs: number;
	  }
	/** The complete task lists that a call changed. */
	| { readonly type: 'tasks'; readonly id: string; readonly lists: readonly TaskList[] }
	| ({ readonly type: 'step' } & Step)
	| { readonly type: 'warning'; readonly code: string; readonly message: string }
	| { readonly type: 'turn.restarted'; readonly iteration: number }
	| TerminalEvent;

/** An event that is not part of a message. */
export type SideEvent = Extract<LoopEvent, { readonly type: 'note' | 'tasks' | 'warning' }>;

/** An event of a run. A `switch` on `type` needs no case for unknown kinds. */
export type RunEvent = ReplyDelta | LoopEvent;

/** Passes an event to the readers of a run. Returns a promise if they lag behind. Awaiting it limits the memory. */
export type Emit = (event: RunEvent) => undefined | Promise<void>;

const terminalKinds: ReadonlySet<string> = new Set<TerminalEvent['type']>([
	'done',
	'awaiting',
	'halted',
	'cancelled',
	'error',
]);
const sideKinds: ReadonlySet<string> = new Set<SideEvent['type']>(['note', 'tasks', 'warning']);
const otherKinds: readonly LoopEvent['type'][] = [
	...(['run.started', 'tool_result', 'tool_stack', 'retry', 'step', 'turn.restarted'] as const),
];
const loopKinds = new Set([...terminalKinds, ...sideKinds, ...otherKinds]);

export function isSideEvent(event: RunEvent): event is SideEvent {
	return sideKinds.has(event.type);
}

export function isTerminal(event: RunEvent): event is TerminalEvent {
	return terminalKinds.has(event.type);
}

/** Whether an event is a model's delta. Unknown kinds count as deltas. */
export function isDelta(event: RunEvent): event is ReplyDelta {
	return !loopKinds.has(event.type);
}

/** Whether a kind of event belongs to the loop. An adapter cannot send it. */
export function isLoopKind(type: string): boolean {
	return loopKinds.has(type);
}

/** Joins two neighbouring pieces of one text. Returns `undefined` for other events. */
export function joinPieces(first: RunEvent | undefined, next: RunEvent): RunEvent | undefined {
	if ((next.type === 'text' || next.type === 'reasoning') && first?.type === next.type) {
		return { type: next.type, text: first.text + next.text };
	}
	if (next.type === 'tool_use_input' && first?.type === 'tool_use_input' && first.id === next.id) {
		return { type: 'tool_use_input', id: next.id, partialInputJson: first.partialInputJson + next.partialInputJson };
	}
	return undefined;
}

/** Joins neighbouring pieces of one text. */
export function joinDeltas(events: readonly RunEvent[]): RunEvent[] {
	const kept: RunEvent[] = [];
	for (const event of events) {
		const joined = joinPieces(kept.at(-1), event);
		if (joined === undefined) kept.push(event);
		else kept[kept.length - 1] = joined;
	}
	return kept;
}

/** The buffer of events between a run and its reader. */
export interface EventFeed {
	/** Adds the only reader. From this call on, the run waits for the reader. */
	readonly attach: () => void;
	/** Adds an event, unless the feed has ended. Returns a promise if the reader lags behind. */
	readonly add: (event: RunEvent) => undefined | Promise<void>;
	/** Stops waiting for the reader. */
	readonly release: () => void;
	readonly end: (event: TerminalEvent) => void;
	/** Returns all available events, or waits for the next event. Returns `undefined` after the end. */
	readonly take: () => Promise<RunEvent[] | undefined>;
}

/** The maximum number of unread events. Beyond it the run waits for the reader, or joins deltas if it has no reader. */
const highWater = 1_024;

/** The loop adds more events directly after these events. The feed waits for them, so the reader gets one batch. */
const followed: ReadonlySet<string> = new Set<RunEvent['type']>(['stop', 'tool_result', 'step']);
const patience = 64;

export function createEventFeed(): EventFeed {
	let buffer: RunEvent[] = [];
	let joinAt = highWater;
	let hasReader = false;
	let isReleased = false;
	let hasEnded = false;
	let wake: (() => void) | undefined;
	let drained: Deferred<void> | undefined;

	const push = (event: RunEvent): void => {
		buffer.push(event);
		wake?.();
		wake = undefined;
	};
	const release = (): void => {
		isReleased = true;
		drained?.resolve();
	};
	return {
		attach: () => {
			if (hasReader)
				throw new RunletError('invalid_request', 'This run is being read already: read events or toStream(), once.');
			hasReader = true;
		},
		add: (event) => {
			if (hasEnded) return undefined;
			push(event);
			if (buffer.length < joinAt || isReleased) return undefined;
			if (hasReader) {
				drained ??= createDeferred<void>();
				return drained.promise;
			}
			buffer = joinDeltas(buffer);
			joinAt = Math.max(highWater, 2 * buffer.length);
			return undefined;
		},
		release,
		end: (event) => {
			push(event);
			hasEnded = true;
			release();
		},
		take: async () => {
			if (buffer.length === 0 && !hasEnded) await new Promise<void>((resolve) => (wake = resolve));
			for (let left = patience; left > 0 && followed.has(buffer.at(-1)?.type ?? ''); left--) await null;
			const batch = buffer;
			buffer = [];
			drained?.resolve();
			drained = undefined;
			return batch.length > 0 ? batch : undefined;
		},
	};
}

/**
 * Formats an event as `text/event-stream` (WHATWG HTML, 9.2). The id is the last line, because some clients store an id
 * as soon as they read its line. With the id first, they would skip an event whose data was cut off.
 */
export function toSse<E extends { readonly type: string }>(event: E, id?: string): string {
	const idLine = id === undefined ? '' : `id: ${id}\n`;
	return `event: ${event.type.replace(/[\r\n]/g, ' ')}\ndata: ${JSON.stringify(event)}\n${idLine}\n`;
}

/** Ends a stream of bytes, even for a reader with its own buffer (BYOB). */
export function close(controller: ReadableByteStreamController): void {
	controller.close();
	controller.byobRequest?.respond(0);
}
