import { createFieldError } from '../../../core/base/errors.ts';
import type { AssistantMessage, ToolMessage } from '../../../core/chat/index.ts';
import { builtinProviders, detectProviderFrom } from '../../../core/chat/registry.ts';
import { listCallLabels, type ToolWords } from '../../agent/labels.ts';
import type { TraceSpan } from '../../wire/trace.ts';
import { pieceLength, toPieceStream } from '../inbox/pieces.ts';
import type { Authorization } from '../inbox/transaction.ts';
import { toProviderName } from '../run/metrics.ts';
import { createCallSpanId, createChildIds, createSpanId, createTraceIds, type TraceIds } from '../run/trace-ids.ts';
import { type MessageRecord, messageStride, sortByStoring, toTurnPlace } from '../store/messages.ts';
import type { SessionStore } from '../store/store.ts';
import { type Ask, type Chain, findChain, isOpen, listChains, type TracedRun } from './chains.ts';
import { double, integer, text, toAttributes, toTimes } from './otlp.ts';
import { writeMessages } from './trace-content.ts';

/** Which traces of a session are made, and whether they have texts, arguments and results. */
export interface TraceForm {
	readonly run?: string;
	readonly hasContent: boolean;
}

interface TraceOptions extends TraceForm {
	readonly store: SessionStore;
	readonly words: ToolWords;
	readonly authorization: Pick<Authorization, 'isThere'>;
}

/** What spans are made of. */
export interface SpanSources extends Pick<TraceOptions, 'store' | 'words' | 'hasContent'> {
	/** All chains of the session from the first chosen one on. */
	readonly chains: readonly Chain[];
	readonly chosen: readonly Chain[];
}

/** A chain with the ids of its trace. */
interface Trace extends Chain, TraceIds {
	readonly sessionId: string;
}

type Stored<M> = MessageRecord & { readonly message: M };

/** A reply of a model, or a copy of one, with everything that was stored in its turn, in the order of storing. */
interface Turn {
	readonly reply?: Stored<AssistantMessage>;
	readonly records: readonly MessageRecord[];
}

/**
 * Makes the traces of a session as OTLP/JSON (docs/observability.md), piece by piece and only from what is stored. Throws
 * `not_found` for an unknown run. The stream fails if the session is removed during the export.
 */
export function traceStream(options: TraceOptions): ReadableStream<Uint8Array> {
	const { store, run, authorization } = options;
	const chains = run === undefined ? listChains(store) : findChain(store, run);
	const chosen = run === undefined ? chains : chains.slice(0, 1);
	if (run !== undefined && chosen.length === 0) {
		const what =
			'this session has no such run. Take a runId of GET /v1/sessions/:id/messages, or leave it out for all traces.';
		throw createFieldError('not_found', 'run', what);
	}
	return toPieceStream(toDocument(listSpans({ ...options, chains, chosen })), authorization);
}

function* toDocument(spans: Iterable<TraceSpan>): Generator<string> {
	yield openDocument();
	let comma = '';
	for (const span of spans) {
		yield `${comma}${JSON.stringify(span)}`;
		comma = ',';
	}
	yield documentEnd;
}

/** Returns the beginning of a document of OTLP/JSON. Its spans follow, then `documentEnd`. */
export function openDocument(service = 'runlet'): string {
	const resource = { attributes: toAttributes({ 'service.name': text(service) }) };
	const scope = { name: 'runlet' };
	return `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[`;
}

export const documentEnd = ']}]}]}\n';

