import type { ChatUsage } from './usage.ts';

/** A request that a run is about to make. */
export interface MeteredRequest {
	readonly model: string;
	/** What it sends, estimated. */
	readonly inputTokens: number;
	/** The longest reply that the options allow; missing where they set no bound. */
	readonly maxOutputTokens: number | undefined;
}

/**
 * Keeps account of what a run spends. Each request to a model is announced before it is made, retries and fallbacks
 * included; what came of it is told once: with the message that it gave (`MessageContext.spent`), or by `lost`.
 */
export interface Meter {
	/**
	 * Sets aside what the request may cost, and gives the longest reply that it allows, in tokens. What it throws ends the
	 * run before anything is sent.
	 */
	readonly reserve: (request: MeteredRequest) => number | undefined | Promise<number | undefined>;
	/**
	 * The request gave no message of the model's, but failed, or was for a summary. `usage` is what was seen of its cost;
	 * `cut` says that it was broken off on its way, so that it may have cost more, or anything at all; `outputTokens` is what
	 * came of it until then, estimated.
	 */
	readonly lost: (usage: ChatUsage | undefined, cut: boolean, outputTokens: number) => void | Promise<void>;
}
