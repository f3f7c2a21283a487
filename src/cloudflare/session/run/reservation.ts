import type { MeteredRequest, PriceOf } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/errors.ts';
import { type Amount, createAmount } from '../../budget/amount.ts';
import type { BudgetState, Limit } from '../../budget/budget.ts';
import type { Estimate } from '../store/spending.ts';

/** The longest reply that is set aside for where the agent does not bound it, in tokens. */
const usualReply = 16_384;

/** The shortest reply that is worth asking for, in tokens. */
const shortestReply = 16;

/** The share of a day's limit that one reply may set aside: others of the same owner run at the same time. */
const shareOfDay = 0.25;

/** What is known of models: the price of a request, and the longest reply. */
export interface ModelFacts {
	/** The price of a request in US dollars, if somebody knows it. */
	readonly computePrice: PriceOf;
	/** Tokens that the model takes and gives together, if somebody knows. */
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
 * What is set aside for a request: what it sends, and the longest reply that the agent, the model and the budgets allow.
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

/** An amount, as far as there is a cap on it. */
function keepCapped({ tokens, usd }: Amount, limit: Limit): Limit {
	return { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
}

function amountText({ tokens, usd }: Limit): string {
	const parts = [tokens === undefined ? [] : `${tokens} tokens`, usd === undefined ? [] : `$${usd}`].flat();
	return parts.join(' and ') || 'nothing';
}
