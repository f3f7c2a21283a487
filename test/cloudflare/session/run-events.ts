import fc from 'fast-check';
import type { RunEvent } from '../../../src/core/chat/index.ts';

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const pieces = (type: 'text' | 'reasoning') =>
	fc.array(words, { maxLength: 5 }).map((texts) => texts.map((text): RunEvent => ({ type, text })));
const toolCall = fc
	.tuple(fc.uuid(), fc.array(words, { minLength: 1, maxLength: 4 }))
	.map(([id, parts]): RunEvent[] => [
		{ type: 'tool_use_start', id, name: 'tool' },
		...parts.map((partialInputJson): RunEvent => ({ type: 'tool_use_input', id, partialInputJson })),
		{ type: 'tool_use_end', id },
	]);
const sideEvents = fc.array(
	fc.constantFrom<RunEvent>(
		{ type: 'note', id: 'n', label: 'a' },
		{ type: 'tasks', id: 't', lists: [] },
		{ type: 'tool_result', id: 'r', output: 1, isError: false },
	),
	{
		maxLength: 4,
	},
);
/** The end of a turn without calls. */
export const step = {
	...{ type: 'step', iteration: 1, model: 'm', text: '', toolCalls: [], toolResults: [] },
	...{ stopReason: 'end_turn', usage: {} },
} as const satisfies RunEvent;
const turn = fc
	.tuple(pieces('reasoning'), pieces('text'), fc.array(toolCall, { maxLength: 3 }), pieces('text'), sideEvents)
	.map(([reasoning, text, calls, more, rest]): RunEvent[] => [
		...reasoning,
		...text,
		...calls.flat(),
		...more,
		{ type: 'stop', reason: 'end_turn', usage: {} },
		...rest,
		step,
	]);
/** The events of a run with any number of turns. */
export const run = fc
	.array(turn, { maxLength: 4 })
	.map((turns): RunEvent[] => [
		{ type: 'run.started', runId: 'r', attempt: 1 },
		...turns.flat(),
		{ type: 'done', text: '', usage: {} },
	]);

/** The events with neighbouring pieces of a text joined. */
export function joined(events: readonly RunEvent[]): RunEvent[] {
	const out: RunEvent[] = [];
	for (const event of events) {
		const before = out.at(-1);
		if ((event.type === 'text' || event.type === 'reasoning') && before?.type === event.type) {
			out[out.length - 1] = { type: event.type, text: before.text + event.text };
		} else if (event.type === 'tool_use_input' && before?.type === 'tool_use_input' && before.id === event.id) {
			out[out.length - 1] = { ...event, partialInputJson: before.partialInputJson + event.partialInputJson };
		} else out.push(event);
	}
	return out;
}
