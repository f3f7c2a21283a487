import { estimateReply } from '../../../core/chat/estimate.ts';
import type {
	AskedCall,
	ChatUsage,
	Message,
	Meter,
	MeteredRequest,
	MostCost,
	PriceOf,
} from '../../../core/chat/index.ts';
import { toAbortError } from '../../../core/chat/signal.ts';
import type { AtCrashPoint } from '../../agent/runtime.ts';
import {
	type Amount,
	type BudgetState,
	createAmount,
	exceedsLimit,
	type Limit,
	lesser,
	nothing,
} from '../../objects/budget.ts';
import type { MessageCost } from '../store/message-record.ts';
import { type Draft, draftMs, type RunRecord } from '../store/runs.ts';
import { ledgerId } from '../store/spending.ts';
import type { Charge, Estimate } from '../store/spending-row.ts';
import type { SessionStore } from '../store/store.ts';
import { createBudgetError, createUnpriced, KnownBudgets, readBudgetState } from './budgets.ts';
import { computeCost, fastPace } from './call-cost.ts';
import { createLease, findShortReply, hasRoom, type OwnerLedger, Patience, waitForLease } from './lease.ts';

/** The account of one run. It sets aside what a request may cost, and settles it afterwards. */
export interface SessionMeter extends Meter {
	/** Ends the request that has returned a message. What it cost is stored with that. */
	readonly settle: (usage: ChatUsage | undefined, message: Message, silentMs?: number) => MessageCost | undefined;
	/** The number of the current request. */
	readonly call: number | undefined;
}

/** The options of a meter. */
export interface MeterOptions extends ModelFacts {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	/** The budget of the session. It is read each time, because it may be raised. */
	readonly limit: () => Limit;
	/** The name of the session's agent. */
	readonly agent: string;
	/** The ledger of the session's owner. */
	readonly owner?: OwnerLedger;
	readonly atCrashPoint: AtCrashPoint;
}

/**
 * Keeps the budgets of a session, its owner and its user (docs/budgets.md). A request that might exceed a limit is not
 * made. One that was cut off is charged by what was seen of it.
 */
export function createSessionMeter(options: MeterOptions): SessionMeter {
	const { store, record, limit, owner, atCrashPoint } = options;
	const { spending } = store;
	let open: Charge | undefined;
	let openedAt = 0;
	let shortReply: number | undefined;

	const settle = (amount: Amount): void => {
		if (open === undefined) return;
		spending.settle(open.call, amount);
		open = undefined;
	};

	/** Whether a request may be made from the lease. */
	const isLent = (needs: Amount): boolean =>
		spending.lease !== undefined && hasRoom(spending.lease, needs, spending.total(), Date.now());

	/**
	 * Sets an amount aside, from the lease or from a new one. Waits until others have given back what is missing. Returns
	 * whether it is set aside: if not, a shorter reply may fit.
	 */
	const setAside = async (
		{ model, isEmbedding, isWhole, signal }: MeteredRequest,
		{ amount, needs, estimate, cap, perToken }: Reservation,
		asking: Asking,
	): Promise<boolean> => {
		// After the end of the run nobody would settle the reservation.
		if (signal.aborted) throw toAbortError(signal);
		const before = spending.total();
		const about = { run: record.n, model, isEmbedding, owed: owner !== undefined, lease: spending.lease?.call };
		const mayThink = isEmbedding !== true && options.mayThink?.(model) === true;
		const wanted = { ...about, amount, estimate, mayThink };
		shortReply = undefined;
		open = spending.reserve(wanted, Date.now());
		if (owner === undefined || spending.lease !== undefined) return true;
		try {
			const { inputTokens, inputUsd, unitsUsd = 0 } = estimate;
			const input = createAmount({ tokens: inputTokens, usd: inputUsd + unitsUsd });
			const reply = { agent: options.agent, model, input, perToken };
			const mayBeShort = isEmbedding !== true && isWhole !== true && cap !== undefined;
			const about = { id: ledgerId(record.id, open.call), amount: needs, estimate, limit: asking.dayLimit };
			const granted = await waitForLease(owner, { ...about, ...(mayBeShort && { reply }) }, amount, asking);
			if (granted === undefined) {
				settle(nothing);
				return false;
			}
			shortReply = mayBeShort ? findShortReply(granted, needs, reply) : undefined;
			if (shortReply !== undefined) open = spending.shorten(open, lesser(amount, granted));
			const { userLimits } = asking.budgets;
			spending.beginLease({ ...createLease(open, granted, before, Date.now()), userLimits });
			return true;
		} catch (error) {
			settle(nothing);
			throw error;
		}
	};

	return {
		reserve: async (request) => {
			const patience = new Patience(request.signal);
			const dayLimit = owner === undefined ? {} : await patience.reach(owner.findLimit);
			const budgets = new KnownBudgets(dayLimit, spending.lease);
			for (;;) {
				const states = [readBudgetState(store, limit()), ...budgets.states];
				const planned = await toReservation(options, request, { states, dayLimit, hasUser: owner?.user !== undefined });
				const session = readBudgetState(store, limit());
				if (exceedsLimit(session, planned.amount))
					throw createBudgetError({ scope: 'session', state: session }, planned.amount);
				if (!isLent(planned.needs)) {
					spending.endLease();
					if (budgets.forgetLease()) continue;
				}
				budgets.assertFits(planned.amount, owner?.user);
				if (!(await setAside(request, planned, { dayLimit, budgets, patience }))) continue;
				openedAt = Date.now();
				await atCrashPoint('model-begin');
				return shortReply ?? planned.cap;
			}
		},
		lost: (usage, cut, outputTokens, hidden) => {
			if (open === undefined || (!cut && !isSaid(usage))) return settle(nothing);
			const unseenTokens = estimateOnItsWay(outputTokens, Date.now() - openedAt);
			return settle(computeCost(open, { usage, outputTokens, unseenTokens, ...hidden, isCut: cut }));
		},
		settle: (usage, message, silentMs) => {
			if (open === undefined) return undefined;
			const outputTokens = message.role === 'assistant' ? estimateReply(message) : 0;
			const cost = { call: open.call, ...computeCost(open, { usage, outputTokens, silentMs, isCut: false }) };
			open = undefined;
			spending.lookBack();
			return cost;
		},
		get call() {
			return open?.call;
		},
		get isShort() {
			return shortReply !== undefined;
		},
	};
}