/** Makes the spans of the chosen chains. */
export function* listSpans(context: SpanSources): Generator<TraceSpan> {
	const { store, chosen } = context;
	const range = findRange(context);
	const traces = new Map<number, Trace>();
	for (const chain of chosen) {
		const trace = openTrace(store, chain);
		for (const { n } of chain.runs) traces.set(n, trace);
		// The results of an unfinished wait belong to the run that will continue the chain.
		if (isOpen(chain)) traces.set(chain.last.n + 1, trace);
		yield toRoot(store, trace);
	}
	let open: Turn = { records: [] };
	let before: readonly MessageRecord[] = [];
	for (const turn of listTurns(store, range)) {
		const { reply = open.reply } = turn;
		if (turn.reply !== undefined) {
			yield* listWaits(open, turn.reply.run, traces);
			open = turn;
		}
		for (const record of turn.records) {
			const trace = traces.get(record.run);
			if (trace === undefined || record.message.role === 'system') continue;
			if (isAssistant(record) && record.turn !== undefined) {
				yield toChat(context, trace, record, before);
				before = [record];
				continue;
			}
			if (isResult(record) && isStep(record, reply)) yield toCall(context, trace, record, reply);
			before = [...before, record];
		}
	}
	yield* listWaits(open, (chosen.at(-1)?.last.n ?? 0) + 1, traces);
}

/** Returns the places of everything that the chosen chains have stored. */
function findRange({ store, chains, chosen }: SpanSources): { readonly from: number; readonly to: number } {
	const end = store.messages.nextPlace();
	const first = chosen[0]?.first;
	const next = chains.find(({ first: { n } }) => n > (chosen.at(-1)?.last.n ?? 0))?.first;
	// A run that ends the calls of a failed run stores their results in the turn before its message.
	const from = first === undefined ? end : Math.max(0, toTurnPlace(first.firstSeq) - messageStride);
	return { from, to: next === undefined ? end : toTurnPlace(next.firstSeq) + messageStride };
}

const atOnce = 200;

function* listTurns(
	{ messages }: SessionStore,
	{ from, to }: { readonly from: number; readonly to: number },
): Generator<Turn> {
	let turn: MessageRecord[] = [];
	for (let next: number | undefined = from; next !== undefined; ) {
		const page = messages.page({ from: next, to, limit: atOnce, bytes: pieceLength, withCosts: true });
		for (const record of page.records) {
			const [first] = turn;
			if (first !== undefined && toTurnPlace(first.seq) !== toTurnPlace(record.seq)) {
				yield toTurn(turn);
				turn = [];
			}
			turn.push(record);
		}
		next = page.next;
	}
	if (turn.length > 0) yield toTurn(turn);
}

function toTurn(records: readonly MessageRecord[]): Turn {
	return { reply: records.find(isAssistant), records: sortByStoring(records) };
}

function isAssistant(record: MessageRecord): record is Stored<AssistantMessage> {
	return record.message.role === 'assistant';
}

function isResult(record: MessageRecord): record is Stored<ToolMessage> {
	return record.message.role === 'tool';
}

/** Whether a result is a step of its run. The results of a copied turn are steps of an earlier run. */
function isStep(record: MessageRecord, reply: MessageRecord | undefined): boolean {
	return reply?.turn !== undefined || record.input !== true || record.replaces !== undefined;
}

function openTrace(store: SessionStore, chain: Chain): Trace {
	const session = store.session();
	return { ...chain, ...createTraceIds(session, chain.first), sessionId: session.id };
}

const kinds = { internal: 1, client: 3 } as const;

const failed = { status: { code: 2 } };

function toRoot(store: SessionStore, trace: Trace): TraceSpan {
	const { traceId, rootId, parentSpanId, sessionId, first, last, runs } = trace;
	const { agent } = store.session();
	return {
		traceId,
		spanId: rootId,
		...(parentSpanId !== undefined && { parentSpanId }),
		name: `invoke_agent ${agent}`,
		kind: kinds.internal,
		...toTimes({ begin: first.createdAt, end: findEnd(store, trace) }),
		attributes: toAttributes({
			'gen_ai.operation.name': text('invoke_agent'),
			'gen_ai.provider.name': text(findProviderName(undefined, last.model)),
			'gen_ai.request.model': text(last.model),
			'gen_ai.agent.name': text(agent),
			'gen_ai.conversation.id': text(sessionId),
			'runlet.run.ids': text(runs.map(({ id }) => id)),
			'runlet.run.status': text(last.status),
			'error.type': text(last.errorCode),
		}),
		...(last.errorCode !== undefined && failed),
	};
}

