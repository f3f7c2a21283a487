import { type SeenCall, toCharge } from '../../../core/chat/charge.ts';
import type { MeteredRequest, PriceOf } from '../../../core/chat/index.ts';
import { formatDollars } from '../../../core/ground/dollars.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import { type Amount, type BudgetState, createAmount, type Limit } from '../../rpc/budget.ts';
import { type Draft, draftMs } from '../store/runs.ts';
import type { Charge, Estimate } from '../store/spending.ts';
import type { SessionStore } from '../store/store.ts';

/** The longest reply that is set aside for if the agent has no limit, in tokens. */
const usualReply = 16_384;

/** The shortest reply worth asking for, in tokens. */
const shortestReply = 16;

/** The share of a day's limit that one reply may set aside: others of the same owner run at the same time. */
const shareOfDay = 0.25;

/** What is known of models: the price of a request, and the longest reply. */
export interface ModelFacts {
	/** Returns the price of a request in US dollars, if it is known. */
	readonly computePrice: PriceOf;
	/** Returns the size of the model's context in tokens, if it is known. */
	readonly contextWindow?: (model: string) => number | undefined | Promise<number | undefined>;
}

/** What is set aside for a request. */
export interface Reservation {
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
export async function toReservation(
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
export function createBudgetError(scope: 'session' | 'day', state: BudgetState, needs: Amount): RunletError {
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

/** Computes what a request cost by what was seen of it. */
export function toAmount({ estimate }: Charge, seen: Omit<SeenCall, 'inputTokens'>): Amount {
	const { inputTokens: expected, inputUsd, outputUsd } = estimate;
	const { inputTokens, outputTokens, costUsd } = toCharge({ ...seen, inputTokens: expected });
	const inputPrice = expected === 0 ? 0 : (inputUsd / expected) * inputTokens;
	return createAmount({ tokens: inputTokens + outputTokens, usd: costUsd ?? inputPrice + outputUsd * outputTokens });
}

/** About how many tokens a model writes before the first draft of its turn is stored. */
const unseenTokens = 75;

/** About how much of the time between two drafts is lost when an object dies. */
const unseenShare = 0.6;

/**
 * Charges a request that a crash cut off: its input, the output in the draft, and what the draft may lack at the pace of
 * the model. Returns whether there was one.
 */
export function chargeLost(store: SessionStore, draft?: Draft): boolean {
	const open = store.spending.open();
	if (open === undefined) return false;
	const { call, tokens = 0, ms = 0 } = draft ?? {};
	const isOfCall = call === open.call && tokens > 0;
	const unseen = isOfCall ? (tokens / Math.max(ms, draftMs)) * draftMs * unseenShare : unseenTokens;
	const outputTokens = Math.ceil((isOfCall ? tokens : 0) + unseen);
	const seen = toAmount(open, { usage: undefined, outputTokens, isCut: true });
	// The model was told the longest reply, so the request cost no more than was set aside.
	const isBounded = open.amount.tokens > open.estimate.inputTokens;
	const { tokens: most, usd: mostUsd } = isBounded ? open.amount : seen;
	store.settle(open, { tokens: Math.min(seen.tokens, most), usd: Math.min(seen.usd, mostUsd) });
	return true;
}
