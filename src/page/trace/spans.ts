/** Computes the time and cost of runs from the times of a session's messages and the latencies of its turns. */

import { hasEnded } from '../../client/provided.ts';
import type { Message, Session, Usage } from '../../client/types.ts';
import { toSaidText } from '../../client/words.ts';
import type { Labels } from '../parts/labels.ts';

/** A bar of the trace: a model call, a tool call, a call of a provider's tool, or a child session. */
export interface Span {
	readonly kind: 'model' | 'tool' | 'provider' | 'child';
	readonly name: string;
	/** The depth within the run. A tool call is one level below the turn that made it. */
	readonly depth: number;
	/** Milliseconds since 1970, by the clock of the server. */
	readonly start: number;
	/** The time of the end. Missing if it is unknown. */
	end?: number;
	state: 'running' | 'waiting' | 'done' | 'failed' | 'left';
	readonly usage?: Usage;
	/** The reason why the provider read fewer tokens from its cache than in the previous turn. */
	readonly cacheMiss?: string;
	/** The id of the child session. */
	readonly session?: string;
	/** What the result of the tool may have. */
	readonly labels?: Labels;
}

export interface TracedRun {
	readonly id: string;
	/** The text of the message that started the run. */
	title: string;
	start: number;
	end: number;
	readonly spans: Span[];
	/** The usage of the run's own model calls, without its children. */
	usage: Required<Pick<Usage, 'inputTokens' | 'outputTokens' | 'costUsd'>> & Pick<Usage, 'units' | 'unpriced'>;
}

export interface TracedChild {
	readonly id: string;
	readonly agent: string;
	/** Whether the run continues without waiting for the child. */
	readonly background?: boolean;
	readonly runs: readonly TracedRun[];
}

/** Makes the runs of a session, oldest first. `children` has the child sessions of each call, by call id. */
export function toRuns(
	{ model, run: newest }: Pick<Session, 'model' | 'run'>,
	messages: readonly Message[],
	children: ReadonlyMap<string, readonly TracedChild[]> = new Map(),
): TracedRun[] {
	const runs: TracedRun[] = [];
	/** The calls that have no result yet, by id. */
	const open = new Map<string, Span>();
	for (const message of messages) {
		if (message.role === 'system' || message.runId === undefined) continue;
		const at = Date.parse(message.createdAt);
		let run = runs.at(-1);
		if (run === undefined || run.id !== message.runId) {
			run = createRun(message.runId, at);
			runs.push(run);
		}
		if (message.role === 'user') run.title ||= toSaidText(message);
		if (message.role === 'assistant') addTurn(run, message, at, open, children);
		if (message.role === 'tool') endCall(run, message, at, open);
		run.end = Math.max(run.end, at);
	}
	const last = runs.at(-1);
	const isRunning = newest?.status === 'running' && last?.id === newest.id;
	if (last !== undefined && isRunning && open.size === 0)
		last.spans.push({ kind: 'model', name: `Next turn: ${model}`, depth: 0, start: last.end, state: 'running' });
	const state = isRunning ? 'running' : newest?.status.startsWith('awaiting') ? 'waiting' : 'left';
	for (const span of open.values()) span.state = last?.spans.includes(span) ? state : 'left';
	return runs;
}

function createRun(id: string, at: number): TracedRun {
	return { id, title: '', start: at, end: at, spans: [], usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } };
}

type Role<R extends Message['role']> = Extract<Message, { role: R }>;

/** Adds a model call and its tool calls. The tool calls begin when the model's message is stored. */
function addTurn(
	run: TracedRun,
	{ turn, toolCalls = [], providerCalls = [] }: Role<'assistant'>,
	at: number,
	open: Map<string, Span>,
	children: ReadonlyMap<string, readonly TracedChild[]>,
): void {
	const usage = turn?.usage;
	const start = usage?.latencyMs === undefined ? run.end : at - usage.latencyMs;
	run.start = Math.min(run.start, start);
	run.spans.push({
		kind: 'model',
		name: `Turn ${turn?.iteration ?? ''}: ${turn?.model ?? ''}`,
		depth: 0,
		start,
		end: at,
		state: 'done',
		usage,
		cacheMiss: turn?.cacheMiss,
	});
	run.usage = addUsage(run.usage, usage);
	// The provider's tools ran within the turn, but their exact times are unknown.
	for (const call of providerCalls) {
		const state = call.isError === true ? 'failed' : hasEnded(call) ? 'done' : 'left';
		run.spans.push({ kind: 'provider', name: call.name, depth: 1, start, end: at, state });
	}
	for (const { id, name, labels } of toolCalls) {
		const span: Span = { kind: 'tool', name, depth: 1, start: at, state: 'running', labels };
		open.set(id, span);
		run.spans.push(span, ...(children.get(id) ?? []).flatMap((child) => toChildSpans(child, at)));
	}
}

/** Ends a call. The result of a call that waited past the end of its run is in another run. */
function endCall(run: TracedRun, { toolCallId, isError }: Role<'tool'>, at: number, open: Map<string, Span>): void {
	const span = open.get(toolCallId);
	open.delete(toolCallId);
	if (span === undefined) return;
	const state = isError === true ? 'failed' : 'done';
	if (run.spans.includes(span)) Object.assign(span, { end: at, state });
	else {
		span.state = 'left';
		run.spans.push({ ...span, depth: 0, start: run.end, end: at, state });
	}
}

/** Makes the spans of a child session, below its call. `earliest` is the start of the call. */
function toChildSpans({ id, agent, background, runs }: TracedChild, earliest: number): Span[] {
	const start = Math.max(earliest, Math.min(...runs.map((run) => run.start)));
	const spans = runs.flatMap((run) => run.spans);
	const state = spans.some((span) => span.end === undefined) ? 'running' : 'done';
	const end = state === 'done' && runs.length > 0 ? Math.max(...runs.map((run) => run.end)) : undefined;
	const usage = runs.reduce((sum, run) => addUsage(sum, run.usage), createRun('', 0).usage);
	const within = spans.map((span) => ({ ...span, depth: span.depth + 3 }));
	const name = background === true ? `${agent}, in the background` : agent;
	return [{ kind: 'child', name, depth: 2, start, end, state, usage, session: id }, ...within];
}

function addUsage(sum: TracedRun['usage'], usage?: Usage): TracedRun['usage'] {
	if (usage === undefined) return sum;
	return {
		inputTokens: sum.inputTokens + (usage.inputTokens ?? 0),
		outputTokens: sum.outputTokens + (usage.outputTokens ?? 0),
		costUsd: sum.costUsd + (usage.costUsd ?? 0),
		units: addUnits(sum.units, usage.units),
		unpriced: sum.unpriced ?? usage.unpriced ?? (usage.costUsd === undefined ? 'a turn' : undefined),
	};
}

function addUnits(sum: Usage['units'], units: Usage['units']): Usage['units'] {
	if (units === undefined) return sum;
	const all = new Map(Object.entries(sum ?? {}));
	for (const [name, count] of Object.entries(units)) all.set(name, (all.get(name) ?? 0) + count);
	return Object.fromEntries(all);
}