/** Returns the end of a chain. As long as it runs or waits, that is the time of its newest step. */
function findEnd({ messages }: SessionStore, chain: Chain): number {
	const { n, createdAt, endedAt = createdAt, status } = chain.last;
	if (status !== 'running' && !isOpen(chain)) return endedAt;
	const { records } = messages.page({ from: messages.lastTurn() });
	return Math.max(endedAt, ...records.filter(({ run }) => run >= n).map((record) => record.createdAt));
}

function toChat(
	{ hasContent }: SpanSources,
	trace: Trace,
	record: Stored<AssistantMessage>,
	before: readonly MessageRecord[],
): TraceSpan {
	const { seq, run, turn, message, createdAt, cost } = record;
	const { model = '', stopReason, usage = {} } = turn ?? {};
	const { first } = trace;
	const inputs = before.filter((one) => one.run >= first.n && one.turn === undefined);
	const last = before.findLast((one) => one.run === run);
	const begin = last?.createdAt ?? trace.runs.find(({ n }) => n === run)?.createdAt ?? createdAt;
	return {
		...toChild(trace, createSpanId(trace.seed, 'chat', seq)),
		name: `chat ${model}`,
		kind: kinds.client,
		...toTimes({ begin, end: createdAt }),
		attributes: toAttributes({
			'gen_ai.operation.name': text('chat'),
			'gen_ai.provider.name': text(findProviderName(usage.provider, model)),
			'gen_ai.conversation.id': text(trace.sessionId),
			'gen_ai.request.model': text(model),
			'gen_ai.response.finish_reasons': text(stopReason === undefined ? undefined : [stopReason]),
			'gen_ai.usage.input_tokens': integer(usage.inputTokens),
			'gen_ai.usage.output_tokens': integer(usage.outputTokens),
			'gen_ai.usage.cache_read.input_tokens': integer(usage.cachedInputTokens),
			'gen_ai.usage.cache_creation.input_tokens': integer(usage.units?.cache_write_tokens),
			'runlet.cost.usd': double(cost?.isUnpriced === true ? undefined : cost?.usd),
			...(hasContent && {
				'gen_ai.input.messages': text(writeMessages(inputs.map((one) => one.message))),
				'gen_ai.output.messages': text(writeMessages([message], stopReason)),
			}),
		}),
	};
}

/** Returns the name of the provider that answered, or of the model's provider. The conventions require a name. */
function findProviderName(answered: string | undefined, model = ''): string {
	return toProviderName(answered ?? detectProviderFrom(builtinProviders(), model)?.variant ?? 'unknown');
}

function toCall(
	{ store, words, hasContent }: SpanSources,
	trace: Trace,
	record: Stored<ToolMessage>,
	reply: Stored<AssistantMessage> | undefined,
): TraceSpan {
	const { seq, isDenied, createdAt } = record;
	const { toolCallId, isError, ranWith } = record.message;
	const call = reply?.message.toolCalls?.find(({ id }) => id === toolCallId);
	const turn = toTurnPlace(reply?.seq ?? seq);
	const link = findLink(store, turn, toolCallId);
	const name = call?.name ?? 'unknown';
	const labels = listCallLabels(name, words);
	return {
		...toChild(trace, createCallId(trace, record, turn)),
		name: `execute_tool ${name}`,
		kind: kinds.internal,
		...toTimes({ begin: findBegin(trace, record, reply), end: createdAt }),
		attributes: toAttributes({
			'gen_ai.operation.name': text('execute_tool'),
			'gen_ai.conversation.id': text(trace.sessionId),
			'gen_ai.tool.name': text(name),
			'gen_ai.tool.call.id': text(toolCallId),
			'error.type': text(isError === true ? (isDenied === true ? 'denied' : 'tool_error') : undefined),
			'runlet.child.session.id': text(link?.sessionId),
			'runlet.tool.labels': text(labels.length > 0 ? labels : undefined),
			...(hasContent && {
				'gen_ai.tool.call.arguments': text(JSON.stringify(ranWith ?? call?.input)),
				'gen_ai.tool.call.result': text(JSON.stringify(store.messages.whole(record).message.content)),
			}),
		}),
		...(link !== undefined && { links: [link.link] }),
		...(isError === true && failed),
	};
}

