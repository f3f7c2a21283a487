import { type SeenCall, toCharge } from '../../../core/chat/charge.ts';
import { estimateReply } from '../../../core/chat/estimate.ts';
import type { ChatUsage, Message, Meter, MeteredRequest, PriceOf } from '../../../core/chat/index.ts';
import { formatDollars } from '../../../core/ground/dollars.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { AtCrashPoint } from '../../agent/crash.ts';
import {
	type Amount,
	type BudgetState,
	budgetState,
	createAmount,
	exceedsLimit,
	isBounded,
	type Limit,
	nothing,
} from '../../objects/budget.ts';
import { askLedger } from '../../objects/ledger/api.ts';
import type { MessageCost } from '../store/message-record.ts';
import { type Draft, draftMs, type RunRecord } from '../store/runs.ts';
import { type Charge, type Estimate, ledgerId } from '../store/spending.ts';
import type { SessionStore } from '../store/store.ts';
import { readBudgetState } from './budget-state.ts';
import { createLease, hasRoom, type OwnerLedger, Patience, takeLease } from './lease.ts';

/** The account of one run. It sets aside what a request may cost, and settles it afterwards. */
export interface SessionMeter extends Meter {
	/** Ends the request that has returned a message. What it cost is stored with that. */
	readonly settle: (usage: ChatUsage | undefined, message: Message) => MessageCost | undefined;
	/** The number of the current request. */
	readonly call: number | undefined;
}

/** What a run's account needs. */
export interface MeterOptions extends ModelFacts {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	/** What the session may spend. It is read each time, because it may be raised. */
	readonly limit: () => Limit;
	/** The ledger of the session's owner. */
	readonly owner?: OwnerLedger;
	readonly atCrashPoint: AtCrashPoint;
}

/**
 * Keeps the budgets of a session and its owner (docs/budgets.md). A request that might exceed a limit is not made. One
 * that was cut off is charged by what was seen of it.
 */
export function createSessionMeter(options: MeterOptions): SessionMeter {
	const { store, record, limit, owner, atCrashPoint } = options;
	const { spending } = store;
	let open: Charge | undefined;
	let openedAt = 0;

	const settle = (amount: Amount): void => {
		if (open === undefined) return;
		spending.settle(open.call, amount);
		open = undefined;
	};
	const charge = (seen: Omit<SeenCall, 'inputTokens'>): void =>
		settle(open === undefined ? nothing : toAmount(open, seen));

	/** Sets an amount aside, from the lease or from a new one. Returns the state of the day if its ledger refuses. */
	const setAside = async (
		model: string,
		{ amount, estimate }: Reservation,
		dayLimit: Limit,
		patience: Patience,
	): Promise<BudgetState | undefined> => {
		const before = spending.total();
		if (spending.lease !== undefined && !hasRoom(spending.lease, amount, before, Date.now())) spending.endLease();
		const wanted = { run: record.n, model, amount, owed: owner !== undefined, estimate, lease: spending.lease?.call };
		open = spending.reserve(wanted, Date.now());
		if (owner === undefined || spending.lease !== undefined) return undefined;
		try {
			const about = { id: ledgerId(record.id, open.call), amount, estimate, limit: dayLimit };
			const answer = await takeLease(owner, about, patience);
			if (answer.ok) spending.beginLease(createLease(open, answer.amount, before, Date.now()));
			else settle(nothing);
			return answer.ok ? undefined : answer.state;
		} catch (error) {
			settle(nothing);
			throw error;
		}
	};

	return {
		reserve: async (request) => {
			const patience = new Patience(request.signal);
			const dayLimit = owner === undefined ? {} : await patience.reach(owner.findLimit);
			let day = isBounded(dayLimit) ? budgetState(dayLimit, nothing, nothing) : undefined;
			for (let refusals = 0; ; ) {
				const planned = await toReservation(options, request, readBudgetState(store, limit()), day);
				const session = readBudgetState(store, limit());
				if (exceedsLimit(session, planned.amount)) throw createBudgetError('session', session, planned.amount);
				if (day === undefined || !exceedsLimit(day, planned.amount)) {
					const refused = await setAside(request.model, planned, dayLimit, patience);
					if (refused === undefined) {
						openedAt = Date.now();
						await atCrashPoint('model-begin');
						return planned.cap;
					}
					day = refused;
					// The rest of the day is known now. A shorter reply may fit.
					if (refusals++ === 0) continue;
				}
				day = await waitForOthers(owner, day, planned.amount, patience);
			}
		},
		lost: (usage, cut, outputTokens) => {
			if (!cut && !isSaid(usage)) settle(nothing);
			else
				charge({
					usage,
					outputTokens,
					unseenTokens: estimateOnItsWay(outputTokens, Date.now() - openedAt),
					isCut: cut,
				});
		},
		settle: (usage, message) => {
			if (open === undefined) return undefined;
			const outputTokens = message.role === 'assistant' ? estimateReply(message) : 0;
			const cost = { call: open.call, ...toAmount(open, { usage, outputTokens, isCut: false }) };
			open = undefined;
			spending.lookBack();
			return cost;
		},
		get call() {
			return open?.call;
		},
	};
}

