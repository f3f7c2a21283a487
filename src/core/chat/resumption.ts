import type { ToolCall, ToolResult } from '../tool/index.ts';
import type { TurnReply } from './streamed-reply.ts';
import type { ChatUsage } from './usage.ts';

/** Where a run stands that is taken up in the middle: what its messages do not say. */
export interface Resumption {
	/** Turns that the model has had. */
	readonly iteration: number;
	/** What they cost. */
	readonly usage: ChatUsage;
	/** The newest of them. */
	readonly last?: LastTurn;
	/** The turn whose end was not reached; missing where the model comes next. */
	readonly turn?: BegunTurn;
}

/** The model's newest turn. */
export type LastTurn = Pick<TurnReply, 'model' | 'text' | 'stopReason' | 'usage'>;

/** A turn of the model whose calls are not all answered. */
export interface BegunTurn {
	/** Its calls, answered or not. */
	readonly calls: readonly ToolCall[];
	readonly results: readonly ToolResult[];
	/** Why one of them stops the run. */
	readonly haltedReason?: string;
}
