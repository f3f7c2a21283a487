import type { AskedCall } from './provider.ts';
import type { ChatUsage } from './usage.ts';

/** A request before it is made. */
export interface MeteredRequest {
	readonly model: string;
	/** The estimated tokens that it sends. */
	readonly inputTokens: number;
	/** What is chosen of what the provider offers: its own tools, the tier, the cache. */
	readonly choices?: Omit<AskedCall, 'inputTokens' | 'outputTokens'>;
	/** The longest reply that the options allow. Missing if there is no limit. */
	readonly maxOutputTokens?: number;
	/** Whether the reply may not be shorter than that, because a shorter one was cut off. */
	readonly isWhole?: boolean;
	/** Whether vectors are asked for. No message comes of such a request. */
	readonly isEmbedding?: boolean;
	/** Ends the wait for a reservation when the run is stopped. */
	readonly signal: AbortSignal;
}

/** What an interrupted request may have cost besides what was shown of it. */
export interface Hidden {
	/** The milliseconds in which nothing came: its model may have thought then. */
	readonly silentMs: number;
	/** Whether its provider ran tools of its own, after which the model reads everything again. */
	readonly hasReadAgain: boolean;
}

/**
 * Keeps account of the cost of a run. It learns of each request to a model before it is made, including retries and
 * fallbacks. It learns of the cost once: with the message (`MessageContext.spent`), or by `lost`.
 */
export interface Meter {
	/**
	 * Reserves the possible cost of the request. Returns the longest reply that this allows, in tokens. An error here
	 * ends the run before anything is sent.
	 */
	readonly reserve: (request: MeteredRequest) => number | undefined | Promise<number | undefined>;
	/** Whether the request that was reserved last may have a longer reply if it is reserved with `isWhole`. */
	readonly isShort?: boolean;
	/**
	 * Takes the cost of a request that failed or was for a summary. `usage` is the reported cost. `cut` says that it was
	 * interrupted, so it may have cost more. `outputTokens` is the estimated output until then.
	 */
	readonly lost: (
		usage: ChatUsage | undefined,
		cut: boolean,
		outputTokens: number,
		hidden?: Hidden,
	) => void | Promise<void>;
}
