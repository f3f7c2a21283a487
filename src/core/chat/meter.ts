import type { ChatUsage } from './usage.ts';

/** A request that a run is about to make. */
export interface MeteredRequest {
	readonly model: string;
	/** What it sends, estimated. */
	readonly inputTokens: number;
	/** The longest reply that the options allow; missing where they set no bound. */
	readonly maxOutputTokens?: number;
}

/**
 * Keeps account of what a run spends. It hears of each request to a model before it is made, retries and fallbacks
 * included, and of its cost once: with the message that it gave (`MessageContext.spent`), or by `lost`.
 */
export interface Meter {
	/**
	 * Sets aside what the request may cost, and gives the longest reply that this allows, in tokens. What it throws ends the
	 * run before anything is sent.
	 */
	readonly reserve: (request: MeteredRequest) => number | undefined | Promise<number | undefined>;
	/**
	 * Takes what a request cost that failed, or that was for a summary. `usage` is what was seen of its cost; `cut` says that
	 * it was broken off on its way, so that it may have cost more; `outputTokens` is what came until then, estimated.
	 */
	readonly lost: (usage: ChatUsage | undefined, cut: boolean, outputTokens: number) => void | Promise<void>;
}