/** The context of a request for a lease. */
interface Asking {
	/** The limit of the owner's day. */
	readonly dayLimit: Limit;
	readonly budgets: KnownBudgets;
	readonly patience: Patience;
}

/** Returns whether a provider reported what a request cost. */
function isSaid({ inputTokens, outputTokens, totalTokens }: ChatUsage = {}): boolean {
	return inputTokens !== undefined || outputTokens !== undefined || totalTokens !== undefined;
}

/** The longest reply that is set aside for if the agent has no limit, in tokens. */
const usualReply = 16_384;

/** The shortest reply worth asking for, in tokens. */
const shortestReply = 16;

/** The share of a day's limit that one reply may set aside: others of the same owner run at the same time. */
const shareOfDay = 0.25;

/** The prices and the limits of models. */
interface ModelFacts {
	/** Returns the price of a request in US dollars, if it is known. */
	readonly computePrice: PriceOf;
	/** Returns the most that a request may cost, if its provider knows it. */
	readonly computeMost?: (model: string, asked: AskedCall) => MostCost | undefined;
	/** Whether a model may think without showing it. */
	readonly mayThink?: (model: string) => boolean;
	/** Returns the size of the model's context in tokens, if it is known. */
	readonly contextWindow?: (model: string) => number | undefined | Promise<number | undefined>;
}

/** The reservation of a request. */
interface Reservation {
	/** The longest reply that this allows. */
	readonly cap: number | undefined;
	readonly amount: Amount;
	/**
	 * The amount that the ledger is asked for. The ledger may keep caps of a user that the session does not know. So tokens
	 * without a bound are infinite, and dollars without a bound or a price are, too.
	 */
	readonly needs: Amount;
	readonly estimate: Estimate;
	/** The cost of each token of the reply. */
	readonly perToken: Amount;
}

/** The budgets that bound a request. */
interface Bounds {
	/** The states of all budgets, as far as they are known. */
	readonly states: readonly BudgetState[];
	/** The limit of the owner's day. */
	readonly dayLimit: Limit;
	/** Whether the session has a user, who may have caps. */
	readonly hasUser: boolean;
}

/**
 * Computes what is set aside for a request: its input, and the longest reply that the agent, the model and the budgets
 * allow.
 */
