import { type EndedCall, toCharge } from '../../../core/chat/meter.ts';
import { type Amount, createAmount } from '../../objects/budget.ts';
import type { Charge } from '../store/spending-row.ts';

/** The tokens of a fast model per millisecond. */
export const fastPace = 0.15;

/** The observed part of a request, and the milliseconds without any output. */
type ObservedCall = Omit<EndedCall, 'inputTokens' | 'hiddenTokens'> & { readonly silentMs?: number };

/** Computes the cost of a request from its observed part. An estimate never exceeds the reservation. */
export function computeCost(open: Charge, seen: ObservedCall): Amount {
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

function toAmount({ estimate, amount: most, mayThink }: Charge, seen: ObservedCall): Amount {
	const { inputTokens: expected, inputUsd, outputUsd, unitsUsd = 0 } = estimate;
	const hiddenTokens = mayThink === true ? (seen.silentMs ?? 0) * fastPace : 0;
	const { inputTokens, outputTokens, costUsd } = toCharge({ ...seen, inputTokens: expected, hiddenTokens });
	const inputPrice = expected === 0 ? 0 : (inputUsd / expected) * inputTokens;
	// The provider did not report its searches, so the charge includes all reserved searches.
	const estimated = inputPrice + unitsUsd + outputUsd * outputTokens;
	const reported = seen.usage?.costUsd ?? 0;
	// The price of an interrupted request ends where its report ends. A part without a price costs the whole reservation.
	const least = seen.isCut && reported > 0 ? reported + outputUsd * outputTokens : 0;
	const unknown = seen.usage?.unpriced === undefined ? 0 : most.usd;
	return createAmount({ tokens: inputTokens + outputTokens, usd: costUsd ?? Math.max(estimated, least, unknown) });
}

/** Returns a reported number. Returns 0 for `NaN` and infinity. */
function toCount(value: number): number {
	return Number.isFinite(value) ? value : 0;
}
