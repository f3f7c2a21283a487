import { inputText } from '../chat/deltas.ts';
import type { RunEvent, SideEvent, Step } from '../chat/index.ts';
import type { ToolCall, ToolResult } from '../tool/index.ts';
import { messageStride } from './schema.ts';
import type { MessageRecord, RunRecord } from './store.ts';
import { lastReply, whole } from './tail.ts';

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

	for (const { message, turn, before = [] } of inOrderOfStoring(records.filter((record) => isShown(record, run.n)))) {
		if (message.role === 'tool') {
			const result: ToolResult = { id: message.toolCallId, output: message.content, isError: message.isError === true };
			events.push(...before, { type: 'tool_result', ...result });
			open ??= leftOpen(run.n, records);
			open.results.push(result);
		} else if (message.role === 'assistant') {
			closeStep(before);
			const { content: text, reasoning = '', toolCalls: calls = [] } = message;
			const { iteration = 0, model = '', stopReason = 'end_turn', usage = {} } = turn ?? {};
			if (reasoning !== '') events.push({ type: 'reasoning', text: reasoning });
			if (text !== '') events.push({ type: 'text', text });
			events.push(...calls.flatMap((call) => callEvents(call, turn?.streamedInputs)), {
				type: 'stop',
				reason: stopReason,
				usage,
			});
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

interface OpenStep extends Omit<Step, 'toolCalls' | 'toolResults'> {
	readonly calls: readonly ToolCall[];
	readonly results: ToolResult[];
}

function stepOf({ iteration, model, text, calls, results, stopReason, usage }: OpenStep): RunEvent {
	const rank = new Map(calls.map(({ id }, index) => [id, index]));
	const toolResults = results.toSorted((a, b) => (rank.get(a.id) ?? 0) - (rank.get(b.id) ?? 0));
	return { type: 'step', iteration, model, text, toolCalls: calls, toolResults, stopReason, usage };
}

/** The message that began the run is no event of it. */
function isShown({ run, input }: MessageRecord, n: number): boolean {
	return run === n && input !== true;
}

/** The step of a run that began with calls which an earlier run left open. */
function leftOpen(n: number, records: readonly MessageRecord[]): OpenStep {
	const asked = records.find(({ message, run }) => run < n && message.role === 'assistant');
	const answered = new Set(
		records.flatMap(({ message, run, input }) =>
			message.role === 'tool' && (run < n || input) ? [message.toolCallId] : [],
		),
	);
	const all = asked?.message.role === 'assistant' ? (asked.message.toolCalls ?? []) : [];
	const calls = all.filter(({ id }) => !answered.has(id));
	return {
		iteration: 0,
		model: asked?.turn?.model ?? '',
		text: '',
		calls,
		stopReason: 'tool_use',
		usage: {},
		results: [],
	};
}

function callEvents({ id, name, input }: ToolCall, streamed: Readonly<Record<string, string>> = {}): RunEvent[] {
	const partialInputJson = streamed[id] ?? inputText(input);
	return [
		{ type: 'tool_use_start', id, name },
		...(partialInputJson === '' ? [] : [{ type: 'tool_use_input', id, partialInputJson } as const]),
		{ type: 'tool_use_end', id },
	];
}

function inOrderOfStoring(records: readonly MessageRecord[]): MessageRecord[] {
	const turnOf = ({ seq }: MessageRecord): number => seq - (seq % messageStride);
	return records.toSorted((a, b) => turnOf(a) - turnOf(b) || a.stored - b.stored);
}
