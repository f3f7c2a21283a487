import { RunletError } from '../../../core/base/errors.ts';
import { raceAbort, sleep } from '../../../core/base/promises.ts';
import type { Config } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import {
	type Amount,
	assertHeld,
	type BudgetState,
	createAmount,
	everything,
	isBounded,
	type Limit,
	minus,
	plus,
} from '../../objects/budget.ts';
import { readHeld } from '../../objects/directory/all.ts';
import {
	askLedger,
	type Cost,
	isLedgerBehind,
	type LedgerApi,
	type ReplyCost,
	type Reserved,
} from '../../objects/ledger/api.ts';
import { createFinder, nameLedger, readState } from '../../objects/ledger/owner.ts';
import type { SessionRecord } from '../store/session-row.ts';
import type { Charge, Estimate, Lease } from '../store/spending.ts';
import type { SessionStore } from '../store/store.ts';
import { createBudgetError, type KnownBudgets } from './budgets.ts';
import type { Next } from './next.ts';
import { type ListedFacts, Outbox } from './outbox.ts';

export interface OwnerLedger {
	/** Returns a new stub each time, because a failed stub stays broken. */
	readonly ledger: () => LedgerApi;
	/** Finds the day limit from the owner's current keys. Throws `overloaded` if they cannot be read. */
	readonly findLimit: () => Promise<Limit>;
	/** Calls the ledger. The same call reports the costs of earlier requests. */
	readonly tellWith: <T>(call: (owed: readonly Cost[]) => Promise<T>) => Promise<T>;
	readonly owner?: string;
	readonly user?: string;
}

/** How long a lease lasts, in milliseconds. After that the ledger gets the costs of the lease. */
const leaseMs = 60_000;
const dayMs = 86_400_000;

/** A whole lease covers this many further requests, with this many tokens for each reply. */
const furtherCalls = 8;
const furtherReply = 1_000;

/** Creates a lease. An infinite lease allows everything. */
export function createLease(
	{ call, amount }: Pick<Charge, 'call' | 'amount'>,
	granted: Amount | undefined,
	before: Amount,
	now: number,
): Lease {
	const midnight = (Math.floor(now / dayMs) + 1) * dayMs;
	// If the ledger grants only the needed amount, it is short of budget, so the lease is not kept between runs.
	const isKept = granted !== undefined && Number.isFinite(granted.tokens) && granted.tokens > amount.tokens;
	return { call, granted: granted ?? amount, before, endsAt: Math.min(now + leaseMs, midnight), isKept };
}

/** Whether a lease has room for a request. `spent` is the whole spending of the session. */
export function hasRoom({ granted, before, endsAt }: Lease, amount: Amount, spent: Amount, now: number): boolean {
	const { tokens, usd } = plus(minus(spent, before), amount);
	return now < endsAt && tokens <= granted.tokens && usd <= granted.usd;
}

export interface LeaseNeeds {
	readonly id: string;
	/** The highest possible cost of the next request. An unknown part is infinite. */
	readonly amount: Amount;
	readonly estimate: Estimate;
	/** How the cost depends on the reply's length. Missing if the reply must not be shortened. */
	readonly reply?: ReplyCost;
	readonly limit: Limit;
}

/**
 * Asks an owner's ledger for a lease that covers the next request and, if the budget allows it, some more. If there is
 * neither a day limit nor a user, everything is granted. Retries a ledger that cannot be reached.
 */
async function takeLease(
	{ ledger, tellWith, owner, user }: OwnerLedger,
	{ estimate, ...wanted }: LeaseNeeds,
	patience: Patience,
): Promise<Reserved> {
	if (!isBounded(wanted.limit) && user === undefined) return { ok: true, amount: everything };
	const whole = toWhole(wanted.amount, estimate);
	const input = createAmount({ tokens: estimate.inputTokens, usd: estimate.inputUsd + (estimate.unitsUsd ?? 0) });
	const about = owner === undefined ? undefined : { owner, input };
	const request = { ...wanted, whole, user, about };
	return patience.reach(() =>
		tellWith((owed) => askLedger(ledger, (stub, deadline) => stub.reserve({ ...request, owed, deadline }))),
	);
}

/**
 * Takes a lease for a request of the given amount. Waits while other runs' reservations are in the way. Returns nothing
 * if only a shorter reply may fit. Throws `budget_reserved` after the longest wait.
 */
