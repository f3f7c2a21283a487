/** Computes the time and cost of runs from the times of a session's messages and the latencies of its turns. */

import { hasEnded } from '../../client/provided.ts';
import type { Message, ProviderCall, Session, Usage } from '../../client/types.ts';
import { addUsage, noUsage, type UsageSum } from '../../client/usage.ts';
import { toSaidText } from '../../client/words.ts';
import type { Labels } from '../parts/labels.ts';
import type { TimedCall } from './waits.ts';

/** A row of the trace: a model call, a tool call, a call of a provider's tool, a child session, or the wait for a person. */
export interface Span {
	/** Names the span in the address of the page. It is unique in its run. */
	readonly id: string;
	readonly kind: 'model' | 'tool' | 'provider' | 'child' | 'wait';
	readonly name: string;
	/** The depth within the run. A tool call is one level below the turn that made it. */
	readonly depth: number;
	/** Milliseconds since 1970, by the clock of the server. */
	readonly start: number;
	/** The time of the end. Missing if it is unknown. */
	end?: number;
	state: 'running' | 'waiting' | 'done' | 'failed' | 'stopped' | 'left' | 'later';
	readonly usage?: Usage;
	/** The reason why the provider read fewer tokens from its cache than in the previous turn. */
	readonly cacheMiss?: string;
	/** The id of the child session. */
	readonly session?: string;
	/** What the result of the tool may have. */
	readonly labels?: Labels;
	/** What went in and came out. Missing if nothing is known of it. */
	content?: SpanContent;
}

type Role<R extends Message['role']> = Extract<Message, { role: R }>;
type Reply = Role<'assistant'>;
export type ToolCall = NonNullable<Reply['toolCalls']>[number];

/** What is stored about a span. */
export type SpanContent =
	/** The messages before `place` were stored before the reply. */
	| { readonly type: 'turn'; readonly reply: Reply; readonly messages: readonly Message[]; readonly place: number }
	| { readonly type: 'call'; readonly call: ToolCall; readonly result?: Role<'tool'> }
	| { readonly type: 'provider'; readonly call: ProviderCall };

export interface TracedRun {
	readonly id: string;
	/** The text of the message that started the run. */
	title: string;
	start: number;
	end: number;
	readonly spans: Span[];
	/** The usage of the run's own model calls, without its children. */
	usage: UsageSum;
	/** How long people took to answer the calls that the run goes on with, in milliseconds. */
	waitedMs: number;
	isRunning?: boolean;
	/** Whether the run was copied with an older session, which has paid for it. */
	isCopied?: boolean;
}

export interface TracedChild {
	readonly id: string;
	readonly agent: string;
	/** Whether the run continues without waiting for the child. */
	readonly background?: boolean;
	readonly runs: readonly TracedRun[];
}

/** What is known of the calls of a session beside its messages. */
export interface KnownCalls {
	/** The child sessions of each call, by call id. */
	readonly children?: ReadonlyMap<string, readonly TracedChild[]>;
	/** The times of the calls that people answered, by call id. */
	readonly times?: ReadonlyMap<string, TimedCall>;
}

/** Makes the runs of a session, oldest first. */
export function toRuns(
	{ model, run: newest, createdAt }: Pick<Session, 'model' | 'run'> & Partial<Pick<Session, 'createdAt'>>,
	messages: readonly Message[],
	{ children = new Map(), times = new Map() }: KnownCalls = {},
): TracedRun[] {
	const runs: TracedRun[] = [];
	/** The calls that have no result yet, by id. */
	const open = new Map<string, Span>();
	for (const [place, message] of messages.entries()) {
		if (message.role === 'system' || message.runId === undefined) continue;
		const at = Date.parse(message.createdAt);
		let run = runs.at(-1);
		if (run === undefined || run.id !== message.runId) {
			run = createRun(message.runId, at);
			runs.push(run);
		}
		if (message.role === 'user') run.title ||= toSaidText(message);
		if (message.role === 'assistant') addTurn(run, message, { at, messages, place, open, children });
		if (message.role === 'tool') endCall(run, message, { at, open, time: times.get(message.toolCallId) });
		run.end = Math.max(run.end, at);
	}
	const last = runs.at(-1);
	const isRunning = newest?.status === 'running' && last?.id === newest.id;
	if (last !== undefined) last.isRunning = isRunning;
	const cut = newest?.status === 'cancelled' ? 'stopped' : newest?.status === 'error' ? 'failed' : undefined;
	const isCut = last?.id === newest?.id && messages.at(-1)?.role !== 'assistant';
	const next = isRunning ? 'running' : isCut ? cut : undefined;
	if (last !== undefined && next !== undefined && open.size === 0) {
		const about = { id: 'next', kind: 'model', name: `Next turn: ${model}`, depth: 0 } as const;
		last.spans.push({ ...about, start: last.end, state: next });
	}
	if (createdAt !== undefined) for (const run of runs) run.isCopied = run.end < Date.parse(createdAt);
	const state = isRunning ? 'running' : newest?.status.startsWith('awaiting') ? 'waiting' : 'left';
	for (const span of open.values()) span.state = last?.spans.includes(span) ? state : 'left';
	return runs;
}

