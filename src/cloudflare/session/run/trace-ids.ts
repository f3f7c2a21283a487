import { hashText } from '../../../core/base/bytes.ts';
import { type CallerSpan, formatTraceparent } from '../../wire/traceparent.ts';
import type { RunRecord } from '../store/runs.ts';
import { isWaiting, type SessionRecord, sessionStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

/** The ids of a trace. The ids of its spans are hashes of names and of its seed. */
export interface TraceIds {
	/** The id of the caller's trace, or else the seed. */
	readonly traceId: string;
	/** The id that the trace has without a caller. Two traces with one caller have two seeds. */
	readonly seed: string;
	/** The id of the span `invoke_agent`. */
	readonly rootId: string;
	/** The span of the caller. */
	readonly parentSpanId?: string;
}

type Traced = Pick<SessionRecord, 'id' | 'parent'>;

/** Makes the ids of the trace that begins with a run. */
export function createTraceIds({ id, parent }: Traced, first: Pick<RunRecord, 'n' | 'id' | 'origin'>): TraceIds {
	const isOfCall = parent !== undefined && first.n === 1;
	const { seed, rootId } = isOfCall ? createChildIds(id) : createIds(id, first.id);
	const { traceId = seed, spanId: parentSpanId } = first.origin?.caller ?? {};
	return { traceId, seed, rootId, parentSpanId };
}

/** Makes the ids of a child's first trace. The session alone names it, so that the parent can link to it. */
export function createChildIds(session: string): Pick<TraceIds, 'seed' | 'rootId'> {
	return createIds(session);
}

function createIds(...name: readonly string[]) {
	const seed = hashToHex(JSON.stringify(name), 32);
	return { seed, rootId: createSpanId(seed, 'invoke_agent') };
}

/** Makes the id of a span from the seed of its trace and from what names the span there. */
export function createSpanId(seed: string, ...name: readonly (string | number)[]): string {
	return hashToHex(JSON.stringify([seed, ...name]), 16);
}

/** Hashes a text to hexadecimal digits, 53 bits for each 14 digits. Sessions and runs have random ids, so that is enough. */
function hashToHex(text: string, length: number): string {
	let hex = '';
	for (let from = text; hex.length < length; from = ` ${from}`)
		hex += Number.parseInt(hashText(from), 36).toString(16).padStart(14, '0');
	return hex.slice(0, length);
}

/** Makes the id of the span of a call. The turn of the call is a place in the history. */
export function createCallSpanId(seed: string, turn: number, callId: string): string {
	return createSpanId(seed, 'call', turn, callId);
}

/** Makes the headers `traceparent` for the calls of a run: the parent is the span of the call. */
export function createTraceparents(store: SessionStore, record: RunRecord): (callId: string) => string {
	let ids: TraceIds | undefined;
	return (callId) => {
		ids ??= createTraceIds(store.session(), findFirst(store.runs, record));
		const { traceId, seed } = ids;
		const span: CallerSpan = { traceId, spanId: createCallSpanId(seed, store.messages.lastTurn(), callId) };
		return formatTraceparent(span);
	};
}

/** Finds the run that began to wait for what a run continues, over all waits. */
function findFirst(runs: SessionStore['runs'], record: RunRecord): RunRecord {
	const before = runs.before(record.n);
	return before !== undefined && isWaiting(sessionStatus(before.status)) ? findFirst(runs, before) : record;
}
