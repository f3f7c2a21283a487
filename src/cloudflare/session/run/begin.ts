import type { Actor } from '../../../core/base/actor.ts';
import { type ReadAnswers, readCallAnswers } from '../../../core/chat/call-answers.ts';
import {
	type CallEdit,
	type Message,
	messageText,
	type TerminalEvent,
	type ToolMessage,
	toolResultMessage,
} from '../../../core/chat/index.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { Once } from '../../objects/once.ts';
import type { RequestOrigin } from '../../objects/session-api.ts';
import { type CutOff, replayCutOff } from '../events/replay.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { type CallReply, findOpenCalls, findPending, type OpenCall } from '../store/calls.ts';
import type { Inbound, QueuedMessage } from '../store/inbound.ts';
import type { MessageRecord } from '../store/messages.ts';
import { type RunRecord, shortenRunEnd } from '../store/runs.ts';
import { canTakeNext, isWaiting, sessionStatus, toRunStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { endFamily, leaveChildren } from './load-tools.ts';
import { closeAccount } from './meter.ts';
import type { Attempt } from './next.ts';
import { createRunId } from './run.ts';

export interface BeginOptions extends Pick<RunRecord, 'stopAfter' | 'maxOutputTokens' | 'toolChoice' | 'terms'> {
	/** The model of this run and of all later runs. */
	readonly model?: string;
	readonly once?: Once;
	/** The HTTP request. By default that of the message. */
	readonly origin?: RequestOrigin;
	readonly by?: Actor;
	readonly denied?: readonly string[];
	readonly approved?: readonly ToolCall[];
	/** Arguments of approved calls. They replace the model's arguments. */
	readonly edits?: readonly CallEdit[];
	/** The answer to a call's question, for the call's tool. */
	readonly answered?: CallReply;
	readonly inbound?: Inbound;
	/** The place of the first replaced message. All messages after it are replaced, too. */
	readonly replaces?: number;
	readonly callback?: string;
	/** The queued message that the run begins with. */
	readonly waited?: QueuedMessage;
}

interface RunHost {
	readonly boot: string;
	readonly files: Pick<SessionFiles, 'keepAttachments'>;
}

interface NewRunHost extends RunHost {
	readonly model: string;
	readonly isNew: boolean;
}

/**
 * Stores a run and the messages that it begins with. Call it in a transaction. If an earlier run was
 * interrupted, calls that it had begun get the answer that their result is unknown.
 */
export function storeRun(
	store: SessionStore,
	given: readonly Message[],
	how: BeginOptions,
	{ boot, model, isNew, files }: NewRunHost,
): RunRecord {
	const { messages, calls, runs, deliveries, callbacks } = store;
	const { stopAfter, maxOutputTokens, toolChoice, terms, once, approved = [], edits = [] } = how;
	const { by, inbound, replaces, callback } = how;
	const input = [...(replaces === undefined ? listUnknownResults(store) : []), ...given];
	if (replaces !== undefined) {
		store.replace(replaces);
		leaveChildren(store, { all: true });
	}
	store.update({ model: how.model, title: isNew ? toTitle(given) : undefined });
	const createdAt = Date.now();
	store.reports.noteActivity(isNew || isWaiting(store.status), createdAt);
	const hasMessage = input.some(({ role }) => role !== 'tool');
	const firstSeq = hasMessage ? messages.nextPlace() : messages.lastTurn();
	const id = how.waited?.runId ?? createRunId();
	noteApproved(store, { approved, edits, by }, createdAt);
	if (how.answered !== undefined) calls.answer(messages.lastTurn(), how.answered);
	const n = store.nextRun;
	const run = runs.begin({
		...{ n, id, model, boot, firstSeq, createdAt },
		...{ stopAfter, maxOutputTokens, toolChoice, terms },
		origin: how.origin ?? toOrigin(inbound),
	});
	const last = given.at(-1);
	for (const message of input)
		messages.add(n, message, createdAt, {
			input: true,
			...(message.role === 'tool' && given.includes(message) && toDecided(message, how)),
			...(message === last && { inbound, replaces }),
		});
	if (last !== undefined) files.keepAttachments(last, inbound);
	if (once !== undefined) deliveries.add(once, { run: run.n }, createdAt);
	if (how.waited !== undefined) store.queue.take(how.waited, run.n);
	if (callback !== undefined) callbacks.add({ run: run.n, runId: run.id, url: callback });
	return run;
}

/** Returns the request that sent a message. */
function toOrigin({ requestId, caller }: RequestOrigin = {}): RequestOrigin | undefined {
	return requestId === undefined ? undefined : { requestId, caller };
}

/** Returns the stored fields of a result from a person, or of a denial. */
export function toDecided(
	{ toolCallId }: ToolMessage,
	{ by, denied = [] }: Pick<BeginOptions, 'by' | 'denied'>,
): Pick<MessageRecord, 'decidedBy' | 'isDenied'> {
	return { decidedBy: by, ...(denied.includes(toolCallId) && { isDenied: true }) };
}

export function noteApproved(
	{ calls, messages }: SessionStore,
	{ approved, edits, by }: Pick<ReadAnswers, 'approved' | 'edits'> & { readonly by?: Actor },
	at: number,
): void {
	for (const call of approved) {
		const ranWith = edits.find(({ callId }) => callId === call.id)?.input;
		calls.note(messages.lastTurn(), call, 'allowed', at, { ranWith, by });
	}
}

/** Stores a queued message whose run cannot begin. The run is stored as failed, because the message was accepted. */
export function storeFailedRun(
	store: SessionStore,
	waited: QueuedMessage,
	event: TerminalEvent,
	{ boot, files }: RunHost,
): RunRecord {
	const { messages, runs, callbacks } = store;
	const { runId, message, inbound, callback } = waited;
	return store.transaction(() => {
		const createdAt = Date.now();
		const n = store.nextRun;
		const run = runs.begin({
			n,
			id: runId,
			boot,
			firstSeq: messages.nextPlace(),
			createdAt,
			origin: toOrigin(inbound),
		});
		messages.add(n, message, createdAt, { input: true, inbound });
		files.keepAttachments(message, inbound);
		store.queue.take(waited, run.n);
		runs.end(run.n, 'error', { before: [], draft: [], steps: 0, event }, createdAt);
		if (callback !== undefined) callbacks.add({ run: run.n, runId, url: callback });
		return run;
	});
}

/** An interrupted run in its next attempt: where it continues, and the events that its readers have seen. */
interface ResumedRun extends Pick<CutOff, 'events' | 'resume'> {
	readonly record: RunRecord;
}

/**
 * Resumes a run whose object died (docs/runs.md, "Lives"). Call it in a transaction. Settles the cost of the
 * interrupted model request. Calls that possibly ran and must not be repeated get an error as their result. Readers see
 * that the interrupted turn restarts.
 */
export function takeUp(store: SessionStore, run: RunRecord, attempt: Attempt, boot: string): ResumedRun {
	const isAsking = store.spending.isUnanswered(run.n);
	// The next request asks for the begun reply, so its account stays open.
	if (store.begunReply === undefined) closeAccount(store, run.draft);
	const unknown = createUnknownResults(findOpenCalls(store));
	for (const result of unknown) {
		const inbound = store.calls.findInbound(store.messages.lastTurn(), result.toolCallId);
		store.messages.add(run.n, result, Date.now(), { inbound, isCutOff: true });
	}
	const { events, resume, asking } = replayCutOff(
		{ ...run, ...attempt },
		store.findRunMessages(run.n, run.firstSeq),
		isAsking,
	);
	const restarts = run.restarts + (asking ? 1 : 0);
	// Results of interrupted calls do not count as progress.
	const next = { ...attempt, boot, progress: attempt.progress + unknown.length, restarts };
	store.runs.takeUp(run.n, next);
	const again = asking ? [{ type: 'turn.restarted', iteration: resume.iteration + 1 } as const] : [];
	return { record: { ...run, ...next }, events: [...events, ...again], resume };
}

export function giveUp(store: SessionStore, run: RunRecord, event: TerminalEvent): void {
	const isAsking = store.spending.isUnanswered(run.n);
	closeAccount(store, run.draft);
	const { events, draft } = replayCutOff(run, store.findRunMessages(run.n, run.firstSeq), isAsking);
	const steps = events.filter(({ type }) => type === 'step').length;
	const end = shortenRunEnd({ before: [], draft, restarts: run.restarts, steps, event });
	store.runs.end(run.n, toRunStatus(event), end, Date.now());
	endFamily(store, store.session(), event);
}

export function createInterruption(attempts: number): TerminalEvent {
	const times = attempts === 1 ? 'once' : `${attempts} times`;
	const message = `The run was cut off ${times} and came no further. Continue it, or send a message.`;
	return { type: 'error', code: 'interrupted', message };
}

/** Creates error results for calls that an interrupted run had begun: they possibly ran. Other calls stay open. */
function createUnknownResults(open: readonly OpenCall[]): readonly ToolMessage[] {
	const output =
		'The run was cut off, so it is not known whether this call was carried out. Look before you call it again.';
	return open.flatMap(({ call: { id }, noted }) =>
		noted?.state === 'begun' && noted.question === undefined
			? [toolResultMessage({ id, output, isError: true, ranWith: noted.ranWith })]
			: [],
	);
}

function listUnknownResults(store: SessionStore): readonly Message[] {
	const run = store.runs.get();
	if (run === undefined || !canTakeNext(sessionStatus(run.status))) return [];
	return createUnknownResults(findOpenCalls(store));
}

const titleLength = 80;

/** Returns the title of a session: the beginning of its first message, without attachments. */
export function toTitle(input: readonly Message[]): string {
	const texts = input.map((message) => {
		const parts = 'parts' in message ? message.parts : undefined;
		return parts?.find(({ kind }) => kind === 'text')?.text ?? messageText(message);
	});
	return texts.join(' ').trim().slice(0, titleLength);
}

/** Denies all open approvals. Begins the next run if no other call is open. */
export function denyLate(
	store: SessionStore,
	begin: (messages: readonly Message[], how: BeginOptions) => unknown,
): void {
	const pending = findPending(store);
	const denied = (pending.calls ?? []).flatMap(({ id, kind }) => (kind === 'approval' ? id : []));
	const answers = denied.map((id) => ({ id, approve: false, reason: 'nobody decided in time.' }));
	const { messages, isLast } = readCallAnswers(pending, answers, { approvalMs: 0, everAsked: new Set() });
	if (isLast) {
		begin(messages, { denied });
		return;
	}
	store.transaction(() => {
		for (const message of messages)
			store.messages.add(store.nextRun, message, Date.now(), { input: true, ...toDecided(message, { denied }) });
		store.reports.noteWait();
	});
}
