import {
	type ChatOptions,
	type Message,
	messageText,
	type RunEvent,
	resolveRegistration,
	type TerminalEvent,
} from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/resumption.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { AtCrashPoint } from '../../agent/crash.ts';
import type { Limit } from '../../rpc/budget.ts';
import type { Once, RunTerms } from '../../rpc/session.ts';
import { RunLog } from '../events/log.ts';
import { findOpenCalls, listApprovedCalls, listQuestions } from '../store/calls.ts';
import { type Inbound, InboundContext } from '../store/inbound.ts';
import type { Waiting } from '../store/queue.ts';
import type { RunRecord } from '../store/runs.ts';
import { canTakeNext, sessionStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { chargeLost } from './charge.ts';
import { type createChatOptions, readHistory } from './chat-options.ts';
import { createSessionMeter, type OwnerLedger, readBudgetState } from './meter.ts';
import { type Ended, RunCounter } from './metrics.ts';
import { createUnknownResults } from './recovery.ts';
import { createRunId, type Work } from './run.ts';

/** What holds for a run that begins. */
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
	/** Calls that were allowed. */
	readonly approved?: readonly ToolCall[];
	/** Where the last of the given messages came from. */
	readonly inbound?: Inbound;
	/** The place of the message that the given ones replace, with all behind it. */
	readonly replaces?: number;
	/** Where its end is told. */
	readonly callback?: string;
	/** The message that waited for it. */
	readonly waited?: Waiting;
}

/**
 * Stores a run and the messages that it begins with, in a transaction of the caller's. Calls that an earlier run had
 * begun when it was cut off are answered as unknown.
 */
export function storeRun(
	store: SessionStore,
	given: readonly Message[],
	how: BeginOptions,
	{ boot, model }: { readonly boot: string; readonly model: string },
): RunRecord {
	const { messages, calls, runs, deliveries, callbacks } = store;
	const { stopAfter, maxOutputTokens, toolChoice, terms, once, approved = [], inbound, replaces, callback } = how;
	const input = [...(replaces === undefined ? listUnknownResults(store) : []), ...given];
	if (replaces !== undefined) store.replace(replaces);
	if (how.model !== undefined) store.chooseModel(how.model);
	const createdAt = Date.now();
	const isNew = store.session().title === undefined;
	if (isNew) store.setTitle(toTitle(given));
	store.noteActivity(isNew, createdAt);
	const isAsked = input.some(({ role }) => role !== 'tool');
	const firstSeq = isAsked ? messages.nextPlace() : messages.lastTurn();
	const id = how.waited?.runId ?? createRunId();
	const asked = { stopAfter, maxOutputTokens, toolChoice, terms };
	const run = runs.begin({ n: store.nextRun, id, model, ...asked, boot, firstSeq, createdAt });
	for (const call of approved) calls.note(messages.lastTurn(), call, 'allowed', createdAt);
	for (const message of input)
		messages.add(run.n, message, createdAt, { input: true, ...(message === given.at(-1) && { inbound, replaces }) });
	if (once !== undefined) deliveries.add(once, { run: run.n }, createdAt);
	if (how.waited !== undefined) store.takeFromQueue(how.waited, run.n);
	if (callback !== undefined) callbacks.add({ run: run.n, runId: run.id, url: callback });
	return run;
}

/** Stores a message that waited and cannot begin a run. It was accepted, so it is kept, and its run has failed. */
export function storeFailedRun(store: SessionStore, waited: Waiting, event: TerminalEvent, boot: string): RunRecord {
	const { messages, runs, callbacks } = store;
	const { runId, message, inbound, callback } = waited;
	return store.transaction(() => {
		const createdAt = Date.now();
		const run = runs.begin({ n: store.nextRun, id: runId, boot, firstSeq: messages.nextPlace(), createdAt });
		messages.add(run.n, message, createdAt, { input: true, inbound });
		store.takeFromQueue(waited, run.n);
		runs.end(run.n, 'error', { before: [], draft: [], steps: 0, event }, createdAt);
		if (callback !== undefined) callbacks.add({ run: run.n, runId, url: callback });
		return run;
	});
}

/** Lists results for calls that the newest run had begun when it failed or was cancelled. */
function listUnknownResults(store: SessionStore): readonly Message[] {
	const run = store.runs.get();
	if (run === undefined || !canTakeNext(sessionStatus(run.status))) return [];
	return createUnknownResults(findOpenCalls(store));
}

/** Characters of a session's title: the beginning of its first message. */
const titleLength = 80;

/** Returns what the person wrote, without attachments. */
function toTitle(input: readonly Message[]): string {
	const texts = input.map((message) => {
		const parts = 'parts' in message ? message.parts : undefined;
		return parts?.find(({ kind }) => kind === 'text')?.text ?? messageText(message);
	});
	return texts.join(' ').trim().slice(0, titleLength);
}

/** What a session lends each of its runs. */
export interface RunContext {
	readonly store: SessionStore;
	readonly options: ReturnType<typeof createChatOptions>;
	/** What the session may spend. It is read each time, because it may be raised. */
	readonly limit: () => Limit;
	readonly ledger: OwnerLedger;
	readonly atCrashPoint: AtCrashPoint;
	readonly onSteered: (id: number) => void;
	/** Told once the run's end is stored. */
	readonly onEnded: (ended: Ended) => void;
}

/**
 * Reads all that a run needs, in the transaction that stores it.
 *
 * @param taken what the readers of a run that is taken up were shown, and how it goes on.
 */
export function prepareRun(
	context: RunContext,
	record: RunRecord,
	taken: { readonly events?: readonly RunEvent[]; readonly resume?: Resumption } = {},
): Work {
	const { store, options, limit, ledger, atCrashPoint, onSteered, onEnded } = context;
	const { id: sessionId, owner } = store.session();
	const counter = new RunCounter(taken.events);
	const history = readHistory(store, options);
	const inbound = new InboundContext(history, owner);
	return {
		store,
		record,
		log: new RunLog(record.n, taken.events),
		counter,
		resume: taken.resume,
		inbound,
		sync: () => store.sync(),
		atCrashPoint,
		options: {
			...options,
			context: { sessionId, runId: record.id },
			skillContext: () => inbound.current,
			stopAfter: record.stopAfter,
			approved: listApprovedCalls(store),
			asked: listQuestions(store),
			takenIds: store.calls.listAskedIds(),
		},
		history: history.map(({ message }) => message),
		meter: createSessionMeter({
			store,
			record,
			atCrashPoint,
			limit,
			computePrice: (model, tokens) => resolveRegistration({ ...options, model })?.computePrice?.(model, tokens),
			contextWindow: (model) => resolveRegistration({ ...options, model })?.contextWindow?.(model),
			owner: ledger,
		}),
		lastEvent: (event) =>
			event.type === 'done' ? { ...event, budget: { ...readBudgetState(store, limit()) } } : event,
		onSteered,
		onEnd: (event) => {
			const asked = event.type === 'awaiting' ? (event.toolCalls ?? []) : [];
			for (const call of asked) store.calls.note(store.messages.lastTurn(), call, 'asked', Date.now());
			// A request is still open only if its message could not be stored.
			chargeLost(store, store.runs.get(record.n)?.draft);
		},
		onEnded: (event, firstAt) => onEnded({ event, tally: counter.tally, transport: inbound.transport, firstAt }),
	};
}
