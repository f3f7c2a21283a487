import type { Actor } from '../../../core/base/actor.ts';
import { type ReadAnswers, readCallAnswers } from '../../../core/chat/call-answers.ts';
import {
	type CallEdit,
	type ChatOptions,
	type Message,
	messageText,
	type TerminalEvent,
	type ToolMessage,
	toolResultMessage,
} from '../../../core/chat/index.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { Once } from '../../objects/once.ts';
import type { RunTerms } from '../../wire/run.ts';
import { type CutOff, replayCutOff } from '../events/replay.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { findOpenCalls, findPending, type GivenAnswer, type OpenCall } from '../store/calls.ts';
import type { Inbound } from '../store/inbound.ts';
import type { MessageRecord } from '../store/message-record.ts';
import type { Waiting } from '../store/requests.ts';
import { shortenRunEnd } from '../store/run-end.ts';
import type { RunRecord } from '../store/runs.ts';
import { canTakeNext, isWaiting, sessionStatus, toRunStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { endFamily, leaveChildren } from './children.ts';
import { closeAccount } from './meter.ts';
import type { Attempt } from './next.ts';
import { createRunId } from './run.ts';

/** The options of a new run. */
export interface BeginOptions {
	/** The model from now on. */
	readonly model?: string;
	/** After how many turns it stops. */
	readonly stopAfter?: number;
	/** The longest reply that the client wants, in tokens. */
	readonly maxOutputTokens?: number;
	/** The tool that the client wants called first. */
	readonly toolChoice?: ChatOptions['toolChoice'];
	readonly terms?: RunTerms;
	/** The request that it answers. */
	readonly once?: Once;
	/** Who gives its first answers. */
	readonly by?: Actor;
	/** The calls among them that were denied. */
	readonly denied?: readonly string[];
	/** Calls that were allowed. */
	readonly approved?: readonly ToolCall[];
	/** Arguments for some of them, in the place of the model's. */
	readonly edits?: readonly CallEdit[];
	/** The call whose tool takes an answer, and that answer. */
	readonly answered?: GivenAnswer;
	/** Where the last of the given messages came from. */
	readonly inbound?: Inbound;
	/** The place of the message that the given ones replace, with all behind it. */
	readonly replaces?: number;
	/** Where its end is told. */
	readonly callback?: string;
	/** The message that waited for it. */
	readonly waited?: Waiting;
}

/** The object that carries out a run, with the session's files. */
interface RunHost {
	readonly boot: string;
	readonly files: Pick<SessionFiles, 'keepAttachments'>;
}

/**
 * Stores a run and the messages that it begins with, in a transaction of the caller's. Calls that an earlier run had
 * begun when it was cut off are answered as unknown.
 */
export function storeRun(
	store: SessionStore,
	given: readonly Message[],
	how: BeginOptions,
	{ boot, model, files }: RunHost & { readonly model: string },
): RunRecord {
	const { messages, calls, runs, deliveries, callbacks } = store;
	const {
		stopAfter,
		maxOutputTokens,
		toolChoice,
		terms,
		once,
		approved = [],
		edits = [],
		inbound,
		replaces,
		callback,
	} = how;
	const input = [...(replaces === undefined ? listUnknownResults(store) : []), ...given];
	if (replaces !== undefined) {
		store.replace(replaces);
		leaveChildren(store, { all: true });
	}
	store.update({ model: how.model });
	const createdAt = Date.now();
	const isNew = store.session().title === undefined;
	if (isNew) store.update({ title: toTitle(given) });
	store.reports.noteActivity(isNew || isWaiting(store.status), createdAt);
	const isAsked = input.some(({ role }) => role !== 'tool');
	const firstSeq = isAsked ? messages.nextPlace() : messages.lastTurn();
	const id = how.waited?.runId ?? createRunId();
	const asked = { stopAfter, maxOutputTokens, toolChoice, terms };
	noteApproved(store, { approved, edits, by: how.by }, createdAt);
	if (how.answered !== undefined) calls.answer(messages.lastTurn(), how.answered);
	const n = store.nextRun;
	const run = runs.begin({ n, id, model, ...asked, boot, firstSeq, createdAt });
	for (const message of input)
		messages.add(n, message, createdAt, {
			input: true,
			...(message.role === 'tool' && given.includes(message) && toDecided(message, how)),
			...(message === given.at(-1) && { inbound, replaces }),
		});
	const last = given.at(-1);
	if (last !== undefined) files.keepAttachments(last, inbound);
	if (once !== undefined) deliveries.add(once, { run: run.n }, createdAt);
	if (how.waited !== undefined) store.queue.take(how.waited, run.n);
	if (callback !== undefined) callbacks.add({ run: run.n, runId: run.id, url: callback });
	return run;
}

/** Returns the fields beside a result that a person gives, or beside a denial. */
export function toDecided(
	{ toolCallId }: ToolMessage,
	{ by, denied = [] }: Pick<BeginOptions, 'by' | 'denied'>,
): Pick<MessageRecord, 'decidedBy' | 'isDenied'> {
	return { decidedBy: by, ...(denied.includes(toolCallId) && { isDenied: true }) };
}

/** Stores that a person has allowed calls, with the arguments that they are to run with. */
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

/** Stores a message that waited and cannot begin a run. It was accepted, so it is kept, and its run has failed. */
export function storeFailedRun(
	store: SessionStore,
	waited: Waiting,
	event: TerminalEvent,
	{ boot, files }: RunHost,
): RunRecord {
	const { messages, runs, callbacks } = store;
	const { runId, message, inbound, callback } = waited;
	return store.transaction(() => {
		const createdAt = Date.now();
		const n = store.nextRun;
		const run = runs.begin({ n, id: runId, boot, firstSeq: messages.nextPlace(), createdAt });
		messages.add(n, message, createdAt, { input: true, inbound });
		files.keepAttachments(message, inbound);
		store.queue.take(waited, run.n);
		runs.end(run.n, 'error', { before: [], draft: [], steps: 0, event }, createdAt);
		if (callback !== undefined) callbacks.add({ run: run.n, runId, url: callback });
		return run;
	});
}

/** A run in its next attempt: where it goes on, and the events that its readers have seen. */
interface TakenUp extends Pick<CutOff, 'events' | 'resume'> {
	readonly record: RunRecord;
}

/**
 * Takes up a run whose object died, in one transaction of the caller's (docs/runs.md, "Lives"): charges what a request to
 * the model may have cost, answers calls that had begun and may not be repeated as unknown, and asks again for the turn
 * that the model was writing, of which its readers are told first.
 */
export function takeUp(store: SessionStore, run: RunRecord, attempt: Attempt, boot: string): TakenUp {
	const isAsking = store.spending.isUnanswered(run.n);
	closeAccount(store, run.draft);
	const unknown = createUnknownResults(findOpenCalls(store));
	for (const result of unknown) {
		const inbound = store.calls.findInbound(store.messages.lastTurn(), result.toolCallId);
		store.messages.add(run.n, result, Date.now(), { inbound });
	}
	const { events, resume, asking } = replayCutOff(
		{ ...run, ...attempt },
		store.findRunMessages(run.n, run.firstSeq),
		isAsking,
	);
	const restarts = run.restarts + (asking ? 1 : 0);
	// Results for calls that were cut off are no progress.
	const next = { ...attempt, boot, progress: attempt.progress + unknown.length, restarts };
	store.runs.takeUp(run.n, next);
	const again = asking ? [{ type: 'turn.restarted', iteration: resume.iteration + 1 } as const] : [];
	return { record: { ...run, ...next }, events: [...events, ...again], resume };
}

/** Ends a run that cannot go on. What its readers were shown of it is kept. */
export function giveUp(store: SessionStore, run: RunRecord, event: TerminalEvent): void {
	const isAsking = store.spending.isUnanswered(run.n);
	closeAccount(store, run.draft);
	const { events, draft } = replayCutOff(run, store.findRunMessages(run.n, run.firstSeq), isAsking);
	const steps = events.filter(({ type }) => type === 'step').length;
	const end = shortenRunEnd({ before: [], draft, restarts: run.restarts, steps, event });
	store.runs.end(run.n, toRunStatus(event), end, Date.now());
	endFamily(store, event);
}

/** Creates the end of a run after its last attempt. */
export function createInterruption(attempts: number): TerminalEvent {
	const times = attempts === 1 ? 'once' : `${attempts} times`;
	const message = `The run was cut off ${times} and came no further. Continue it, or send a message.`;
	return { type: 'error', code: 'interrupted', message };
}

/**
 * Tells the model about calls that a run had begun when it was cut off: nobody knows what came of them, so they are not
 * run again, except those of tools that may be. Calls that had not begun, or that wait for somebody, stay open.
 */
function createUnknownResults(open: readonly OpenCall[]): readonly ToolMessage[] {
	const output =
		'The run was cut off, so it is not known whether this call was carried out. Look before you call it again.';
	return open.flatMap(({ call: { id }, noted }) =>
		noted?.state === 'begun' && noted.question === undefined
			? [toolResultMessage({ id, output, isError: true, ranWith: noted.ranWith })]
			: [],
	);
}

/** Lists results for calls that the newest run had begun when it failed or was cancelled. */
function listUnknownResults(store: SessionStore): readonly Message[] {
	const run = store.runs.get();
	if (run === undefined || !canTakeNext(sessionStatus(run.status))) return [];
	return createUnknownResults(findOpenCalls(store));
}

/** Characters of a session's title: the beginning of its first message. */
const titleLength = 80;

/** Returns the title of a session: what the person wrote first, without attachments. */
export function toTitle(input: readonly Message[]): string {
	const texts = input.map((message) => {
		const parts = 'parts' in message ? message.parts : undefined;
		return parts?.find(({ kind }) => kind === 'text')?.text ?? messageText(message);
	});
	return texts.join(' ').trim().slice(0, titleLength);
}

/** Begins the run of a session. */
interface Beginner {
	readonly begin: (given: readonly Message[], how: BeginOptions) => unknown;
}

/** Denies all open approvals. Begins the next run if no other call is open. */
export function denyLate(store: SessionStore, runner: Beginner): void {
	const pending = findPending(store);
	const denied = (pending.calls ?? []).flatMap(({ id, kind }) => (kind === 'approval' ? id : []));
	const answers = denied.map((id) => ({ id, approve: false, reason: 'nobody decided in time.' }));
	const { messages, isLast } = readCallAnswers(pending, answers, { approvalMs: 0, everAsked: new Set() });
	if (isLast) {
		runner.begin(messages, { denied });
		return;
	}
	store.transaction(() => {
		for (const message of messages)
			store.messages.add(store.nextRun, message, Date.now(), { input: true, ...toDecided(message, { denied }) });
		store.reports.noteWait();
	});
}
