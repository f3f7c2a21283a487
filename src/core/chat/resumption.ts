import type { ToolCall, ToolResult } from '../tool/index.ts';
import type { Step } from './event.ts';
import type { TurnReply } from './streamed-reply.ts';
import type { ChatUsage } from './usage.ts';

/** The state of an interrupted run that its messages do not show. */
export interface Resumption {
	/** The number of completed model turns. */
	readonly iteration: number;
	/** The usage of these turns. */
	readonly usage: ChatUsage;
	/** The newest of these turns. */
	readonly last?: LastTurn;
	/** The unfinished turn. Missing if the model comes next. */
	readonly turn?: BegunTurn;
}

/** The model's newest turn. */
export type LastTurn = Pick<TurnReply, 'model' | 'text' | 'stopReason' | 'usage' | 'providerCalls' | 'sources'> &
	Pick<Step, 'cacheMiss'>;

/** A model turn with open calls. */
export interface BegunTurn {
	/** All its calls. */
	readonly calls: readonly ToolCall[];
	readonly results: readonly ToolResult[];
	/** The reason if one of them stops the run. */
	readonly haltedReason?: string;
}
