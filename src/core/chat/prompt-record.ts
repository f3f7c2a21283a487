/** The reasons why fewer tokens came from a provider's cache than the previous request contained (docs/costs.md). */
export const cacheMisses = [
	'changed model',
	'changed tools',
	'changed system',
	'changed messages',
	'summary',
	'old results',
	'truncated',
	'expired',
	'new tools',
	'too short',
	'unknown',
] as const;

export type CacheMiss = (typeof cacheMisses)[number];

/** A request as hashes of its parts, to compare it with a later request. */
export interface PromptRecord {
	readonly model: string;
	readonly tools: readonly [count: number, hash: string];
	readonly system: string;
	/** A hash of the first messages, and whether a summary is among them. */
	readonly start: readonly [hash: string, isSummed: boolean];
	/** The number of messages with a recalled text, and a hash of these texts. */
	readonly fronts: readonly [count: number, hash: string];
	/** The number of references, and the number of messages after them. Missing if there are no references. */
	readonly references?: readonly [count: number, behind: number];
	/** The input tokens, or 0 if the provider did not report them. */
	readonly inputTokens: number;
	/** The time of the reply, in milliseconds since 1970. */
	readonly at: number;
}
