import type { Message, RunEvent, SideEvent, Step, TerminalEvent } from '../chat/index.ts';
import type { ToolCall, ToolResult } from '../tool/index.ts';
import { messageStride } from './schema.ts';
import type { MessageRecord, RunRecord } from './store.ts';

/**
 * The events of a run, made again from what is stored of it: the same text, calls, results and end that were streamed,
 * in fewer pieces. A position of the live stream means the same here.
 *
 * @param records messages of the session from `run.firstSeq` on; those of other runs are passed over.
 */
export function replay(run: RunRecord, records: readonly MessageRecord[]): RunEvent[] {
	const events: RunEvent[] = [{ type: 'run.started', runId: run.id, attempt: run.attempt }];
	let open: OpenStep | undefined;
	const closeStep = (before: readonly SideEvent[]): void => {
		// Notes come from tools, so they stand before the end of the turn; warnings are about the next one.
		events.push(...before.filter(({ type }) => type === 'note'));
		if (open !== undefined) events.push(stepOf(open));
		open = undefined;
		events.push(...before.filter(({ type }) => type !== 'note'));
	};

	for (const { message, turn, before = [] } of inOrderOfStoring(records.filter((record) => record.run === run.n))) {
		if (message.role === 'tool') {
			const result: ToolResult = { id: message.toolCallId, output: message.content, isError: message.isError === true };
			events.push(...before, { type: 'tool_result', ...result });
			open ??= { iteration: 0, model: '', text: '', calls: [], stopReason: 'tool_use', usage: {}, results: [] };
			open.results.push(result);
		} else if (message.role === 'assistant') {
			closeStep(before);
			const { content: text, reasoning = '', toolCalls: calls = [] } = message;
			const { iteration = 0, model = '', stopReason = 'end_turn', usage = {} } = turn ?? {};
			if (reasoning !== '') events.push({ type: 'reasoning', text: reasoning });
			if (text !== '') events.push({ type: 'text', text });
			events.push(...calls.flatMap(callEvents), { type: 'stop', reason: stopReason, usage });
			open = { iteration, model, text, calls, stopReason, usage, results: [] };
			if (calls.length === 0) closeStep([]);
		} else events.push(...before);
	}
	if (run.tail !== undefined) {
		const { before, draft, event } = run.tail;
		const failed = event.type === 'error' || event.type === 'cancelled';
		// A turn that was broken off between its calls has no step.
		if (failed && open !== undefined && open.results.length < open.calls.length) open = undefined;
		closeStep(before);
		events.push(...draft, whole(event, lastReply(records, run.n)));
	}
	return events;
}

/** A run's last event as it is stored: without what the messages hold already, so that it fits a row. */
export function slim(event: TerminalEvent): TerminalEvent {
	if (event.type === 'done') return { ...event, text: '' };
	if (event.type !== 'awaiting' || event.toolCalls === undefined) return event;
	return { ...event, toolCalls: event.toolCalls.map(({ id, name }) => ({ id, name, input: null })) };
}

/** The last assistant message up to a run. */
export function lastReply(records: readonly MessageRecord[], run: number): Message | undefined {
	return records.findLast(({ message, run: n }) => n <= run && message.role === 'assistant')?.message;
}

/** The event again, whole; `last` is the run's last assistant message. */
export function whole(event: TerminalEvent, last: Message | undefined): TerminalEvent {
	if (last?.role !== 'assistant') return event;
	if (event.type === 'done') return { ...event, text: last.content };
	if (event.type !== 'awaiting' || event.toolCalls === undefined) return event;
	const open = new Set(event.toolCalls.map(({ id }) => id));
	return { ...event, toolCalls: (last.toolCalls ?? []).filter(({ id }) => open.has(id)) };
}

interface OpenStep extends Omit<Step, 'toolCalls' | 'toolResults'> {
	readonly calls: readonly ToolCall[];
	readonly results: ToolResult[];
}

function stepOf({ iteration, model, text, calls, results, stopReason, usage }: OpenStep): RunEvent {
	const rank = new Map(calls.map(({ id }, index) => [id, index]));
	const toolResults = results.toSorted((a, b) => (rank.get(a.id) ?? 0) - (rank.get(b.id) ?? 0));
	return { type: 'step', iteration, model, text, toolCalls: calls, toolResults, stopReason, usage };
}

function callEvents({ id, name, input }: ToolCall): RunEvent[] {
	const partialInputJson = typeof input === 'string' ? input : JSON.stringify(input);
	return [
		{ type: 'tool_use_start', id, name },
		{ type: 'tool_use_input', id, partialInputJson },
		{ type: 'tool_use_end', id },
	];
}

function inOrderOfStoring(records: readonly MessageRecord[]): MessageRecord[] {
	const turnOf = ({ seq }: MessageRecord): number => seq - (seq % messageStride);
	return records.toSorted((a, b) => turnOf(a) - turnOf(b) || a.stored - b.stored);
}