/** A result that replaces another one is a span of its own. */
function createCallId({ seed }: Trace, { seq, replaces, message }: Stored<ToolMessage>, turn: number): string {
	return replaces === undefined
		? createCallSpanId(seed, turn, message.toolCallId)
		: createSpanId(seed, 'call', turn, message.toolCallId, seq);
}

/** Returns when a call begins: with its reply, with its approval, or with the run that takes up an open call. */
function findBegin(
	{ first, runs }: Trace,
	{ run, message: { toolCallId } }: Stored<ToolMessage>,
	reply: MessageRecord | undefined,
): number {
	const isApproval = (ask: Ask): boolean => ask.kind === 'approval' && ask.callId === toolCallId;
	const asked = runs.findLast(({ n, asks }) => n >= (reply?.run ?? 0) && n < run && asks.some(isApproval));
	const approved = asked && runs.find(({ n }) => n === asked.n + 1);
	return Math.max(reply?.createdAt ?? 0, first.createdAt, approved?.createdAt ?? 0);
}

/** Returns the link to the trace of the child session that works for a call. */
function findLink(store: SessionStore, turn: number, callId: string) {
	const child = store.calls.children.find(turn, callId);
	if (child === undefined) return undefined;
	const { seed: traceId, rootId: spanId } = createChildIds(child.id);
	const attributes = toAttributes({ 'gen_ai.conversation.id': text(child.id), 'gen_ai.agent.name': text(child.agent) });
	return { sessionId: child.id, link: { traceId, spanId, attributes } };
}

/** Yields the waits for a person about the calls of a turn, which are over before the run of the next turn. */
function* listWaits(
	{ reply, records }: Turn,
	nextRun: number,
	traces: ReadonlyMap<number, Trace>,
): Generator<TraceSpan> {
	if (reply === undefined) return;
	for (let n = reply.run; n < nextRun; n++) {
		const trace = traces.get(n);
		const [run, next] = trace === undefined ? [] : trace.runs.slice(n - trace.first.n);
		if (trace === undefined || run === undefined || next === undefined) continue;
		for (const ask of run.asks) yield toWait(trace, { ask, run, next }, reply, records);
	}
}

function toWait(
	trace: Trace,
	{
		ask: { kind, callId, isFlow },
		run,
		next,
	}: { readonly ask: Ask; readonly run: TracedRun; readonly next: TracedRun },
	reply: Stored<AssistantMessage>,
	records: readonly MessageRecord[],
): TraceSpan {
	const name = reply.message.toolCalls?.find(({ id }) => id === callId)?.name ?? 'unknown';
	// A denial is stored at once, also if the run waits for more decisions.
	const result = records.filter(isResult).find(({ message }) => message.toolCallId === callId);
	return {
		...toChild(trace, createSpanId(trace.seed, kind, run.id, callId)),
		name: `${kind} ${name}`,
		kind: kinds.internal,
		...toTimes({
			begin: run.endedAt ?? run.createdAt,
			end: Math.min(next.createdAt, result?.createdAt ?? next.createdAt),
		}),
		attributes: toAttributes({
			'gen_ai.conversation.id': text(trace.sessionId),
			'gen_ai.tool.name': text(name),
			'gen_ai.tool.call.id': text(callId),
			'runlet.approval.reason': text(isFlow === true ? 'untrusted_text' : undefined),
		}),
	};
}

function toChild({ traceId, rootId }: Trace, spanId: string) {
	return { traceId, spanId, parentSpanId: rootId };
}
