import type { StopReason } from '../../../../src/core/index.ts';

/** The expected reply, read only from the recording. */
export interface Expected {
	readonly text: string;
	readonly toolCalls: readonly ExpectedCall[];
	readonly stopReason: StopReason;
	readonly usage: ExpectedUsage;
}

export interface ExpectedCall {
	/** The id, or an empty text if the recording has no id. Then any id is valid. */
	readonly id: string;
	readonly name: string;
	readonly input: unknown;
}

/** A count without a recorded value is `undefined`, and must be missing in the reply. */
export interface ExpectedUsage {
	readonly inputTokens: number | undefined;
	readonly outputTokens: number | undefined;
	/** The count, or `'any'` if the recording has the count under another name. */
	readonly cachedInputTokens: number | undefined | 'any';
	readonly reasoningTokens: number | undefined;
}

/** A reader of the recordings of an API. */
export interface Reading {
	readonly readStream: (events: readonly unknown[]) => Expected;
	readonly readBody: (body: unknown) => Expected;
	/** Whether this event is the first event at the end of the answer. */
	readonly ends: (event: unknown) => boolean;
}

/** Adds counts. Returns `undefined` without counts. */
export function sum(...counts: readonly (number | undefined)[]): number | undefined {
	const known = counts.filter((one) => one !== undefined);
	return known.length === 0 ? undefined : known.reduce((total, one) => total + one, 0);
}

/** Returns `tool_use` for a turn with calls, if the provider has the same word for the end of every turn. */
export function withCalls(reason: StopReason, calls: readonly ExpectedCall[]): StopReason {
	return reason === 'end_turn' && calls.length > 0 ? 'tool_use' : reason;
}
