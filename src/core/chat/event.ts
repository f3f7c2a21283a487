import type { TaskList, ToolCall, ToolResult } from '../tool/index.ts';
import type { CacheMiss } from './prompt-record.ts';
import type { ProviderCall, Source } from './provider-tool.ts';
import type { ReplyDelta } from './reply.ts';
import type { ChatUsage } from './usage.ts';

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
	/** The sources that the text rests on. */
	readonly sources?: readonly Source[];
	/** Why the provider's cache had less than the previous request. Missing after a hit, and if it is not reported. */
	readonly cacheMiss?: CacheMiss;
}

/** A call that waits for its result or, with `kind: 'approval'`, for permission to run. */
export type WaitingCall = ToolCall & { readonly kind?: 'approval' };

/** A person's arguments for an approved call, instead of the model's. */
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

/** A question whose tool takes the answer (`onAnswer`), and the `resume` data of the tool. No reader sees it. */
export interface AnswerTo {
	readonly callId: string;
	readonly resume: unknown;
}

/** The end of a run: the last event, once, on every path. */
export type TerminalEvent =
	| {
			readonly type: 'done';
			readonly text: string;
			readonly usage: ChatUsage;
			/** The value of the text, if `outputSchema` asked for one. */
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
	/** The stack of an error of a tool's function. Only the option `showThrown` emits it, and it is not stored. */
	| { readonly type: 'tool_stack'; readonly id: string; readonly stack: string }
	/** The whole task lists that a call changed. */
	| { readonly type: 'tasks'; readonly id: string; readonly lists: readonly TaskList[] }
	| ({ readonly type: 'step' } & Step)
	| { readonly type: 'warning'; readonly code: string; readonly message: string }
	| { readonly type: 'turn.restarted'; readonly iteration: number }
	| TerminalEvent;

/** An event that is not part of a message. */
export type SideEvent = Extract<LoopEvent, { readonly type: 'note' | 'tasks' | 'warning' }>;

/** An event of a run. A `switch` on `type` needs no case for unknown kinds. */
export type RunEvent = ReplyDelta | LoopEvent;

/** Shows an event to the readers of a run. A returned promise means that they are slower. Waiting limits the memory. */
export type Emit = (event: RunEvent) => undefined | Promise<void>;

const terminalKinds: ReadonlySet<string> = new Set<TerminalEvent['type']>([
	'done',
	'awaiting',
	'halted',
	'cancelled',
	'error',
]);
const sideKinds: ReadonlySet<string> = new Set<SideEvent['type']>(['note', 'tasks', 'warning']);
const otherKinds: readonly LoopEvent['type'][] = ['run.started', 'tool_result', 'tool_stack', 'step', 'turn.restarted'];
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
