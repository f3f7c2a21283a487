import { RunletError } from '../../../core/base/errors.ts';
import { raceAbort, sleep } from '../../../core/chat/signal.ts';
import type { Config } from '../../config/config.ts';
import { type Amount, createAmount, everything, isBounded, type Limit, minus, plus } from '../../objects/budget.ts';
import {
	askLedger,
	type Cost,
	isLedgerBehind,
	type LedgerApi,
	type ReplyCost,
	type Reserved,
} from '../../objects/ledger/api.ts';
import type { Lease } from '../store/spending.ts';
import type { Charge, Estimate } from '../store/spending-row.ts';
import type { SessionStore } from '../store/store.ts';
import { createBudgetError, type KnownBudgets } from './budgets.ts';
import type { Next } from './next.ts';

/** An owner's ledger. */
export interface OwnerLedger {
	/** Returns a new stub each time, because one that has failed stays broken. */
	readonly ledger: () => LedgerApi;
	/** Finds the limit of a day, by the keys that the owner has now. Throws `overloaded` if they cannot be read. */
	readonly findLimit: () => Promise<Limit>;
	/** Makes a call to the ledger that tells it what earlier calls cost. */
	readonly tellWith: <T>(call: (owed: readonly Cost[]) => Promise<T>) => Promise<T>;
	/** The owner, which alerts name. */
	readonly owner?: string;
	/** The session's user, whose budgets the ledger keeps, too. */
	readonly user?: string;
}

/** How long requests are made from a lease, in milliseconds. Then the ledger hears what they cost. */
const leaseMs = 60_000;
const dayMs = 86_400_000;

/** The further requests that a whole lease is for, and the reply of such a request, in tokens. */
const furtherCalls = 8;
const furtherReply = 1_000;

/** Creates a lease. An infinite one allows everything. */
export function createLease(
	{ call, amount }: Pick<Charge, 'call' | 'amount'>,
	granted: Amount | undefined,
	before: Amount,
	now: number,
): Lease {
	const midnight = (Math.floor(now / dayMs) + 1) * dayMs;
	// A ledger that gives no more than is needed has none to spare while nothing runs.
	const isKept = granted !== undefined && Number.isFinite(granted.tokens) && granted.tokens > amount.tokens;
	return { call, granted: granted ?? amount, before, endsAt: Math.min(now + leaseMs, midnight), isKept };
}

/** Whether a request may be made from a lease. `spent` is what the session has spent until now. */
export function hasRoom({ granted, before, endsAt }: Lease, amount: Amount, spent: Amount, now: number): boolean {
	const { tokens, usd } = plus(minus(spent, before), amount);
	return now < endsAt && tokens <= granted.tokens && usd <= granted.usd;
}

/** A request for a lease. */
export interface Wanted {
	readonly id: string;
	/** The most that the next request may cost. An unknown part is infinite. */
	readonly amount: Amount;
	readonly estimate: Estimate;
	/** Its cost by the length of the reply. Missing if the reply may not be shorter. */
	readonly reply?: ReplyCost;
	/** The limit of a day. */
	readonly limit: Limit;
}

/**
 * Asks an owner's ledger for a lease: for more than the next request, while there is plenty. A ledger without a limit of
 * the day and without a user is not asked. One that cannot be reached is asked again, as long as the patience lasts.
 */
async function takeLease(
	{ ledger, tellWith, owner, user }: OwnerLedger,
	{ estimate, ...wanted }: Wanted,
	patience: Patience,
): Promise<Reserved> {
	if (!isBounded(wanted.limit) && user === undefined) return { ok: true, amount: everything };
	const whole = toWhole(wanted.amount, estimate);
	const input = createAmount({ tokens: estimate.inputTokens, usd: estimate.inputUsd + (estimate.unitsUsd ?? 0) });
	const about = owner === undefined ? undefined : { owner, input };
	const request = { ...wanted, whole, user, about };
	return patience.reach(() =>
		tellWith((owed) => askLedger(ledger, (one, deadline) => one.reserve({ ...request, owed, deadline }))),
	);
}

