import { describeMoney } from '../../client/words.ts';

/** What was spent. `usd` is what is known of the price. */
export interface Cost {
	readonly tokens: number;
	readonly usd: number;
	/** Those of the tokens whose price is not known. */
	readonly unpricedTokens?: number;
}

/** Describes a cost: what is not known of it is unknown, and not 0. */
export function describeCost(cost: Cost): string {
	if (!cost.unpricedTokens) return describeMoney(cost);
	return cost.usd > 0 ? `${describeMoney(cost)} and unknown` : 'unknown';
}
