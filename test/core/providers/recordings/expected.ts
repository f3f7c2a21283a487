import type { StopReason } from '../../../../src/core/index.ts';

/** What a reply must say, read from the recording alone. */
export interface Expected {
	readonly text: string;
	readonly toolCalls: readonly ExpectedCall[];
	readonly stopReason: StopReason;
	readonly usage: ExpectedUsage;
}

export interface ExpectedCall {
	/** Empty where the recording has none: then any id will do. */
	readonly id: string;
	readonly name: string;
	readonly input: unknown;
}

/** A count that the recording does not have is `undefined`, and must be missing in the reply. */
export interface ExpectedUsage {
	readonly inputTokens: number | undefined;
	readonly outputTokens: number | undefined;
	/** `'any'` where the recording has a count under a name of its own. */
	readonly cachedInputTokens: number | undefined | 'any';
	readonly reasoningTokens: number | undefined;
}

/** One provider's API, as its recordings tell it. */
export interface Reading {
	readonly readStream: (events: readonly unknown[]) => Expected;
	readonly readBody: (body: unknown) => Expected;
	/** Whether this event is the first to say that the answer is at its end. */
	readonly ends: (event: unknown) => boolean;
}

/** A sum of counts, missing where all of them are. */
export function sum(...counts: readonly (number | undefined)[]): number | undefined {
	const known = counts.filter((one) => one !== undefined);
	return known.length === 0 ? undefined : known.reduce((total, one) => total + one, 0);
}

/** Calls make it `tool_use`, where a provider has one word for a turn that is over. Anthropic has two. */
export function withCalls(reason: StopReason, calls: readonly ExpectedCall[]): StopReason {
	return reason === 'end_turn' && calls.length > 0 ? 'tool_use' : reason;
}