/**
 * Waits until others may have given back what they do not need. Returns the state of the day. Throws `budget_exceeded` if
 * the amount would not fit even then, or after too long a time.
 */
async function waitForOthers(
	owner: OwnerLedger | undefined,
	day: BudgetState,
	amount: Amount,
	patience: Patience,
): Promise<BudgetState> {
	const mayFit = owner !== undefined && !exceedsLimit({ ...day, reserved: nothing }, amount);
	if (!mayFit || !(await patience.pause())) throw createBudgetError('day', day, amount);
	return patience.reach(() => askLedger(owner.ledger, (one) => one.state(day.limit)));
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

/** What is known of models: the price of a request, and the longest reply. */
interface ModelFacts {
	/** Returns the price of a request in US dollars, if it is known. */
	readonly computePrice: PriceOf;
	/** Returns the size of the model's context in tokens, if it is known. */
	readonly contextWindow?: (model: string) => number | undefined | Promise<number | undefined>;
}

/** What is set aside for a request. */
interface Reservation {
	/** The longest reply that this allows. */
	readonly cap: number | undefined;
	readonly amount: Amount;
	readonly estimate: Estimate;
}

/**
 * Computes what is set aside for a request: its input, and the longest reply that the agent, the model and the budgets
 * allow.
 *
 * @param day where the owner's day stands, as far as it is known.
 */
async function toReservation(
	{ computePrice, contextWindow }: ModelFacts,
	{ model, inputTokens, maxOutputTokens }: MeteredRequest,
	session: BudgetState,
	day: BudgetState | undefined,
): Promise<Reservation> {
	const states = day === undefined ? [session] : [session, day];
	const inDollars = states.some(({ limit }) => limit.usd !== undefined);
	const [base, more] = await Promise.all([
		computePrice(model, { inputTokens, outputTokens: 0 }),
		computePrice(model, { inputTokens, outputTokens: 1_000 }),
	]);
	if (inDollars && base === undefined) throw createUnpriced(model);
	const inputUsd = base ?? 0;
	const outputUsd = Math.max(0, ((more ?? inputUsd) - inputUsd) / 1_000);
	const estimate = { inputTokens, inputUsd, outputUsd };
	const bounded = inDollars || states.some(({ limit }) => limit.tokens !== undefined);
	const inTokens = (usd: number | undefined): number =>
		usd === undefined || outputUsd === 0 ? Infinity : usd / outputUsd;
	let cap = maxOutputTokens;
	if (bounded) {
		const { tokens = Infinity, usd } = day?.limit ?? {};
		const rooms = states.flatMap(({ left }) => [
			(left.tokens ?? Infinity) - inputTokens,
			inTokens(left.usd === undefined ? undefined : left.usd - inputUsd),
		]);
		const most = [
			maxOutputTokens ?? Math.min(usualReply, ...rooms),
			((await contextWindow?.(model)) ?? Infinity) - inputTokens,
			tokens * shareOfDay,
			inTokens(usd) * shareOfDay,
		];
		cap = Math.min(maxOutputTokens ?? Infinity, Math.max(shortestReply, Math.floor(Math.min(...most))));
	}
	const outputTokens = cap ?? 0;
	const amount = { tokens: inputTokens + outputTokens, usd: inputUsd + outputUsd * outputTokens };
	return { cap, amount: createAmount(amount), estimate };
}

/** The error for a request that a budget does not allow. */
function createBudgetError(scope: 'session' | 'day', state: BudgetState, needs: Amount): RunletError {
	const whose = scope === 'session' ? 'This session' : 'This key';
	const per = scope === 'session' ? '' : ' a day';
	const remedy =
		scope === 'session'
			? 'Raise its budget (PATCH the session), then continue.'
			: 'Raise the budget of the day or wait for tomorrow (UTC), then continue.';
	return new RunletError(
		'budget_exceeded',
		`budget: ${whose} may spend ${amountText(state.limit)}${per}; ${amountText(state.left)} left, and the next request may need ${amountText(keepCapped(needs, state.limit))}. ${remedy}`,
		{ scope, ...state, needs },
	);
}

function createUnpriced(model: string): RunletError {
	const message = `budget: nobody knows the price of "${model}", so a budget in dollars cannot be kept on it. Give the budget in tokens, or choose another model.`;
	return new RunletError('budget_exceeded', message, { model });
}

/** Returns the parts of an amount that have a limit. */
function keepCapped({ tokens, usd }: Amount, limit: Limit): Limit {
	return { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
}

function amountText({ tokens, usd }: Limit): string {
	const parts = [tokens === undefined ? [] : `${tokens} tokens`, usd === undefined ? [] : formatDollars(usd)].flat();
	return parts.join(' and ') || 'nothing';
}

/** How long text is on its way, and the end of its reader to the model, in milliseconds. */
const onItsWayMs = 250;

/** Returns what a model wrote in the last moment before its reader left, at its pace so far: at most a quarter of that. */
function estimateOnItsWay(tokens: number, ms: number): number {
	return (tokens / Math.max(ms, 4 * onItsWayMs)) * onItsWayMs;
}

/** Computes what a request cost by what was seen of it. */
function toAmount({ estimate }: Charge, seen: Omit<SeenCall, 'inputTokens'>): Amount {
	const { inputTokens: expected, inputUsd, outputUsd } = estimate;
	const { inputTokens, outputTokens, costUsd } = toCharge({ ...seen, inputTokens: expected });
	const inputPrice = expected === 0 ? 0 : (inputUsd / expected) * inputTokens;
	return createAmount({ tokens: inputTokens + outputTokens, usd: costUsd ?? inputPrice + outputUsd * outputTokens });
}

/** The tokens that a fast model writes until the first draft of its turn is stored. */
const mostUnseen = (150 * draftMs) / 1_000;

/**
 * Ends the account of a run that is over or goes on in another life: charges the request that a crash cut off, and ends
 * the lease, unless that is kept for the next run.
 */
export function closeAccount({ spending }: SessionStore, draft: Draft | undefined): void {
	const open = spending.open();
	if (open !== undefined) spending.settle(open.call, toLostAmount(open, draft));
	if (spending.lease?.isKept !== true) spending.endLease();
}

/**
 * Computes the charge of a request that a crash cut off: its input, the output in the draft, and what the model
 * wrote at its pace until the next draft at the latest.
 */
function toLostAmount(open: Charge, { call, tokens = 0, ms = 0, nextMs = draftMs }: Partial<Draft> = {}): Amount {
	const isOfCall = call === open.call && tokens > 0;
	const outputTokens = isOfCall ? tokens : 0;
	const unseenTokens = isOfCall ? (tokens / Math.max(ms, draftMs)) * nextMs : mostUnseen;
	const seen = toAmount(open, { usage: undefined, outputTokens, unseenTokens, isCut: true });
	// The model was told the longest reply, so the request cost no more than was set aside.
	const isBounded = open.amount.tokens > open.estimate.inputTokens;
	const { tokens: most, usd: mostUsd } = isBounded ? open.amount : seen;
	return { tokens: Math.min(seen.tokens, most), usd: Math.min(seen.usd, mostUsd) };
}
