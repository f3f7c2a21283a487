import * as v from 'valibot';
import type { KnownDelta, LoopEvent, RunEvent } from '../../core/chat/index.ts';
import { tasksShown } from '../../core/tool/tasks.ts';
import { budgetState } from './budget.ts';
import { providerCall, question, ranWith, source, toolCall, waitingCall } from './call.ts';
import { described } from './field.ts';
import { shownPart } from './message.ts';
import { cacheMiss, runOutput, usage } from './run.ts';

const text = v.string();
const id = v.string();
const iteration = v.number();
const toolResult = v.object({
	id,
	output: v.unknown(),
	isError: v.boolean(),
	ranWith,
	parts: v.optional(described(v.array(shownPart), 'The result in parts. The output is its text.')),
});

/** An event of a child session, for the readers of its parent. */
export interface ChildEvent {
	readonly type: 'child';
	/** The parent's call that the child works for. */
	readonly id: string;
	readonly session: string;
	readonly agent: string;
	readonly event: RunEvent | ChildEvent;
}

/** The events of the loop, with the fields that the session adds. */
type SessionEvent =
	| Exclude<LoopEvent, { readonly type: 'done' }>
	| KnownDelta
	| (Extract<LoopEvent, { readonly type: 'done' }> & { readonly budget?: v.InferOutput<typeof budgetState> })
	| ChildShown
	| { readonly type: 'closed'; readonly code: string; readonly message: string };

/** An event of a child session. Its schema does not describe the inner event. */
type ChildShown = Omit<ChildEvent, 'event'> & { readonly event: { readonly type: string } };

const deltas = [
	v.object({ type: v.literal('text'), text }),
	v.object({ type: v.literal('reasoning'), text }),
	v.object({ type: v.literal('tool_use_start'), id, name: v.string() }),
	v.object({ type: v.literal('tool_use_input'), id, partialInputJson: v.string() }),
	v.object({ type: v.literal('tool_use_end'), id }),
	v.object({ type: v.literal('provider_tool'), ...providerCall.entries }),
	v.object({ type: v.literal('source'), ...source.entries }),
] as const;

const sideEvents = [
	v.object({ type: v.literal('note'), id, label: v.string(), detail: v.optional(v.string()) }),
	v.object({ ...tasksShown.entries, id }),
	v.object({ type: v.literal('warning'), code: v.string(), message: v.string() }),
] as const;

const terminalEvents = [
	v.object({ type: v.literal('done'), text, usage, output: runOutput, budget: v.optional(budgetState) }),
	v.object({
		type: v.literal('awaiting'),
		status: v.picklist(['awaiting_user', 'awaiting_tools']),
		question: v.optional(question),
		toolCalls: v.optional(v.array(waitingCall)),
	}),
	v.object({ type: v.literal('halted'), reason: v.string() }),
	v.object({ type: v.literal('cancelled'), usage: v.optional(usage) }),
	v.object({
		type: v.literal('error'),
		code: v.string(),
		message: v.string(),
		data: v.optional(v.record(v.string(), v.unknown())),
	}),
] as const;

export const delta = v.variant('type', [...deltas]);

/** An event that belongs to no message. */
export const sideEvent = v.variant('type', [...sideEvents]);

export const terminalEvent = v.variant('type', [...terminalEvents]);

/**
 * An event of a run's stream. The stream ends with exactly one of the last five types: with `closed` if the reader lost
 * access to the stream. In this case the run continues.
 */
export const runEvent = v.variant('type', [
	v.object({ type: v.literal('run.started'), runId: v.string(), attempt: v.number() }),
	...deltas,
	v.object({ type: v.literal('stop'), reason: v.string(), usage: v.optional(usage) }),
	v.object({ type: v.literal('tool_result'), ...toolResult.entries }),
	v.object({
		type: v.literal('tool_stack'),
		id,
		stack: described(
			v.string(),
			'Where the tool threw. Only a developer’s own machine sends it, and nothing keeps it.',
		),
	}),
	v.object({
		type: v.literal('retry'),
		model: v.string(),
		code: described(v.string(), 'Why the request failed, such as `overloaded`.'),
		retry: described(v.number(), 'The number of the retry that follows, from 1.'),
		of: described(v.number(), 'The most retries.'),
		afterMs: described(v.number(), 'The pause before it, in milliseconds. Nothing keeps this event.'),
	}),
	...sideEvents,
	v.object({
		type: v.literal('step'),
		iteration,
		model: v.string(),
		text,
		toolCalls: v.array(toolCall),
		toolResults: v.array(toolResult),
		stopReason: v.string(),
		usage,
		providerCalls: v.optional(v.array(providerCall)),
		sources: v.optional(v.array(source)),
		cacheMiss,
	}),
	v.object({ type: v.literal('turn.restarted'), iteration }),
	v.object({
		type: v.literal('child'),
		id: described(v.string(), 'The call that the child works for.'),
		session: v.string(),
		agent: v.string(),
		event: described(v.looseObject({ type: v.string() }), 'The event of the child: any of these types.'),
	}),
	v.object({ type: v.literal('closed'), code: v.string(), message: v.string() }),
	...terminalEvents,
]) satisfies v.GenericSchema<SessionEvent>;
