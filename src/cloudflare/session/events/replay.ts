import type { ChatUsage, RunEvent, SideEvent, Step } from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/loop.ts';
import { readToolResult } from '../../../core/chat/message.ts';
import { addUsage } from '../../../core/chat/reply.ts';
import { toInputText } from '../../../core/tool/call.ts';
import type { ToolCall, ToolResult } from '../../../core/tool/index.ts';
import { findLastReply, type MessageRecord, sortByStoring } from '../store/messages.ts';
import { type RunRecord, restoreText } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import { RunLog } from './log.ts';

/**
 * Rebuilds the events of a run from the store. They have the same text, calls, results, end and event ids as the
 * live stream, in fewer pieces.
 * @param records the session's messages from `run.firstSeq` on. Messages of other runs are skipped.
 */
export function replay(run: RunRecord, records: readonly MessageRecord[]): RunEvent[] {
	const state = replayMessages(run, records);
	if (run.end === undefined) return state.events;
	const { before, draft, restarts = 0, steps, event } = run.end;
	if (state.steps >= steps) state.open = undefined;
	closeTurn(state, before, restarts);
	state.events.push(...draft, restoreText(event, findLastReply(records, run.n)));
	return state.events;
}

export interface CutOff {
	readonly events: readonly RunEvent[];
	/** The last part of `events`, which no message contains. */
	readonly draft: readonly RunEvent[];
	readonly resume: Resumption;
	/** Whether the run was interrupted during a request to the model. If so, the turn of the request restarts. */
	readonly asking: boolean;
}

/**
 * Rebuilds the shown events of an interrupted run, and finds where it continues. A turn restarts if its request
 * possibly reached the model, even if readers saw nothing of the turn.
 *
 * @param isAsking whether the newest request to the model has no stored reply yet
 */
export function replayCutOff(run: RunRecord, records: readonly MessageRecord[], isAsking: boolean): CutOff {
	const state = replayMessages(run, records);
	const { events, usage, iteration, last, open: turn } = state;
	const shown = run.draft?.iteration === iteration + 1 ? run.draft : undefined;
	const asking = isAsking || shown !== undefined || run.restarts > 0;
	if (!asking) return { events, draft: [], asking, resume: { iteration, usage, last, turn } };
	const draft = shown?.restarts === run.restarts ? shown.events : [];
	closeTurn(state, [], run.restarts);
	events.push(...draft);
	return { events, draft, asking, resume: { iteration, usage, last } };
}

interface OpenTurn {
	readonly calls: readonly ToolCall[];
	readonly results: ToolResult[];
	haltedReason?: string;
}

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
	steps: number;
}

function replayMessages(run: RunRecord, records: readonly MessageRecord[]): Replay {
	const state: Replay = {
		run,
		events: [{ type: 'run.started', runId: run.id, attempt: run.attempt }],
		usage: {},
		iteration: 0,
		last: undefined,
		open: findLeftOpen(run, records),
		steps: 0,
	};
	for (const record of sortByStoring(records)) if (record.run === run.n) addMessage(state, record);
	return state;
}

function addMessage(
	state: Replay,
	{ message, turn, input, before = [], restarts = 0, haltedReason }: MessageRecord,
): void {
	const { events } = state;
	if (input === true) {
		// Inputs of a run are not shown as events. A user message during the run comes between two turns.
		if (message.role === 'user') closeTurn(state, before);
	} else if (message.role === 'tool') {
		const result = readToolResult(message);
		events.push(...before, { type: 'tool_result', ...result });
		state.open?.results.push(result);
		if (state.open !== undefined) state.open.haltedReason ??= haltedReason;
	} else if (message.role === 'assistant') {
		const { content: text, reasoning = '', toolCalls: calls = [], providerCalls = [], sources = [] } = message;
		const { iteration = 0, model = '', stopReason = 'end_turn', usage = {}, cacheMiss } = turn ?? {};
		closeTurn(state, before, restarts, iteration);
		const [thought, ...later] = splitPieces(reasoning, text, turn?.pieces);
		if (thought !== undefined) events.push(thought);
		events.push(...providerCalls.map((call) => ({ type: 'provider_tool' as const, ...call })));
		events.push(...later.flatMap((piece) => piece ?? []));
		events.push(...sources.map((source) => ({ type: 'source' as const, ...source })));
		events.push(...calls.flatMap((call) => callEvents(call, turn?.streamedInputs)));
		events.push({ type: 'stop', reason: stopReason, usage });
		state.iteration = iteration;
		const ran = { providerCalls: message.providerCalls, sources: message.sources };
		state.last = { model, text, stopReason, usage, ...ran, ...(cacheMiss !== undefined && { cacheMiss }) };
		state.usage = addUsage(state.usage, usage);
		state.open = { calls, results: [] };
	} else events.push(...before);
}

/** Returns the thinking and the text in the order in which the model wrote them. The first entry is for thinking. */
function splitPieces(reasoning: string, text: string, pieces: readonly number[] = []): (RunEvent | undefined)[] {
	const rest = { reasoning, text };
	const lengths = [...pieces, ...(pieces.length % 2 === 0 ? [] : [text.length]), reasoning.length, text.length];
	return lengths.map((length, index) => {
		const type = index % 2 === 0 ? 'reasoning' : 'text';
		const piece = rest[type].slice(0, length);
		rest[type] = rest[type].slice(length);
		return piece === '' ? undefined : { type, text: piece };
	});
}

/**
 * Adds the end of the open turn, if any, and the restarts of the next turn. Notes and task lists come from tools, so
 * they precede the end of the turn; warnings belong to the next turn.
 */
function closeTurn(state: Replay, before: readonly SideEvent[], restarts = 0, next = state.iteration + 1): void {
	const { events, open } = state;
	events.push(...before.filter(({ type }) => type !== 'warning'));
	if (open !== undefined) {
		events.push(toStep(state, open));
		state.steps++;
	}
	state.open = undefined;
	for (let n = 0; n < restarts; n++) events.push({ type: 'turn.restarted', iteration: next });
	events.push(...before.filter(({ type }) => type === 'warning'));
}

function toStep({ run, iteration, last }: Replay, { calls, results }: OpenTurn): RunEvent {
	const { model = run.model ?? '', text = '', stopReason = 'tool_use', usage = {}, cacheMiss } = last ?? {};
	const toolResults = calls.flatMap(({ id }) => results.find((result) => result.id === id) ?? []);
	const { providerCalls, sources } = last ?? {};
	const ran = { ...(providerCalls && { providerCalls }), ...(sources && { sources }) };
	const step = { iteration, model, text, toolCalls: calls, toolResults, stopReason, usage, ...ran };
	return { type: 'step', ...step, ...(cacheMiss !== undefined && { cacheMiss }) };
}

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

/** The logs of finished runs. Simultaneous readers share a log. */
const logs = new WeakMap<SessionStore, Map<number, SharedLog>>();

interface SharedLog {
	/** The run's status when the log was made. The status of a waiting run can still change. */
	readonly status: RunRecord['status'];
	readonly log: WeakRef<RunLog>;
}

export function createPastLog(store: SessionStore, n: number): RunLog {
	const run = store.runs.get(n);
	if (run === undefined) return new RunLog(n);
	const known = logs.get(store) ?? new Map<number, SharedLog>();
	logs.set(store, known);
	const shared = known.get(n);
	const log = shared?.status === run.status ? shared.log.deref() : undefined;
	if (log !== undefined) return log;
	const made = new RunLog(n, replay(run, store.findRunMessages(n, run.firstSeq)));
	known.set(n, { status: run.status, log: new WeakRef(made) });
	return made;
}
