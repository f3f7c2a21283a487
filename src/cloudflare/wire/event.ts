import * as v from 'valibot';
import type { KnownDelta, LoopEvent } from '../../core/chat/index.ts';
import { tasksShown } from '../../core/tool/task-list.ts';
import { budgetState } from './budget.ts';
import { question, toolCall, waitingCall } from './call.ts';
import { shownPart } from './part.ts';
import { runOutput } from './run.ts';
import { usage } from './usage.ts';

const text = v.string();
const id = v.string();
const iteration = v.number();
const toolResult = v.object({
	id,
	output: v.unknown(),
	isError: v.boolean(),
	parts: v.optional(v.pipe(v.array(shownPart), v.description('The result in parts. The output is its text.'))),
});

/** The events of the loop, with the fields that the session adds. */
type SessionEvent =
	| Exclude<LoopEvent, { readonly type: 'done' }>
	| KnownDelta
	| (Extract<LoopEvent, { readonly type: 'done' }> & { readonly budget?: v.InferOutput<typeof budgetState> })
	| { readonly type: 'closed'; readonly code: string; readonly message: string };

const deltas = [
	v.object({ type: v.literal('text'), text }),
	v.object({ type: v.literal('reasoning'), text }),
	v.object({ type: v.literal('tool_use_start'), id, name: v.string() }),
	v.object({ type: v.literal('tool_use_input'), id, partialInputJson: v.string() }),
	v.object({ type: v.literal('tool_use_end'), id }),
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

/** A piece of a turn. */
export const delta = v.variant('type', [...deltas]);

/** An event that is not part of a message. */
export const sideEvent = v.variant('type', [...sideEvents]);

/** The end of a run. */
export const terminalEvent = v.variant('type', [...terminalEvents]);

/**
 * An event of a run's stream. The stream ends with exactly one of the last five types, or with `closed` if its reader
 * may no longer read it; the run then continues.
 */
export const runEvent = v.variant('type', [
	v.object({ type: v.literal('run.started'), runId: v.string(), attempt: v.number() }),
	...deltas,
	v.object({ type: v.literal('stop'), reason: v.string(), usage: v.optional(usage) }),
	v.object({ type: v.literal('tool_result'), ...toolResult.entries }),
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
	}),
	v.object({ type: v.literal('turn.restarted'), iteration }),
	v.object({ type: v.literal('closed'), code: v.string(), message: v.string() }),
	...terminalEvents,
]) satisfies v.GenericSchema<SessionEvent>;
