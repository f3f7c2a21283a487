import { type SeenCall, toCharge } from '../../../core/chat/meter.ts';
import { type Amount, createAmount } from '../../objects/budget.ts';
import type { Charge } from '../store/spending-row.ts';

/** The tokens that a fast model writes in a millisecond. */
export const fastPace = 0.15;

/** What was seen of a request, and the milliseconds in which nothing came of it. */
type Seen = Omit<SeenCall, 'inputTokens' | 'hiddenTokens'> & { readonly silentMs?: number };

/**
 * Computes what a request cost by what was seen of it. The model was told the longest reply, so an estimate is never more
 * than what was set aside.
 */
export function computeCost(open: Charge, seen: Seen): Amount {
	const amount = toAmount(open, seen);
	const isBounded = open.amount.tokens > open.estimate.inputTokens;
	if (!isBounded) return amount;
	const { inputTokens = 0, outputTokens = 0, totalTokens = 0, costUsd = 0 } = seen.usage ?? {};
	const most = {
		tokens: Math.max(open.amount.tokens, toCount(inputTokens + outputTokens), toCount(totalTokens)),
		usd: Math.max(open.amount.usd, toCount(costUsd)),
	};
	return { tokens: Math.min(amount.tokens, most.tokens), usd: Math.min(amount.usd, most.usd) };
}

/** Computes what a request cost, with what may have been more than was set aside. */
function toAmount({ estimate, amount: most, mayThink }: Charge, seen: Seen): Amount {
	const { inputTokens: expected, inputUsd, outputUsd, unitsUsd = 0 } = estimate;
	const hiddenTokens = mayThink === true ? (seen.silentMs ?? 0) * fastPace : 0;
	const { inputTokens, outputTokens, costUsd } = toCharge({ ...seen, inputTokens: expected, hiddenTokens });
	const inputPrice = expected === 0 ? 0 : (inputUsd / expected) * inputTokens;
	// The provider did not report its searches, so the charge includes all that were reserved.
	const estimated = inputPrice + unitsUsd + outputUsd * outputTokens;
	const said = seen.usage?.costUsd ?? 0;
	// Of a cut request the provider has priced what it did until then. What nobody can price costs all that was set aside.
	const least = seen.isCut && said > 0 ? said + outputUsd * outputTokens : 0;
	const unknown = seen.usage?.unpriced === undefined ? 0 : most.usd;
	return createAmount({ tokens: inputTokens + outputTokens, usd: costUsd ?? Math.max(estimated, least, unknown) });
}

/** Returns a number that a provider reported. Returns 0 for `NaN` and infinity. */
function toCount(value: number): number {
	return Number.isFinite(value) ? value : 0;
}