function createRun(id: string, at: number): TracedRun {
	return { id, title: '', start: at, end: at, spans: [], usage: noUsage, waitedMs: 0 };
}

interface TurnPlace {
	readonly at: number;
	readonly messages: readonly Message[];
	readonly place: number;
	readonly open: Map<string, Span>;
	readonly children: ReadonlyMap<string, readonly TracedChild[]>;
}

/** Adds a model call and its tool calls. The tool calls begin when the model's message is stored. */
function addTurn(run: TracedRun, reply: Reply, { at, messages, place, open, children }: TurnPlace): void {
	const { id: replyId, turn, toolCalls = [], providerCalls = [] } = reply;
	const usage = turn?.usage;
	const start = usage?.latencyMs === undefined ? run.end : at - usage.latencyMs;
	run.start = Math.min(run.start, start);
	run.spans.push({
		...{ id: `turn-${replyId}`, kind: 'model', name: `Turn ${turn?.iteration ?? ''}: ${turn?.model ?? ''}`, depth: 0 },
		...{ start, end: at, state: 'done', usage },
		cacheMiss: turn?.cacheMiss,
		content: { type: 'turn', reply, messages, place },
	});
	run.usage = addUsage(run.usage, usage);
	// The provider's tools ran within the turn, but their exact times are unknown.
	for (const call of providerCalls) {
		const state = call.isError === true ? 'failed' : hasEnded(call) ? 'done' : 'left';
		const about = { id: `provider-${replyId}-${call.id}`, kind: 'provider', name: call.name, depth: 1 } as const;
		run.spans.push({ ...about, start, end: at, state, content: { type: 'provider', call } });
	}
	for (const call of toolCalls) {
		const { id, name, labels } = call;
		const about = { id: `call-${replyId}-${id}`, kind: 'tool', name, depth: 1 } as const;
		const span: Span = { ...about, start: at, state: 'running', labels, content: { type: 'call', call } };
		open.set(id, span);
		run.spans.push(span, ...(children.get(id) ?? []).flatMap((child) => toChildSpans(child, at)));
	}
}

interface ResultPlace {
	readonly at: number;
	readonly open: Map<string, Span>;
	readonly time: TimedCall | undefined;
}

/** Ends a call. The result of a call that waited past the end of its run is in another run, with the wait before it. */
function endCall(run: TracedRun, result: Role<'tool'>, { at, open, time }: ResultPlace): void {
	const span = open.get(result.toolCallId);
	open.delete(result.toolCallId);
	if (span === undefined) return;
	const state = result.isError === true ? 'failed' : 'done';
	const content = span.content?.type === 'call' ? { ...span.content, result } : span.content;
	if (run.spans.includes(span)) {
		Object.assign(span, { end: at, state, content });
		return;
	}
	span.state = 'later';
	const { start: asked, end: answered = at } = time?.wait ?? { start: span.start };
	run.waitedMs = Math.max(run.waitedMs, answered - asked);
	const about = { id: `wait-${span.id}`, kind: 'wait', name: `${span.name} waited for a person`, depth: 0 } as const;
	run.spans.push({ ...about, start: asked, end: answered, state: 'done' });
	// A person gave this result, so no tool ran.
	if (result.isInput === true) return;
	const start = Math.min(at, time?.start ?? run.end);
	run.start = Math.min(run.start, start);
	run.spans.push({ ...span, depth: 0, start, end: at, state, content });
}

/** Makes the spans of a child session, below its call. `earliest` is the start of the call. */
function toChildSpans({ id, agent, background, runs }: TracedChild, earliest: number): Span[] {
	const start = Math.max(earliest, Math.min(...runs.map((run) => run.start)));
	const spans = runs.flatMap((run) => run.spans);
	const state = spans.some((span) => span.end === undefined) ? 'running' : 'done';
	const end = state === 'done' && runs.length > 0 ? Math.max(...runs.map((run) => run.end)) : undefined;
	const usage = runs.reduce((sum, run) => addUsage(sum, run.usage), noUsage);
	const within = spans.map((span) => ({ ...span, id: `${id.slice(0, 12)}-${span.id}`, depth: span.depth + 3 }));
	const name = background === true ? `${agent}, in the background` : agent;
	return [{ id: `child-${id}`, kind: 'child', name, depth: 2, start, end, state, usage, session: id }, ...within];
}
