import type { ToolCall } from '../tool/index.ts';
import type { ChatUsage } from './usage.ts';

/** Why a model ended its turn, in Runlet's words; a provider's own word where it has none. */
export type StopReason =
	| 'end_turn'
	| 'tool_use'
	| 'max_tokens'
	| 'stop_sequence'
	| 'refusal'
	| 'pause_turn'
	| (string & {});

/** What a model answered in one turn, whoever the provider. */
export interface ChatReply {
	readonly text?: string;
	readonly toolCalls?: readonly ToolCall[];
	readonly stopReason: StopReason;
	readonly usage?: ChatUsage;
	/** What the model showed of its thinking. */
	readonly reasoning?: string;
	/** What the provider needs back to go on, by its name; kept in the history. */
	readonly providerMetadata?: Readonly<Record<string, unknown>>;
	/** The provider's own answer; opaque to the loop. */
	readonly raw?: unknown;
}

/**
 * The kinds of delta that this version knows, by `type`. An adapter adds a kind of its own by declaration merging:
 *
 *     declare module 'runlet/chat' { interface ReplyDeltas { citation: { readonly url: string } } }
 */
export interface ReplyDeltas {
	text: { readonly text: string };
	reasoning: { readonly text: string };
	tool_use_start: { readonly id: string; readonly name: string };
	tool_use_input: { readonly id: string; readonly partialInputJson: string };
	tool_use_end: { readonly id: string };
	stop: StreamStop;
}

/** The end of a model's turn: comes once, last, and never when the call fails. */
export interface StreamStop {
	readonly reason: StopReason;
	readonly usage?: ChatUsage;
}

export type KnownDelta = { [K in keyof ReplyDeltas]: { readonly type: K } & ReplyDeltas[K] }[keyof ReplyDeltas];

/**
 * A delta of a kind that this version does not know; ignore it. Its type says that such kinds are namespaced
 * (`acme:citation`, `data-weather`), which keeps a `switch (delta.type)` over the known kinds exact.
 */
export interface UnknownDelta {
	readonly type: `${string}:${string}` | `${string}-${string}`;
	readonly [field: string]: unknown;
}

/** A piece of a streamed reply. A `switch` on `type` needs no case for kinds it does not know. */
export type ReplyDelta = KnownDelta | UnknownDelta;

/**
 * Takes deltas from an adapter: the known kinds, and any other `{ type, … }`. When it gives a promise back, its reader
 * is behind: an adapter that waits for it bounds the memory that a slow reader costs.
 */
export type OnDelta = (
	delta: KnownDelta | { readonly type: string; readonly [field: string]: unknown },
) => undefined | Promise<void>;
