import type { Agent } from '../../agent/define.ts';
import { log, toFailureFields } from '../../log.ts';
import { isStorageError } from '../../objects/storage.ts';
import { findPending } from '../store/calls.ts';
import type { RunRecord } from '../store/runs.ts';
import type { ParentRecord } from '../store/session-row.ts';
import { canTakeNext, sessionStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';

/**
 * While a run is open its object wakes this often, in milliseconds: it finds a run that died, and is not evicted. Each time
 * costs a row.
 */
const watchMs = 12_000;

/** Attempts that a run may lose in a row without progress. */
const mostLost = 3;

/** Attempts that a run may have in all. */
const mostAttempts = 10;

/** The facts that decide what a session does next. Times are in milliseconds since 1970. */
export interface SessionFacts {
	/** Missing where no session is stored. */
	readonly session?: {
		/** How long after its last activity it is removed. */
		readonly expiresAfterMs?: number;
		readonly createdAt: number;
		/** When it was last active without a run. */
		readonly visitedAt?: number;
	};
	/** Whether there are tables: those of a session, or the outbox of a removed session. */
	readonly hasTables: boolean;
	/** Whether this instance of the object takes in a session. */
	readonly isImporting?: boolean;
	/** The newest run. */
	readonly run?: Pick<RunRecord, 'status' | 'attempt' | 'lost' | 'progress' | 'createdAt' | 'endedAt'> & {
		/** Its own messages that are stored, counted where it is lost. */
		readonly stored: number;
		/** Whether children worked for it when it was lost. */
		readonly hasChildren?: boolean;
	};
	/** Whether this instance of the object carries out the newest run: no row holds this fact. */
	readonly isLive: boolean;
	/** Messages that wait for a run to end, and when the newest of them came. */
	readonly queue: { readonly size: number; readonly newestAt?: number };
	/** When the open approvals are denied. */
	readonly approvalEndsAt?: number;
	/** When the next callback is due. */
	readonly callbackAt?: number;
	/** When the next message to the owner's ledger or directory is due. */
	readonly outboxAt?: number;
}

/**
 * Where a session stands, and what it does next:
 *
 * - `missing`: nothing is stored, nothing to do.
 * - `removed`: only what the session owed is left; tell it, then `clear` the storage.
 * - `importing`: this instance of the object takes in a session.
 * - `running`: this instance of the object carries out the newest run.
 * - `ending`: the end of that run is stored, and its readers are about to be told.
 * - `lost`: the run's object died. `take-up` begins its next attempt; `give-up` ends a run after its last attempt.
 * - `queued`: `begin` the run of the message that has waited longest.
 * - `waiting`: an answer or results have to come from outside. `deny` approvals that have waited too long.
 * - `idle`: the next message begins a run.
 * - `expired`: its time is over and nobody has to be told of a run's end; `remove` it.
 */
export type SessionState =
	| 'missing'
	| 'removed'
	| 'importing'
	| 'running'
	| 'ending'
	| 'lost'
	| 'queued'
	| 'waiting'
	| 'idle'
	| 'expired';

export type NextAction =
	| { readonly type: 'none' | 'give-up' | 'begin' | 'deny' | 'remove' | 'clear' }
	| { readonly type: 'take-up'; readonly attempt: Attempt };

/** The counters of a run's attempts (docs/runs.md, "Lives"). */
export type Attempt = Pick<RunRecord, 'attempt' | 'lost' | 'progress'>;

export interface Next {
	readonly state: SessionState;
	readonly action: NextAction;
	/** When the object's alarm has to go off; missing where nothing is to be done by itself. */
	readonly wakeAt?: number;
}

/**
 * Decides what a session does next. A new instance of the object, its alarm and the end of a run all ask here, and do what
 * they are told until the action is `none`.
 */
export function decideNext(facts: SessionFacts, now: number): Next {
	const { session, run, isLive, queue, hasTables, isImporting, approvalEndsAt, callbackAt, outboxAt } = facts;
	if (isImporting) return { state: 'importing', action: none, wakeAt: now + watchMs };
	if (session === undefined) {
		if (!hasTables) return { state: 'missing', action: none };
		return { state: 'removed', action: { type: 'clear' }, wakeAt: outboxAt };
	}
	const tellAt = findEarliest(callbackAt, outboxAt);
	const watchAt = findEarliest(now + watchMs, tellAt);
	const status = sessionStatus(run?.status);
	if (run?.status === 'running') {
		if (isLive) return { state: 'running', action: none, wakeAt: watchAt };
		const attempt = planNextAttempt(run);
		return { state: 'lost', action: attempt ? { type: 'take-up', attempt } : { type: 'give-up' }, wakeAt: watchAt };
	}
	if (isLive) return { state: 'ending', action: none, wakeAt: watchAt };
	if (queue.size > 0 && canTakeNext(status)) return { state: 'queued', action: { type: 'begin' }, wakeAt: watchAt };
	// The session stays as long as somebody has to be told of a run's end.
	const expiresAt = callbackAt === undefined ? findExpiry(facts) : undefined;
	const wakeAt = findEarliest(tellAt, expiresAt, approvalEndsAt);
	if (expiresAt !== undefined && expiresAt <= now) return { state: 'expired', action: { type: 'remove' }, wakeAt };
	if (canTakeNext(status)) return { state: 'idle', action: none, wakeAt };
	const isLate = approvalEndsAt !== undefined && approvalEndsAt <= now;
	return { state: 'waiting', action: isLate ? { type: 'deny' } : none, wakeAt };
}

const none: NextAction = { type: 'none' };

/**
 * Plans the next attempt of a run whose object died; nothing after its last attempt. What counts is how far it came, and
 * no clock: a laptop may be closed for the night, and its clock be set.
 */
function planNextAttempt(run: NonNullable<SessionFacts['run']>): Attempt | undefined {
	const { attempt, lost, progress, stored, hasChildren = false } = run;
	// Children go on while the run that waits for them is lost.
	const lostNow = stored > progress || hasChildren ? 1 : lost + 1;
	if (lostNow >= mostLost || attempt >= mostAttempts) return undefined;
	return { attempt: attempt + 1, lost: lostNow, progress: stored };
}

function findExpiry({ session, run, queue }: SessionFacts): number | undefined {
	if (session?.expiresAfterMs === undefined) return undefined;
	const ofRuns = run?.endedAt ?? run?.createdAt ?? session.createdAt;
	// Calls from outside of runs are an activity, too.
	const lastActivity = Math.max(ofRuns, queue.newestAt ?? 0, session.visitedAt ?? 0);
	return lastActivity + session.expiresAfterMs;
}

function findEarliest(...times: readonly (number | undefined)[]): number | undefined {
	const known = times.filter((at) => at !== undefined);
	return known.length === 0 ? undefined : Math.min(...known);
}

/** Reads the facts of a session. `isLive`: whether this instance of the object carries out the newest run. */
export function readFacts(store: SessionStore, agents: readonly Agent[], isLive: boolean): SessionFacts {
	const { hasTables } = store;
	// The alarm ends a lease that is kept, too.
	const reportAt = store.reports.isEmpty && !store.spending.lease ? undefined : Date.now() + watchMs;
	const outboxAt = hasTables ? findEarliest(store.outbox.nextAt(), reportAt) : undefined;
	const queue = { size: 0 };
	if (!store.exists()) return { hasTables, isImporting: store.isImporting, isLive, queue, outboxAt };
	const { agent: name, expiresAfterMs, createdAt, parent } = store.session();
	const agent = agents.find((one) => one.name === name);
	const { visitedAt } = store;
	const run = store.runs.get();
	const isLost = run?.status === 'running' && !isLive;
	return {
		session: {
			// A child stays until its parent removes it.
			expiresAfterMs: parent === undefined ? (expiresAfterMs ?? agent?.expiresAfterMs) : undefined,
			createdAt,
			visitedAt,
		},
		hasTables,
		run: run && {
			...run,
			stored: isLost ? countStored(store, run) : 0,
			hasChildren: isLost && store.calls.children.listOpen().some(({ isBackground }) => !isBackground),
		},
		isLive,
		queue: { size: store.queue.size, newestAt: store.queue.newestAt() },
		approvalEndsAt: findApprovalEnd(store, parent, agent?.approvalMs),
		callbackAt: store.callbacks.nextAt(),
		outboxAt,
	};
}

/** Returns when the open approvals are denied (docs/people.md). Returns nothing without a time limit. */
function findApprovalEnd(
	store: SessionStore,
	parent: ParentRecord | undefined,
	approvalMs: number | undefined,
): number | undefined {
	// The parent of a child asks the person, and passes the answer on.
	const isForParent = parent !== undefined && parent.isBackground !== true;
	if (approvalMs === undefined || isForParent || store.status !== 'awaiting_tools') return undefined;
	const { calls = [], askedAt } = findPending(store);
	return calls.some(({ kind }) => kind === 'approval') ? askedAt + approvalMs + 1 : undefined;
}

function countStored(store: SessionStore, { n, firstSeq }: RunRecord): number {
	const { records } = store.messages.page({ from: firstSeq });
	return records.filter(({ run, input }) => run === n && input !== true).length;
}

/** An alarm that could not be set is set again after this many milliseconds. */
const againMs = 500;

/** An alarm that failed comes again after this many milliseconds: soon if the storage failed, because that passes. */
const storageAgainMs = 5_000;
export const alarmAgainMs = 60_000;

/** Returns how long an alarm that failed waits until it comes again. */
export function toPauseMs(cause: unknown): number {
	return isStorageError(cause) ? storageAgainMs : alarmAgainMs;
}

/**
 * The object's one alarm. Each time it is set, it asks anew when the session has something to do. Setting it and taking it
 * away cost like a row, so one that goes off too early is left: then it asks again.
 */
export class Alarm {
	readonly #store: SessionStore;
	readonly #wakeAt: () => number | undefined;
	#again: ReturnType<typeof setTimeout> | undefined;

	constructor(store: SessionStore, wakeAt: () => number | undefined) {
		this.#store = store;
		this.#wakeAt = wakeAt;
	}

	/**
	 * Sets it for a session that is about to be created. A session without an alarm would never expire, and its owner's
	 * list might never hear of it. Throws where the storage fails.
	 */
	announce(): Promise<void> {
		return this.#store.alarm.set(Date.now() + watchMs);
	}

	/** Sets it where none goes off in time. Returns whether that worked; if not, it is tried again. Never rejects. */
	async set(): Promise<boolean> {
		if (this.#again !== undefined) clearTimeout(this.#again);
		this.#again = undefined;
		try {
			if (this.#store.hasTables) {
				const [at, now] = [this.#wakeAt(), Date.now()];
				if (at !== undefined && !this.#standsBefore(at, now)) await this.#store.alarm.set(Math.max(now, at));
			}
			return true;
		} catch (cause) {
			log('warn', 'alarm.not_set', toFailureFields(cause));
			this.#again ??= setTimeout(() => void this.set(), againMs);
			return false;
		}
	}

	/** Sets it where none stands: the platform gives up one that has failed too often. Returns whether one stands now. */
	async renew(): Promise<boolean> {
		try {
			if (!this.#store.hasTables || (await this.#store.alarm.read()) !== undefined) return true;
		} catch (cause) {
			log('warn', 'alarm.not_read', toFailureFields(cause));
			return false;
		}
		return this.set();
	}

	/** Whether an alarm goes off until then. One that is late by far may have been lost. */
	#standsBefore(at: number, now: number): boolean {
		const { at: standing } = this.#store.alarm;
		return standing !== undefined && standing <= at && standing > now - watchMs;
	}
}