/**
 * Takes a lease for a request that may cost an amount. Waits until others have given back what is missing. Returns nothing
 * if only a shorter reply may fit. Throws `budget_reserved` after too long a time.
 */
export async function waitForLease(
	owner: OwnerLedger,
	wanted: Wanted,
	amount: Amount,
	{ budgets, patience }: { readonly budgets: KnownBudgets; readonly patience: Patience },
): Promise<Amount | undefined> {
	for (;;) {
		const answer = await takeLease(owner, wanted, patience);
		if (answer.ok) return answer.amount;
		if (!budgets.noteRefusal(answer, amount)) return undefined;
		if (!(await patience.pause('others'))) throw createBudgetError({ ...answer, user: owner.user }, amount);
	}
}

/** Returns the longest reply that an amount allows, in tokens; nothing if it is all that was asked for. */
export function findShortReply(granted: Amount, asked: Amount, { input, perToken }: ReplyCost): number | undefined {
	if (granted.tokens >= asked.tokens && granted.usd >= asked.usd) return undefined;
	const inTokens = (granted.tokens - input.tokens) / perToken.tokens;
	const inDollars = perToken.usd === 0 ? Infinity : (granted.usd - input.usd) / perToken.usd;
	return Math.max(0, Math.floor(Math.min(inTokens, inDollars)));
}

/** Returns what a lease is for: the next request, and some more with short replies. */
function toWhole(amount: Amount, { inputTokens, inputUsd, unitsUsd = 0, outputUsd }: Estimate): Amount {
	const reply = Math.min(furtherReply, Math.max(0, amount.tokens - inputTokens));
	const tokens = furtherCalls * (inputTokens + reply);
	return plus(amount, createAmount({ tokens, usd: furtherCalls * (inputUsd + unitsUsd + outputUsd * reply) }));
}

/** How long a request waits in all: for a ledger that cannot be reached, or for what others give back. In milliseconds. */
const patienceMs = { reach: 20_000, others: 60_000 };
/** The first and the longest pause, in milliseconds. It doubles each time. */
const [firstPauseMs, longestPauseMs] = [250, 4_000];

/** Waits for what may pass. An abort of the signal ends it. */
export class Patience {
	readonly #signal: AbortSignal;
	readonly #since = Date.now();
	#pauseMs = firstPauseMs;

	constructor(signal: AbortSignal) {
		this.#signal = signal;
	}

	/** Waits a while, longer each time. Returns whether there was time left for that. */
	async pause(waitsFor: keyof typeof patienceMs): Promise<boolean> {
		const ms = this.#pauseMs * (0.5 + Math.random() / 2);
		if (Date.now() + ms > this.#since + patienceMs[waitsFor]) return false;
		this.#pauseMs = Math.min(2 * this.#pauseMs, longestPauseMs);
		await sleep(ms, this.#signal);
		return true;
	}

	/** Asks until there is an answer. Throws the error of the last try when the time is over. */
	async reach<T>(ask: () => Promise<T>): Promise<T> {
		for (;;) {
			try {
				return await raceAbort(ask(), this.#signal);
			} catch (error) {
				const mayPass = error instanceof RunletError && error.code === 'overloaded';
				if (!mayPass || !(await this.pause('reach'))) throw error;
			}
		}
	}
}

/**
 * Ends the lease that a session keeps for its next run, if the ledger is behind and no run goes on. Then the ledger hears at
 * once what the lease cost: a burst of costs, twelve seconds after a burst of runs, would keep it behind.
 */
export function endLeaseEarly({ state }: Next, store: SessionStore, { ledgers }: Config): void {
	if (state === 'running' || !store.exists()) return;
	if (isLedgerBehind(ledgers, store.session().owner)) store.spending.endLease();
}
