import type { ChatUsage } from './usage.ts';

/** A request that a run is about to make. */
export interface MeteredRequest {
	readonly model: string;
	/** What it sends, estimated. */
	readonly inputTokens: number;
	/** The longest reply; missing where neither the options nor the meter bound it. */
	readonly maxOutputTokens: number | undefined;
}

/**
 * Keeps account of what a run spends. Each request to a model is announced before it is made, retries and fallbacks
 * included; what came of it is told once: with the message that it gave (`MessageContext.spent`), or by `lost`.
 */
export interface Meter {
	/** Bounds replies that the options do not bound, so that what is set aside for one is true. */
	readonly maxOutputTokens?: number | undefined;
	/** What it throws ends the run before anything is sent. */
	readonly reserve: (request: MeteredRequest) => void | Promise<void>;
	/**
	 * The request gave no message. `usage` is what was seen of its cost; `cut` says that it was broken off on its way,
	 * so that it may have cost more, or anything at all.
	 */
	readonly lost: (usage: ChatUsage | undefined, cut: boolean) => void | Promise<void>;
}