export async function waitForLease(
	owner: OwnerLedger,
	wanted: LeaseNeeds,
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

/** Returns the longest reply that an amount allows, in tokens. Returns nothing if the whole request was granted. */
export function findShortReply(granted: Amount, asked: Amount, { input, perToken }: ReplyCost): number | undefined {
	if (granted.tokens >= asked.tokens && granted.usd >= asked.usd) return undefined;
	const inTokens = (granted.tokens - input.tokens) / perToken.tokens;
	const inDollars = perToken.usd === 0 ? Infinity : (granted.usd - input.usd) / perToken.usd;
	return Math.max(0, Math.floor(Math.min(inTokens, inDollars)));
}

/** Returns the amount of a whole lease: the next request, and some further requests with short replies. */
function toWhole(amount: Amount, { inputTokens, inputUsd, unitsUsd = 0, outputUsd }: Estimate): Amount {
	const reply = Math.min(furtherReply, Math.max(0, amount.tokens - inputTokens));
	const tokens = furtherCalls * (inputTokens + reply);
	return plus(amount, createAmount({ tokens, usd: furtherCalls * (inputUsd + unitsUsd + outputUsd * reply) }));
}

/** The longest wait for an unreachable ledger, and for the reservations of others, in milliseconds. */
const patienceMs = { reach: 20_000, others: 60_000 };
/** The first and the longest pause, in milliseconds. Each pause is twice the last. */
const [firstPauseMs, longestPauseMs] = [250, 4_000];

/** Waits until temporary failures are over. The signal ends the wait. */
export class Patience {
	readonly #signal: AbortSignal;
	readonly #since = Date.now();
	#pauseMs = firstPauseMs;

	constructor(signal: AbortSignal) {
		this.#signal = signal;
	}

	/** Waits, longer each time. Returns false if no time is left. */
	async pause(waitsFor: keyof typeof patienceMs): Promise<boolean> {
		const ms = this.#pauseMs * (0.5 + Math.random() / 2);
		if (Date.now() + ms > this.#since + patienceMs[waitsFor]) return false;
		this.#pauseMs = Math.min(2 * this.#pauseMs, longestPauseMs);
		await sleep(ms, this.#signal);
		return true;
	}

	/** Repeats a call while it throws `overloaded`. Throws the last error when the time is over. */
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
 * Ends the lease that a session keeps for its next run, if the ledger is overloaded. The ledger gets the costs at once.
 * Otherwise many sessions would report together twelve seconds later, and the ledger would stay overloaded.
 */
export function endLeaseEarly({ state }: Next, store: SessionStore, config: Config): void {
	if (state === 'running' || !store.exists()) return;
	if (isLedgerBehind(config.ledgers, nameLedger(config, store.session()))) store.spending.endLease();
}

type Whose = Pick<SessionRecord, 'owner' | 'user'> & Partial<Pick<SessionRecord, 'id'>>;

/** How long a request for a session's state waits for the ledger, in milliseconds. */
const dayLimitMs = 2_000;

/** Finds the ledger with the leases of a session. */
export function findLedger(config: Config, whose: Whose): Omit<OwnerLedger, 'tellWith'> {
	const { owner, user } = whose;
	const findLimit = async () => {
		await config.storedKeys?.refreshOwner(owner);
		return config.findDayBudget(owner);
	};
	return { findLimit, ledger: createFinder(config, nameLedger(config, whose)), owner, user };
}

export class Owner {
	readonly outbox: Outbox;
	readonly #store: SessionStore;
	readonly #config: () => Config;

	constructor(store: SessionStore, config: () => Config, facts?: ListedFacts) {
		this.#store = store;
		this.#config = config;
		this.outbox = new Outbox(store, config, facts);
	}

	/** Returns the ledger of the session's owner. Each call also delivers the costs in the outbox. */
	ledger(session: SessionRecord, config: Config): OwnerLedger {
		const tellWith: OwnerLedger['tellWith'] = (call) => this.outbox.tellLedgerWith(session, call);
		return { ...findLedger(config, session), tellWith };
	}

	/**
	 * Throws `too_large` if the sessions of the owner or the user hold more bytes than allowed. Asks their
	 * directories only if one of them lately reported too many bytes, or with `always`.
	 */
	async assertRoom(whose: Whose, config: Config, { always = false } = {}): Promise<void> {
		const { fullRooms, roomLimits } = config;
		if (!always && !fullRooms.mayBeFull(whose)) return;
		const held = await readHeld(config, whose.owner, whose.user);
		fullRooms.note(whose, held);
		assertHeld(roomLimits, held);
	}

	/** Returns the owner's budget of the day. Returns nothing if there is no limit or the ledger cannot be reached. */
	async day(): Promise<BudgetState | undefined> {
		const [config, session] = [this.#config(), this.#store.session()];
		try {
			const dayLimit = await findLedger(config, session).findLimit();
			if (!isBounded(dayLimit)) return undefined;
			return await readState(config, session, { scope: 'day', dayLimit }, dayLimitMs);
		} catch (cause) {
			log('warn', 'ledger.not_read', toFailureFields(cause));
			return undefined;
		}
	}
}

/** Starts work without waiting for it. Logs a failure. */
export function runInBackground(work: () => Promise<void>): void {
	const failed = (cause: unknown): void => log('warn', 'owner.not_told', toFailureFields(cause));
	try {
		work().catch(failed);
	} catch (cause) {
		failed(cause);
	}
}
