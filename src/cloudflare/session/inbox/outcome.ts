import { RunletError } from '../../../core/base/errors.ts';
import type { TerminalEvent } from '../../../core/chat/index.ts';
import { parseTreeId } from '../../agent/event-source.ts';
import { type Bytes, toFailure } from '../../objects/result.ts';
import type {
	Handling,
	NewSession,
	RunOutcome,
	RunResult,
	RunStream,
	SessionState,
} from '../../objects/session-api.ts';
import { createProtocol, type ProtocolContext } from '../../wire/protocols/format.ts';
import { showError } from '../../wire/shown-error.ts';
import { createNoSuchEvent, isEnd, parseEventId, toStart } from '../events/event-id.ts';
import { type FollowOptions, follow } from '../events/follow.ts';
import { createPastLog } from '../events/replay.ts';
import type { LiveRun } from '../run/run.ts';
import type { SessionStore } from '../store/store.ts';
import type { Principal } from './authorization.ts';
import type { AcceptedRequest, JoinChildren } from './inbox.ts';
import type { UpcomingRun } from './transaction.ts';

type Show =
	/** With the answer: the session was just created. */
	| { readonly created: () => NewSession; readonly session?: undefined }
	/** Instead of an answer, without a run. */
	| { readonly session: () => SessionState; readonly created?: undefined };

/** Answers a request in the requested form: with events, with the result of the run, or at once. */
export async function toRunOutcome(
	{ run, isReplay, lease, join, isOperator }: AcceptedRequest,
	how: Pick<Handling, 'delivery' | 'format'>,
	{ created, session }: Show,
): Promise<RunOutcome> {
	if (run === undefined) return { kind: 'session', session: created ? created() : session(), isReplay };
	const { delivery, format } = how;
	const { id: runId } = run.record;
	const reader = { isOperator, id: runId };
	if (delivery === 'stream') return { ...streamRun(run, format, { lease, join, isOperator }), isReplay };
	if (delivery === 'accepted') return { kind: 'accepted', runId, created: created?.(), isReplay };
	const live = 'begun' in run ? await run.begun : run;
	const event = await live.ended;
	const protocol = createProtocol(format);
	if (protocol.result !== undefined) {
		const events = live.log.read(live.log.cursor(), Number.POSITIVE_INFINITY).map((stamped) => stamped.event);
		const whole = protocol.result(events);
		if ('error' in whole) return { kind: 'failed', error: showError(toFailure(whole.error), reader), isReplay };
		return { kind: 'completion', ...whole, isReplay };
	}
	if (event.type === 'error') {
		const error = new RunletError(event.code, event.message, event.data);
		return { kind: 'failed', error: showError(toFailure(error), reader), isReplay };
	}
	return { kind: 'result', result: toRunResult(runId, event), created: created?.(), isReplay };
}

interface Following extends Pick<Handling, 'format'>, Pick<Principal, 'lease' | 'isOperator'> {
	readonly join?: JoinChildren;
}

/** Streams the events behind a position. Returns nothing without a run, or if the newest run was read to its end. */
export function streamEvents(
	store: SessionStore,
	live: LiveRun | undefined,
	lastEventId: string | undefined,
	{ format, lease, join, isOperator }: Following,
): Bytes | undefined {
	const newest = store.runs.get();
	const place = lastEventId && join ? parseTreeId(lastEventId.trim()) : undefined;
	const seen = lastEventId === undefined || lastEventId === '' ? undefined : parseEventId(place?.own ?? lastEventId);
	if (newest === undefined) return undefined;
	if (seen !== undefined && (seen.run < 1 || seen.run > newest.n)) throw createNoSuchEvent();
	// A reader at the end of a run continues with the next run, if any.
	const from = seen === undefined ? toStart(newest.n) : isEnd(seen) ? toStart(seen.run + 1) : seen;
	if (from.run > newest.n) return undefined;
	const protocol = format && createProtocol(format);
	const log = live?.record.n === from.run ? live.log : createPastLog(store, from.run);
	// A parent passes the events on to its own readers.
	const reader = { isOperator: isOperator || format?.type === 'lines', id: store.runs.get(from.run)?.id };
	return follow(log, from, protocol, { lease, reader, join: join && ((own) => join(own, place)) });
}

export function streamRun(
	run: LiveRun | UpcomingRun,
	format: Handling['format'],
	{
		protocol,
		isOperator,
		...joined
	}: Omit<FollowOptions, 'reader'> & Pick<Principal, 'isOperator'> & { readonly protocol?: ProtocolContext },
): RunStream {
	const reader = { isOperator, id: run.record.id };
	const log = 'begun' in run ? run.begun.then((live) => live.log) : run.log;
	return { kind: 'stream', stream: follow(log, undefined, createProtocol(format, protocol), { ...joined, reader }) };
}

function toRunResult(runId: string, event: Exclude<TerminalEvent, { readonly type: 'error' }>): RunResult {
	switch (event.type) {
		case 'done':
			return { runId, ...dropType(event), status: 'completed' };
		case 'awaiting':
			return { runId, ...dropType(event) };
		case 'halted':
			return { runId, ...dropType(event), status: 'halted' };
		case 'cancelled':
			return { runId, ...dropType(event), status: 'cancelled' };
	}
}

function dropType<E extends TerminalEvent>({ type: _, ...rest }: E): Omit<E, 'type'> {
	return rest;
}
