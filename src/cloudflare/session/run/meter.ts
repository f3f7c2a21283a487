import { RunletError } from '../../../core/base/errors.ts';
import { toAbortError } from '../../../core/base/promises.ts';
import { estimateReply } from '../../../core/chat/estimate.ts';
import {
	type CallEstimate,
	type ChatUsage,
	embed,
	type Message,
	type Meter,
	type MeteredRequest,
	type MostCost,
	type PriceOf,
	type ProviderRegistration,
	resolveRegistration,
} from '../../../core/chat/index.ts';
import type { AtCrashPoint } from '../../agent/runtime.ts';
import { log, toFailureFields } from '../../log.ts';
import {
	type Amount,
	type BudgetState,
	createAmount,
	exceedsLimit,
	type Limit,
	lesser,
	nothing,
} from '../../objects/budget.ts';
import { askLedger, settleCosts } from '../../objects/ledger/api.ts';
import type { MessageCost } from '../store/messages.ts';
import { type Draft, draftMs, type RunRecord } from '../store/runs.ts';
import { type Charge, type Estimate, ledgerId } from '../store/spending.ts';
import type { SessionStore } from '../store/store.ts';
import { computeCost, createBudgetError, createUnpriced, fastPace, KnownBudgets, readBudgetState } from './budgets.ts';
import { createLease, findShortReply, hasRoom, type OwnerLedger, Patience, waitForLease } from './lease.ts';

/** The account of a run. It reserves the cost of each request, and settles the cost afterwards. */
export interface SessionMeter extends Meter {
	/** Settles the request that wrote a message. Returns the cost, which is stored with the message. */
	readonly settle: (usage: ChatUsage | undefined, message: Message, silentMs?: number) => MessageCost | undefined;
	readonly call: number | undefined;
}

export interface MeterOptions extends ModelFacts {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	/** Returns the budget of the session, which may be raised during the run. */
	readonly limit: () => Limit;
	readonly agent: string;
	readonly owner?: OwnerLedger;
	readonly atCrashPoint: AtCrashPoint;
}

/**
 * Keeps the budgets of a session, its owner and its user (docs/budgets.md). Refuses a request that might exceed a
 * limit. Charges an interrupted request for its observed part.
 */
