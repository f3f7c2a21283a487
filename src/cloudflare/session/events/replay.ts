import type { ChatUsage, RunEvent, SideEvent, Step } from '../../../core/chat/index.ts';
import { readToolResult } from '../../../core/chat/message.ts';
import type { Resumption } from '../../../core/chat/run-state.ts';
import { addUsage } from '../../../core/chat/usage.ts';
import { toInputText } from '../../../core/tool/call.ts';
import type { ToolCall, ToolResult } from '../../../core/tool/index.ts';
import { type MessageRecord, sortByStoring } from '../store/message-record.ts';
import { findLastReply } from '../store/messages.ts';
import { restoreText } from '../store/run-end.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import { RunLog } from './log.ts';

/**
 * Rebuilds the events of a run from the store: the same text, calls, results and end that were streamed, in fewer
 * pieces. An event id of the live stream means the same here.
 *
 * @param records the session's messages from `run.firstSeq` on; those of other runs are skipped.
 */
export function replay(run: RunRecord, records: readonly MessageRecord[]): RunEvent[] {
	const told = retell(run, records);
	if (run.end === undefined) return told.events;
	const { before, draft, restarts = 0, steps, event } = run.end;
	if (told.steps >= steps) told.open = undefined;
	closeTurn(told, before, restarts);
	told.events.push(...draft, restoreText(event, findLastReply(records, run.n)));
	return told.events;
}

/** The state of a run that was cut off. */
export interface CutOff {
	/** The events that its readers saw, as far as they are stored. */
	readonly events: readonly RunEvent[];
	/** The part of `events` that is in no message. */
	readonly draft: readonly RunEvent[];
	/** Where the loop goes on. */
	readonly resume: Resumption;
	/** Whether the model was being asked. That turn is asked again. */
	readonly asking: boolean;
}

/**
 * Rebuilds what readers were shown of a run that was cut off, and how it goes on. A turn that the model may have been
 * asked for is asked again, whether anything of it was shown or not. Readers are told once more than `run.restarts` says.
 *
 * @param isAsking whether the model was asked for a turn that has no message
 */
export function replayCutOff(run: RunRecord, records: readonly MessageRecord[], isAsking: boolean): CutOff {
	const told = retell(run, records);
	const { events, usage, iteration, last, open: turn } = told;
	const shown = run.draft?.iteration === iteration + 1 ? run.draft : undefined;
	const asking = isAsking || shown !== undefined || run.restarts > 0;
	if (!asking) return { events, draft: [], asking, resume: { iteration, usage, last, turn } };
	const draft = shown?.restarts === run.restarts ? shown.events : [];
	closeTurn(told, [], run.restarts);
	events.push(...draft);
	return { events, draft, asking, resume: { iteration, usage, last } };
}

/** A turn whose end is not among the events yet. */
interface OpenTurn {
	readonly calls: readonly ToolCall[];
	readonly results: ToolResult[];
	haltedReason?: string;
}

/** The events of a run while they are rebuilt. */
interface Replay {
	readonly run: RunRecord;
	readonly events: RunEvent[];
	usage: ChatUsage;
	iteration: number;
	last:
		| (Pick<Step, 'model' | 'text' | 'stopReason' | 'providerCalls' | 'sources' | 'cacheMiss'> & {
				readonly usage: ChatUsage;
		  })
		| undefined;
	open: OpenTurn | undefined;
	/** How many turns are among the events to their end. */
	steps: number;
}

function retell(run: RunRecord, records: readonly MessageRecord[]): Replay {
	const told: Replay = {
		run,
		events: [{ type: 'run.started', runId: run.id, attempt: run.attempt }],
		usage: {},
		iteration: 0,
		last: undefined,
		open: findLeftOpen(run, records),
		steps: 0,
	};
	for (const record of sortByStoring(records)) if (record.run === run.n) tell(told, record);
	return told;
}

