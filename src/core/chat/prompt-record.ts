/** Why a provider's cache had less than the request before (docs/costs.md). */
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

/** What a later request is compared with: hashes of the parts of a request, and what it had. */
export interface PromptRecord {
	readonly model: string;
	/** How many tools it had, and a hash of them. */
	readonly tools: readonly [count: number, hash: string];
	readonly system: string;
	/** A hash of its first messages, and whether a summary is among them. */
	readonly start: readonly [hash: string, isSummed: boolean];
	/** How many messages have a recalled text, and a hash of these texts. */
	readonly fronts: readonly [count: number, hash: string];
	/** How many results it had as references, and how many messages are behind these. Missing if there were none. */
	readonly references?: readonly [count: number, behind: number];
	/** 0 if the provider did not say it. */
	readonly inputTokens: number;
	/** When it was answered, in milliseconds since 1970. */
	readonly at: number;
}