export function createSessionMeter(options: MeterOptions): SessionMeter {
	const { store, record, limit, owner, atCrashPoint } = options;
	const { spending } = store;
	/** A new life of the object takes up the charge of a reply in the background. */
	let open: Charge | undefined = store.begunReply && spending.open();
	let openedAt = 0;
	let shortReply: number | undefined;

	const settle = (amount: Amount): void => {
		if (open === undefined) return;
		spending.settle(open.call, amount);
		open = undefined;
	};

	/** Reserves an amount from the current or a new lease. Returns false if only a shorter reply may fit. */
	const setAside = async (
		{ model, isEmbedding, isWhole, signal }: MeteredRequest,
		{ amount, needs, estimate, cap, perToken }: Reservation,
		funds: LeaseFunds,
	): Promise<boolean> => {
		// Nobody would settle the reservation after the end of the run.
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
			const about = { id: ledgerId(record.id, open.call), amount: needs, estimate, limit: funds.dayLimit };
			const granted = await waitForLease(owner, { ...about, ...(mayBeShort && { reply }) }, amount, funds);
			if (granted === undefined) {
				settle(nothing);
				return false;
			}
			shortReply = mayBeShort ? findShortReply(granted, needs, reply) : undefined;
			if (shortReply !== undefined) open = spending.shorten(open, lesser(amount, granted));
			const { userLimits } = funds.budgets;
			spending.beginLease({ ...createLease(open, granted, before, Date.now()), userLimits });
			return true;
		} catch (error) {
			settle(nothing);
			throw error;
		}
	};

	return {
		reserve: async (request) => {
			if (store.begunReply !== undefined && request.isEmbedding === true) throw createTooLate();
			if (store.begunReply !== undefined) return undefined;
			const patience = new Patience(request.signal);
			const dayLimit = owner === undefined ? {} : await patience.reach(owner.findLimit);
			const budgets = new KnownBudgets(dayLimit, spending.lease);
			for (;;) {
				const states = [readBudgetState(store, limit()), ...budgets.states];
				const planned = await toReservation(options, request, { states, dayLimit, hasUser: owner?.user !== undefined });
				const session = readBudgetState(store, limit());
				if (exceedsLimit(session, planned.amount))
					throw createBudgetError({ scope: 'session', state: session }, planned.amount);
				const { lease } = spending;
				if (lease === undefined || !hasRoom(lease, planned.needs, spending.total(), Date.now())) {
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
			if (open === undefined || (!cut && !isReported(usage))) return settle(nothing);
			const unseenTokens = estimateInTransit(outputTokens, Date.now() - openedAt);
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

interface LeaseFunds {
	readonly dayLimit: Limit;
	readonly budgets: KnownBudgets;
	readonly patience: Patience;
}

function isReported({ inputTokens, outputTokens, totalTokens }: ChatUsage = {}): boolean {
	return inputTokens !== undefined || outputTokens !== undefined || totalTokens !== undefined;
}

/** The reservation for a reply, in tokens, if the agent has no limit. */
const usualReply = 16_384;

/** The shortest reply worth asking for, in tokens. */
const shortestReply = 16;

/** The share of a day's limit that one reply may reserve. Other runs of the owner need the rest. */
const shareOfDay = 0.25;

interface ModelFacts {
	/** Returns the price of a request in US dollars, if it is known. */
	readonly computePrice: PriceOf;
	/** Returns the most that a request may cost, if its provider knows it. */
	readonly computeMost?: (model: string, asked: CallEstimate) => MostCost | undefined;
	readonly mayThink?: (model: string) => boolean;
	readonly contextWindow?: (model: string) => number | undefined | Promise<number | undefined>;
}

interface Reservation {
	readonly cap: number | undefined;
	readonly amount: Amount;
	/**
	 * The amount to request from the ledger. Tokens without a bound are infinite, and so are dollars without a bound or
	 * a price: the ledger can have caps of the user that the session does not know.
	 */
	readonly needs: Amount;
	readonly estimate: Estimate;
	readonly perToken: Amount;
}

interface Bounds {
	readonly states: readonly BudgetState[];
	readonly dayLimit: Limit;
	readonly hasUser: boolean;
}

/** Computes the reservation of a request: its input, and the longest reply that agent, model and budgets allow. */
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

/** Returns a request's highest possible cost: the provider's own figure. Without it, the price of the tokens. */
async function computeMost(
	{ computeMost, computePrice }: ModelFacts,
	model: string,
	asked: CallEstimate,
): Promise<MostCost> {
	const { inputTokens, outputTokens } = asked;
	return computeMost?.(model, asked) ?? { inputTokens, usd: await computePrice(model, { inputTokens, outputTokens }) };
}

/** How long text needs to arrive here, plus how long an abort needs to reach the model, in milliseconds. */
const transitMs = 250;

/** Estimates the tokens in transit when the reader left, from the model's pace. At most a quarter of `tokens`. */
function estimateInTransit(tokens: number, ms: number): number {
	return (tokens / Math.max(ms, 4 * transitMs)) * transitMs;
}

/** The tokens that a fast model writes until the first draft of its turn is stored. */
const mostUnseen = fastPace * draftMs;

/**
 * Closes the account of a run that has ended or gets another attempt. Charges the request that a crash
 * interrupted. Ends the lease, unless the next run uses it.
 */
export function closeAccount({ spending }: SessionStore, draft: Draft | undefined): void {
	const open = spending.open();
	if (open !== undefined) spending.settle(open.call, toLostAmount(open, draft));
	if (spending.lease?.isKept !== true) spending.endLease();
}

type OpenCharge = NonNullable<ReturnType<SessionStore['spending']['open']>>;

/**
 * Computes the charge of a request that a crash interrupted: its input, the output in the draft, and the output that
 * the model may have written until the next draft.
 */
function toLostAmount(open: OpenCharge, { call, tokens = 0, ms = 0, nextMs = draftMs }: Partial<Draft> = {}): Amount {
	const isOfCall = call === open.call && tokens > 0;
	const outputTokens = isOfCall ? tokens : 0;
	const unseenTokens = isOfCall ? (tokens / Math.max(ms, draftMs)) * nextMs : mostUnseen;
	// The time of the crash is unknown, so the model may have thought until now.
	const silentMs = Math.max(0, Date.now() - open.createdAt);
	return computeCost(open, { usage: undefined, outputTokens, unseenTokens, silentMs, isCut: true });
}

type Vectors = Awaited<ReturnType<typeof embed>>;

export interface EmbeddingOptions {
	readonly providers: readonly ProviderRegistration[];
	readonly owner: Omit<OwnerLedger, 'tellWith'>;
}

/**
 * Makes the vectors of a session within its budgets (docs/budgets.md). During a run the account of the run pays
 * for vectors. Outside of a run the owner's ledger pays.
 */
export class Embeddings {
	readonly #options: EmbeddingOptions;
	#account: SessionMeter | undefined;
	/** Resolves when the account is free. The account handles one request at a time. */
	#last: Promise<void> = Promise.resolve();
	#isAsking = false;
	#stop = new AbortController();

	constructor(options: EmbeddingOptions) {
		this.#options = options;
	}

	/** Returns the vectors of texts in order. Throws `budget_exceeded`, and the errors of the provider. */
	embed(model: string, texts: readonly string[], signal?: AbortSignal): Promise<Vectors> {
		const { providers } = this.#options;
		const account = this.#account;
		if (account === undefined)
			return embed({ model, providers, signal, meter: createOwnerMeter(this.#options) }, texts);
		const stop = this.#stop.signal;
		const until = signal === undefined ? stop : AbortSignal.any([signal, stop]);
		return embed({ model, providers, signal: until, meter: this.#takeTurns(account) }, texts);
	}

	/**
	 * Lets the account of a run pay for vectors. Returns an account that stops the requests for vectors before each
	 * request to the model, because the run does not wait for them any more.
	 */
	attach(account: SessionMeter): SessionMeter {
		this.#account = account;
		const end = (): void => {
			this.#isAsking = false;
		};
		return {
			get call() {
				return account.call;
			},
			get isShort() {
				return account.isShort;
			},
			reserve: async (request) => {
				this.#isAsking = true;
				this.#stop.abort();
				await this.#last;
				this.#stop = new AbortController();
				try {
					return await account.reserve(request);
				} catch (error) {
					end();
					throw error;
				}
			},
			lost: (...args) => {
				end();
				return account.lost(...args);
			},
			settle: (...args) => {
				end();
				return account.settle(...args);
			},
		};
	}

	end(): void {
		this.#stop.abort();
	}

	#takeTurns(account: SessionMeter): Meter {
		let leave = (): void => {};
		return {
			reserve: async (request) => {
				const before = this.#last;
				const turn = Promise.withResolvers<void>();
				this.#last = turn.promise;
				leave = turn.resolve;
				try {
					await before;
					if (this.#isAsking || request.signal.aborted) throw createTooLate();
					return await account.reserve(request);
				} catch (error) {
					leave();
					throw error;
				}
			},
			lost: async (...args) => {
				try {
					await account.lost(...args);
				} finally {
					leave();
				}
			},
		};
	}
}

function createTooLate(): RunletError {
	return new RunletError('cancelled', 'The vectors come too late for this turn.');
}

/** Makes the meter of requests for vectors outside of a run, which the owner's ledger pays. */
export function createOwnerMeter({ providers, owner }: EmbeddingOptions): Meter {
	const { ledger, findLimit, user } = owner;
	let reserved: { readonly id: string; readonly model: string; readonly tokens: number } | undefined;
	const findPrice = (model: string, inputTokens: number) =>
		resolveRegistration({ model, providers })?.computePrice?.(model, { inputTokens, outputTokens: 0 });
	return {
		reserve: async ({ model, inputTokens }) => {
			const [limit, usd] = await Promise.all([findLimit(), findPrice(model, inputTokens)]);
			if (limit.usd !== undefined && usd === undefined) throw createUnpriced(model);
			const amount = createAmount({ tokens: inputTokens, usd: usd ?? 0 });
			// The ledger may keep caps of the user that are unknown here.
			const needs = usd === undefined && user !== undefined ? { ...amount, usd: Number.POSITIVE_INFINITY } : amount;
			// The id is random, so a repeated request is charged again.
			const id = `embed_${crypto.randomUUID()}`;
			const answer = await askLedger(ledger, (stub, deadline) =>
				stub.reserve({ id, amount: needs, limit, user, deadline }),
			);
			if (!answer.ok) throw createBudgetError({ ...answer, user }, amount);
			reserved = { id, model, tokens: amount.tokens };
			return undefined;
		},
		lost: async (usage, isCut) => {
			if (reserved === undefined) return;
			const { id, model } = reserved;
			const tokens = usage?.inputTokens ?? (isCut ? reserved.tokens : 0);
			const usd = usage?.costUsd ?? (await findPrice(model, tokens));
			const amount = createAmount({ tokens, usd: usd ?? 0 });
			const unpricedTokens = usd === undefined ? amount.tokens : 0;
			const part = { ...amount, model, unpricedTokens, inputTokens: amount.tokens, cachedInputTokens: 0 };
			// Without this report the reservation counts as spent.
			await settleCosts(ledger, [{ id, amount, user, parts: [part] }]).catch((cause: unknown) =>
				log('warn', 'owner.not_told', toFailureFields(cause)),
			);
		},
	};
}