function tell(told: Replay, { message, turn, input, before = [], restarts = 0, haltedReason }: MessageRecord): void {
	const { events } = told;
	if (input === true) {
		// The first messages of a run are no events. Later messages come between two turns.
		if (message.role === 'user') closeTurn(told, before);
	} else if (message.role === 'tool') {
		const result = readToolResult(message);
		events.push(...before, { type: 'tool_result', ...result });
		told.open?.results.push(result);
		if (told.open !== undefined) told.open.haltedReason ??= haltedReason;
	} else if (message.role === 'assistant') {
		const { content: text, reasoning = '', toolCalls: calls = [], providerCalls = [], sources = [] } = message;
		const { iteration = 0, model = '', stopReason = 'end_turn', usage = {}, cacheMiss } = turn ?? {};
		closeTurn(told, before, restarts, iteration);
		if (reasoning !== '') events.push({ type: 'reasoning', text: reasoning });
		events.push(...providerCalls.map((call) => ({ type: 'provider_tool' as const, ...call })));
		if (text !== '') events.push({ type: 'text', text });
		events.push(...sources.map((source) => ({ type: 'source' as const, ...source })));
		events.push(...calls.flatMap((call) => callEvents(call, turn?.streamedInputs)));
		events.push({ type: 'stop', reason: stopReason, usage });
		told.iteration = iteration;
		const ran = { providerCalls: message.providerCalls, sources: message.sources };
		told.last = { model, text, stopReason, usage, ...ran, ...(cacheMiss !== undefined && { cacheMiss }) };
		told.usage = addUsage(told.usage, usage);
		told.open = { calls, results: [] };
	} else events.push(...before);
}

/**
 * Adds the end of the open turn, if there is one, and the restarts of the next one. Notes and task lists come from tools, so they stand
 * before the end of the turn; warnings are about the next one.
 */
function closeTurn(told: Replay, before: readonly SideEvent[], restarts = 0, next = told.iteration + 1): void {
	const { events, open } = told;
	events.push(...before.filter(({ type }) => type !== 'warning'));
	if (open !== undefined) {
		events.push(toStep(told, open));
		told.steps++;
	}
	told.open = undefined;
	for (let n = 0; n < restarts; n++) events.push({ type: 'turn.restarted', iteration: next });
	events.push(...before.filter(({ type }) => type === 'warning'));
}

function toStep({ run, iteration, last }: Replay, { calls, results }: OpenTurn): RunEvent {
	const { model = run.model ?? '', text = '', stopReason = 'tool_use', usage = {}, cacheMiss } = last ?? {};
	const toolResults = calls.flatMap(({ id }) => results.find((result) => result.id === id) ?? []);
	const { providerCalls, sources } = last ?? {};
	const ran = { ...(providerCalls && { providerCalls }), ...(sources && { sources }) };
	const told = { iteration, model, text, toolCalls: calls, toolResults, stopReason, usage, ...ran };
	return { type: 'step', ...told, ...(cacheMiss !== undefined && { cacheMiss }) };
}

/** Finds the open calls of an earlier run that a run began with. */
function findLeftOpen({ n }: RunRecord, records: readonly MessageRecord[]): OpenTurn | undefined {
	const inOrder = sortByStoring(records);
	const begins = inOrder.findIndex(({ run, input }) => run > n || (run === n && input !== true));
	const before = begins === -1 ? inOrder : inOrder.slice(0, begins);
	const asked = before.findLast(({ message }) => message.role !== 'tool')?.message;
	const answered = new Set(before.map(({ message }) => (message.role === 'tool' ? message.toolCallId : undefined)));
	const all = asked?.role === 'assistant' ? (asked.toolCalls ?? []) : [];
	const calls = all.filter(({ id }) => !answered.has(id));
	return calls.length === 0 ? undefined : { calls, results: [] };
}

function callEvents({ id, name, input }: ToolCall, streamed: Readonly<Record<string, string>> = {}): RunEvent[] {
	const partialInputJson = Object.hasOwn(streamed, id) ? streamed[id] : toInputText(input);
	return [
		{ type: 'tool_use_start', id, name },
		...(partialInputJson ? [{ type: 'tool_use_input', id, partialInputJson } as const] : []),
		{ type: 'tool_use_end', id },
	];
}

/** The logs of finished runs while somebody reads them. Readers at the same time share one. */
const logs = new WeakMap<SessionStore, Map<number, Shared>>();

interface Shared {
	/** A run that waits for somebody may still be cancelled. */
	readonly status: RunRecord['status'];
	readonly log: WeakRef<RunLog>;
}

/** Rebuilds the log of a finished run from the store. */
export function createPastLog(store: SessionStore, n: number): RunLog {
	const run = store.runs.get(n);
	if (run === undefined) return new RunLog(n);
	const known = logs.get(store) ?? new Map<number, Shared>();
	logs.set(store, known);
	const shared = known.get(n);
	const log = shared?.status === run.status ? shared.log.deref() : undefined;
	if (log !== undefined) return log;
	const made = new RunLog(n, replay(run, store.findRunMessages(n, run.firstSeq)));
	known.set(n, { status: run.status, log: new WeakRef(made) });
	return made;
}