async function toReservation(
	facts: ModelFacts,
	{ model, inputTokens: sent, choices, maxOutputTokens }: MeteredRequest,
	{ states, dayLimit, hasUser }: Bounds,
): Promise<Reservation> {
	const inDollars = states.some(({ limit }) => limit.usd !== undefined);
	const { contextWindow } = facts;
	const asked = { ...choices, inputTokens: sent };
	const [{ usd: base, unitsUsd = 0, inputTokens, texts = 0, unpriced }, { usd: more }] = await Promise.all([
		computeMost(facts, model, { ...asked, outputTokens: 0 }),
		computeMost(facts, model, { ...asked, outputTokens: 1_000 }),
	]);
	if (inDollars && base === undefined) throw createUnpriced(model, unpriced);
	const leastUsd = base ?? 0;
	const outputUsd = Math.max(0, ((more ?? leastUsd) - leastUsd) / 1_000);
	const prices = { inputUsd: Math.max(0, leastUsd - unitsUsd), unitsUsd, outputUsd, isUnpriced: base === undefined };
	const estimate = { inputTokens, ...prices };
	const bounded = inDollars || states.some(({ limit }) => limit.tokens !== undefined);
	const inTokens = (usd: number | undefined): number =>
		usd === undefined || outputUsd === 0 ? Infinity : usd / outputUsd;
	let cap = maxOutputTokens;
	if (bounded) {
		const { tokens = Infinity, usd } = dayLimit;
		const rooms = states.flatMap(({ left }) => [
			((left.tokens ?? Infinity) - inputTokens) / (1 + texts),
			inTokens(left.usd === undefined ? undefined : left.usd - leastUsd),
		]);
		const most = [
			maxOutputTokens ?? Math.min(usualReply, ...rooms),
			((await contextWindow?.(model)) ?? Infinity) - sent,
			tokens * shareOfDay,
			inTokens(usd) * shareOfDay,
		];
		cap = Math.min(maxOutputTokens ?? Infinity, Math.max(shortestReply, Math.floor(Math.min(...most))));
	}
	const outputTokens = cap ?? 0;
	const tokens = inputTokens + outputTokens * (1 + texts);
	const amount = createAmount({ tokens, usd: leastUsd + outputUsd * outputTokens });
	const isEndless = cap === undefined;
	const needs = {
		tokens: isEndless ? Infinity : amount.tokens,
		usd: base === undefined || (isEndless && outputUsd > 0) ? Infinity : amount.usd,
	};
	const perToken = { tokens: 1 + texts, usd: outputUsd };
	return { cap, amount, needs: hasUser ? needs : amount, estimate, perToken };
}

/** Returns the most that a request may cost: by its provider, else by the price of its tokens. */
async function computeMost(
	{ computeMost, computePrice }: ModelFacts,
	model: string,
	asked: AskedCall,
): Promise<MostCost> {
	const { inputTokens, outputTokens } = asked;
	return computeMost?.(model, asked) ?? { inputTokens, usd: await computePrice(model, { inputTokens, outputTokens }) };
}

/** How long text is on its way, and the end of its reader to the model, in milliseconds. */
const onItsWayMs = 250;

/** Returns what a model wrote in the last moment before its reader left, at its pace so far: at most a quarter of that. */
function estimateOnItsWay(tokens: number, ms: number): number {
	return (tokens / Math.max(ms, 4 * onItsWayMs)) * onItsWayMs;
}

/** The tokens that a fast model writes until the first draft of its turn is stored. */
const mostUnseen = fastPace * draftMs;

/**
 * Ends the account of a run that is over or goes on in another attempt: charges the request that a crash cut off, and ends
 * the lease, unless that is kept for the next run.
 */
export function closeAccount({ spending }: SessionStore, draft: Draft | undefined): void {
	const open = spending.open();
	if (open !== undefined) spending.settle(open.call, toLostAmount(open, draft));
	if (spending.lease?.isKept !== true) spending.endLease();
}

type OpenCharge = NonNullable<ReturnType<SessionStore['spending']['open']>>;

/**
 * Computes the charge of a request that a crash cut off: its input, the output in the draft, and what the model
 * wrote at its pace until the next draft at the latest.
 */
function toLostAmount(open: OpenCharge, { call, tokens = 0, ms = 0, nextMs = draftMs }: Partial<Draft> = {}): Amount {
	const isOfCall = call === open.call && tokens > 0;
	const outputTokens = isOfCall ? tokens : 0;
	const unseenTokens = isOfCall ? (tokens / Math.max(ms, draftMs)) * nextMs : mostUnseen;
	// The time of its death is unknown, so it may have thought until now.
	const silentMs = Math.max(0, Date.now() - open.createdAt);
	return computeCost(open, { usage: undefined, outputTokens, unseenTokens, silentMs, isCut: true });
}
