import type { Agent } from '../../agent/define.ts';
import { log, toFailureFields } from '../../log.ts';
import { isStorageError } from '../../objects/storage.ts';
import { findPending } from '../store/calls.ts';
import type { RunRecord } from '../store/runs.ts';
import { canTakeNext, type ParentRecord, sessionStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

/** How often the alarm looks for an interrupted run and prevents eviction, in milliseconds. Each alarm costs a row. */
const watchMs = 12_000;

const mostLost = 3;

const mostAttempts = 10;

/** The facts that decide what a session does next. Times are in milliseconds since 1970. */
export interface SessionFacts {
	readonly session?: {
		/** The time from the last activity to the removal, in milliseconds. */
		readonly expiresAfterMs?: number;
		readonly createdAt: number;
		readonly visitedAt?: number;
		/** When somebody last opened the session, and how long after its last use it is archived, in milliseconds. */
		readonly usedAt?: number;
		readonly archiveAfterMs?: number;
	};
	/** Whether tables exist: a session's tables, or the outbox of a removed session. */
	readonly hasTables: boolean;
	/** The import of the session, with the end of its time if it can go on. Only a fork goes on by itself. */
	readonly importing?: { readonly endsAt?: number; readonly isFork?: boolean };
	readonly run?: Pick<RunRecord, 'status' | 'attempt' | 'lost' | 'progress' | 'createdAt' | 'endedAt'> & {
		readonly stored: number;
		readonly hasChildren?: boolean;
		/** Whether a lost run was waiting for a reply in the background. */
		readonly isParked?: boolean;
	};
	readonly isLive: boolean;
	/** The number of waiting messages, and the time of the newest. */
	readonly queue: { readonly size: number; readonly newestAt?: number };
	readonly approvalEndsAt?: number;
	/** When the next callback or the next export of a trace is due. */
	readonly callbackAt?: number;
	readonly outboxAt?: number;
	/** When the run asks for its reply in the background. */
	readonly pollAt?: number;
}

/**
 * The state of a session, with its next action:
 *
 * - `missing`: nothing is stored.
 * - `removed`: only the outbox is left. Deliver the outbox, then `clear` the storage.
 * - `importing`: a session is imported. `remove` an import that was interrupted a day ago.
 * - `running`: this instance of the object carries out the newest run.
 * - `ending`: the end of that run is stored and about to be shown.
 * - `lost`: the run's object died. `take-up` begins its next attempt; `give-up` ends the run after its last attempt.
 * - `queued`: `begin` the run of the oldest waiting message.
 * - `waiting`: the run needs an answer or results from outside. `deny` approvals after their time limit.
 * - `idle`: the next message begins a run. `archive` a session that is unused for long.
 * - `expired`: the session's time is over and no callback is left. `remove` it.
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
	| { readonly type: 'take-up'; readonly attempt: Attempt }
	/** `expiresAt` is the time of the alarm that an archived session needs. */
	| { readonly type: 'archive'; readonly expiresAt?: number };

export type Attempt = Pick<RunRecord, 'attempt' | 'lost' | 'progress'>;

export interface Next {
	readonly state: SessionState;
	readonly action: NextAction;
	/** The time of the object's next alarm. Missing if it needs none. */
	readonly wakeAt?: number;
}

/** Decides what a session does next. The caller performs the action and decides again, until the action is `none`. */
export function decideNext(facts: SessionFacts, now: number): Next {
	const { session, run, isLive, queue, hasTables, importing, approvalEndsAt, callbackAt, outboxAt, pollAt } = facts;
	if (importing !== undefined) return decideImport(importing, now);
	if (session === undefined) {
		if (!hasTables) return { state: 'missing', action: none };
		return { state: 'removed', action: { type: 'clear' }, wakeAt: outboxAt };
	}
	const tellAt = findEarliest(callbackAt, outboxAt);
	const watchAt = findEarliest(now + watchMs, tellAt, pollAt);
	const status = sessionStatus(run?.status);
	if (run?.status === 'running') {
		if (isLive) return { state: 'running', action: none, wakeAt: watchAt };
		const attempt = planNextAttempt(run);
		return { state: 'lost', action: attempt ? { type: 'take-up', attempt } : { type: 'give-up' }, wakeAt: watchAt };
	}
	if (isLive) return { state: 'ending', action: none, wakeAt: watchAt };
	if (queue.size > 0 && canTakeNext(status)) return { state: 'queued', action: { type: 'begin' }, wakeAt: watchAt };
	// The session stays until its callbacks are delivered and its traces are exported.
	const expiresAt = callbackAt === undefined ? findExpiry(facts) : undefined;
	const archiveAt = tellAt === undefined && canTakeNext(status) ? findArchiveTime(facts) : undefined;
	const wakeAt = findEarliest(tellAt, expiresAt, approvalEndsAt, archiveAt);
	if (expiresAt !== undefined && expiresAt <= now) return { state: 'expired', action: { type: 'remove' }, wakeAt };
	const isUnused = archiveAt !== undefined && archiveAt <= now;
	if (canTakeNext(status)) return { state: 'idle', action: isUnused ? { type: 'archive', expiresAt } : none, wakeAt };
	const isLate = approvalEndsAt !== undefined && approvalEndsAt <= now;
	return { state: 'waiting', action: isLate ? { type: 'deny' } : none, wakeAt };
}

function decideImport({ endsAt, isFork }: NonNullable<SessionFacts['importing']>, now: number): Next {
	const isOver = endsAt !== undefined && endsAt <= now;
	const wakeAt = endsAt === undefined || isFork ? now + watchMs : endsAt;
	return { state: 'importing', action: isOver ? { type: 'remove' } : none, wakeAt };
}

const none: NextAction = { type: 'none' };

/** How long the lines of an interrupted import are kept, in milliseconds. */
const importMs = 86_400_000;

/**
 * Plans the next attempt of a run whose object died. Returns nothing after the last attempt. Attempts are limited by
 * progress, and not by time: a laptop may sleep for a night, or its clock may be set.
 */
function planNextAttempt(run: NonNullable<SessionFacts['run']>): Attempt | undefined {
	const { attempt, lost, progress, stored, hasChildren = false, isParked = false } = run;
	// The platform takes parked runs out of memory, so that is no failure. The time limit of the run ends them.
	if (isParked) return { attempt, lost, progress };
	// Working children count as progress, because they continue while their parent is interrupted.
	const lostNow = stored > progress || hasChildren ? 1 : lost + 1;
	if (lostNow >= mostLost || attempt >= mostAttempts) return undefined;
	return { attempt: attempt + 1, lost: lostNow, progress: stored };
}

function findExpiry(facts: SessionFacts): number | undefined {
	const { expiresAfterMs } = facts.session ?? {};
	return expiresAfterMs === undefined ? undefined : findLastActivity(facts) + expiresAfterMs;
}

function findArchiveTime(facts: SessionFacts): number | undefined {
	const { archiveAfterMs } = facts.session ?? {};
	return archiveAfterMs === undefined ? undefined : findLastUse(facts) + archiveAfterMs;
}

/** Unlike an activity, a use does not change the list, and does not keep a session from its expiry. */
export function findLastUse(facts: SessionFacts): number {
	return Math.max(findLastActivity(facts), facts.session?.usedAt ?? 0);
}

function findLastActivity({ session, run, queue }: SessionFacts): number {
	const ofRuns = run?.endedAt ?? run?.createdAt ?? session?.createdAt ?? 0;
	return Math.max(ofRuns, queue.newestAt ?? 0, session?.visitedAt ?? 0);
}

function findEarliest(...times: readonly (number | undefined)[]): number | undefined {
	const known = times.filter((at) => at !== undefined);
	return known.length === 0 ? undefined : Math.min(...known);
}

interface CurrentFacts extends Pick<SessionFacts, 'isLive' | 'pollAt'> {
	readonly traceAt?: number;
	readonly archiveAfterMs?: number;
}

/**
 * @param isLive whether this instance of the object carries out the newest run
 * @param traceAt when the next export of a trace is due, in milliseconds since 1970
 * @param pollAt when the run asks for its reply in the background, in milliseconds since 1970
 */
export function readFacts(
	store: SessionStore,
	agents: readonly Agent[],
	{ isLive, traceAt, pollAt, archiveAfterMs }: CurrentFacts,
): SessionFacts {
	const { hasTables } = store;
	// The alarm also ends a kept lease.
	const now = Date.now();
	const dueAt = store.spending.lease ? now : store.reports.findDueAt(now);
	const reportAt = dueAt && Math.max(dueAt, now + watchMs);
	const outboxAt = hasTables ? findEarliest(store.outbox.nextAt(), reportAt) : undefined;
	const queue = { size: 0 };
	const { importProgress } = store;
	const isFork = importProgress?.owner.original !== undefined;
	const importing = store.isImporting ? { endsAt: importProgress && importProgress.at + importMs, isFork } : undefined;
	if (!store.exists()) return { hasTables, importing, isLive, queue, outboxAt };
	const { agent: name, expiresAfterMs, createdAt, parent } = store.session();
	const agent = agents.find((one) => one.name === name);
	const { visitedAt, usedAt } = store;
	const run = store.runs.get();
	const isLost = run?.status === 'running' && !isLive;
	return {
		session: {
			// A child stays until its parent removes it.
			expiresAfterMs: parent === undefined ? (expiresAfterMs ?? agent?.expiresAfterMs) : undefined,
			createdAt,
			visitedAt,
			usedAt,
			archiveAfterMs,
		},
		hasTables,
		run: run && {
			...run,
			stored: isLost ? countStored(store, run) : 0,
			isParked: isLost && store.begunReply !== undefined,
			hasChildren: isLost && store.calls.children.listOpen().some(({ isBackground }) => !isBackground),
		},
		isLive,
		queue: { size: store.queue.size, newestAt: store.queue.newestAt() },
		approvalEndsAt: findApprovalEnd(store, parent, agent?.approvalMs),
		callbackAt: findEarliest(store.callbacks.nextAt(), traceAt),
		outboxAt,
		pollAt,
	};
}

/** Returns when the open approvals are denied (docs/people.md). Returns nothing without a time limit. */
function findApprovalEnd(
	store: SessionStore,
	parent: ParentRecord | undefined,
	approvalMs: number | undefined,
): number | undefined {
	// The parent of a child asks the person, and passes the person's answer to the child.
	const isForParent = parent !== undefined && parent.isBackground !== true;
	if (approvalMs === undefined || isForParent || store.status !== 'awaiting_tools') return undefined;
	const { calls = [], askedAt } = findPending(store);
	return calls.some(({ kind }) => kind === 'approval') ? askedAt + approvalMs + 1 : undefined;
}

function countStored(store: SessionStore, { n, firstSeq }: RunRecord): number {
	const { records } = store.messages.page({ from: firstSeq });
	return records.filter(({ run, input }) => run === n && input !== true).length;
}

/** The pause before the next try if the alarm could not be set, in milliseconds. */
const againMs = 500;

/** The pause after a failed alarm, in milliseconds. It is shorter after storage failures, as these usually end soon. */
const storageAgainMs = 5_000;
export const alarmAgainMs = 60_000;

export function toPauseMs(cause: unknown): number {
	return isStorageError(cause) ? storageAgainMs : alarmAgainMs;
}

/** The object's alarm. Setting or deleting it costs a row, so an early alarm stays: its handler sets the next one. */
export class Alarm {
	readonly #store: SessionStore;
	readonly #wakeAt: () => number | undefined;
	#again: ReturnType<typeof setTimeout> | undefined;

	constructor(store: SessionStore, wakeAt: () => number | undefined) {
		this.#store = store;
		this.#wakeAt = wakeAt;
	}

	/** Sets the alarm before a session is created, so the session is listed and expires. Throws if storing fails. */
	announce(): Promise<void> {
		return this.#store.alarm.set(Date.now() + watchMs);
	}

	/** Sets the alarm unless an earlier one is set. If this fails, returns false and retries later. Never rejects. */
	async set(): Promise<boolean> {
		if (this.#again !== undefined) clearTimeout(this.#again);
		this.#again = undefined;
		try {
			if (this.#store.hasTables) {
				const [at, now] = [this.#wakeAt(), Date.now()];
				if (at !== undefined && !this.#isSetBefore(at, now)) await this.#store.alarm.set(Math.max(now, at));
			}
			return true;
		} catch (cause) {
			log('warn', 'alarm.not_set', toFailureFields(cause));
			this.#again ??= setTimeout(() => void this.set(), againMs);
			return false;
		}
	}

	/** Sets a missing alarm: the platform drops an alarm that failed too often. Returns whether an alarm is set now. */
	async renew(): Promise<boolean> {
		try {
			if (!this.#store.hasTables || (await this.#store.alarm.read()) !== undefined) return true;
		} catch (cause) {
			log('warn', 'alarm.not_read', toFailureFields(cause));
			return false;
		}
		return this.set();
	}

	/** Whether an alarm is set for this time or earlier. A long overdue alarm counts as lost. */
	#isSetBefore(at: number, now: number): boolean {
		const { at: current } = this.#store.alarm;
		return current !== undefined && current <= at && current > now - watchMs;
	}
}
