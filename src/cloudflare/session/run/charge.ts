import { type SeenCall, toCharge } from '../../../core/chat/charge.ts';
import { type Amount, createAmount } from '../../budget/amount.ts';
import { draftMs } from '../events/draft.ts';
import type { Draft } from '../store/run.ts';
import type { Charge } from '../store/spending.ts';
import type { SessionStore } from '../store/store.ts';

/** What a request came to, by what was seen of it; the same whether or not anything was set aside for it. */
export function toAmount({ amount, estimate }: Charge, seen: Omit<SeenCall, 'inputTokens'>): Amount {
	// A request of an earlier version says no more than what was set aside for it.
	if (estimate === undefined) return amount;
	const { inputTokens: expected, inputUsd, outputUsd } = estimate;
	const { inputTokens, outputTokens, costUsd } = toCharge({ ...seen, inputTokens: expected });
	const inputPrice = expected === 0 ? 0 : (inputUsd / expected) * inputTokens;
	return createAmount({ tokens: inputTokens + outputTokens, usd: costUsd ?? inputPrice + outputUsd * outputTokens });
}

/** Tokens that a model writes, about, before the first draft of its turn is stored. */
const unseenTokens = 75;

/** How much of the time between two drafts is lost with an object, about. */
const unseenShare = 0.6;

/**
 * Charges a request that a crash cut off: its input, what the draft holds of its output, and what the draft may lack at
 * the pace at which the model wrote. Whether there was one.
 */
export function chargeLost(store: SessionStore, draft?: Draft): boolean {
	const open = store.spending.open();
	if (open === undefined) return false;
	const { call, tokens = 0, ms = 0 } = draft ?? {};
	const isOfCall = call === open.call && tokens > 0;
	const unseen = isOfCall ? (tokens / Math.max(ms, draftMs)) * draftMs * unseenShare : unseenTokens;
	const outputTokens = Math.ceil((isOfCall ? tokens : 0) + unseen);
	const seen = toAmount(open, { usage: undefined, outputTokens, isCut: true });
	// The model was told how long its reply may be, so it cost no more than was set aside for that.
	const isBounded = open.amount.tokens > (open.estimate?.inputTokens ?? 0);
	const { tokens: most, usd: mostUsd } = isBounded ? open.amount : seen;
	store.settle(open, { tokens: Math.min(seen.tokens, most), usd: Math.min(seen.usd, mostUsd) });
	return true;
}
