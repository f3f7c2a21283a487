import type { Skill, SkillContext, SkillResolver } from '../skill/index.ts';
import type { AnyFn, AnySchema, JsonSchema, Tool, ToolCall, ToolContext, ToolEntries } from '../tool/index.ts';
import type { ReasoningEffort } from './effort.ts';
import type { Question, SideEvent } from './event.ts';
import type { Message } from './message.ts';
import type { Meter } from './meter.ts';
import type { ProviderRegistration, TextChatFn, TextChatStreamFn, ToolChoice } from './provider.ts';
import type { StopReason } from './reply.ts';
import type { Timeouts } from './timeouts.ts';
import type { ChatUsage } from './usage.ts';

/** The model turn that an assistant message came from. */
export interface Turn {
	/** Counts the model's turns of the run, from 1. */
	readonly iteration: number;
	readonly model: string;
	readonly stopReason: StopReason;
	readonly usage: ChatUsage;
	/** Inputs that were streamed in other words than `JSON.stringify` finds for them, by call id. */
	readonly streamedInputs?: Readonly<Record<string, string>>;
}

/** The turn is offered these tools only, and has to call one. */
export interface OneOfTools {
	readonly oneOf: readonly string[];
}

/** What came with a message: for whoever stores it and wants to show the run again. */
export interface MessageContext {
	/** The model turn, of an assistant message. */
	readonly turn?: Turn;
	/** Notes and warnings since the message before, in order. */
	readonly before: readonly SideEvent[];
	/**
	 * Of a summary: how many messages of the history stand behind it. So many were given or stored before it, the newest
	 * ones; it belongs in front of them and behind all others.
	 */
	readonly inFrontOf?: number;
	/** Of a summary: what it cost to make. Counts in the run's usage, and in no turn's. */
	readonly usage?: ChatUsage;
	/** What the request that gave an assistant message cost, by itself; `turn.usage` counts the tries before it, too. */
	readonly spent?: ChatUsage;
	/** Why the tool that gave this result stops the run. */
	readonly haltedReason?: string;
}

/** Everything a run can be told. Only `model` is required. */
export interface ChatOptions {
	readonly model: string;
	/** Calls the model without streaming; wins over `providers`. Gives a reply, or only its text. */
	readonly chatFn?: TextChatFn;
	/** Calls the model with streaming; wins over `providers`. Gives the reply, or only its text. */
	readonly chatStreamFn?: TextChatStreamFn;
	/** Who can talk to which model. A later entry wins. */
	readonly providers?: readonly ProviderRegistration[];
	/** Further models, tried in order when one cannot be reached, or breaks off. */
	readonly fallbacks?: readonly string[];
	readonly system?: string;
	/** Functions and records, or a toolbox. */
	readonly tools?: ToolEntries;
	readonly skills?: readonly (AnyFn | Skill)[];
	readonly skillResolver?: SkillResolver;
	/** Tools that are offered once a skill was read that names them in `allowed-tools`. */
	readonly skillTools?: ToolEntries;
	/** What the harness knows about the turn, or who is asked for it at each call; wins over what a model says to `apply_skill`. */
	readonly skillContext?: SkillContext | (() => SkillContext);
	/** Model turns of one run; 10. */
	readonly maxIterations?: number;
	/** Tool calls of one run; 200. What goes beyond is not run, which the model is told. Ten of a turn run at a time. */
	readonly maxToolCalls?: number;
	readonly maxContextTokens?: number;
	/**
	 * What happens when the conversation is over the context limit, or its provider says that it is too long. `fail`, the
	 * default: the run fails with `context_overflow`. `truncate`: its oldest part is left out of the requests. `compact`:
	 * the model sums that part up, and the summary, which enters the history, is sent instead. What is left out begins
	 * and ends at a user message; the newest one, and what follows it, is always sent, and so are system messages.
	 * `messages` keep everything. A `warning` says how many messages are not sent any more.
	 */
	readonly contextFull?: 'fail' | 'truncate' | 'compact';
	/** The model's context window, or who knows it by the model's name: the limit where `maxContextTokens` is missing. */
	readonly modelContextWindow?: number | ProviderRegistration['contextWindow'];
	readonly maxOutputTokens?: number;
	/**
	 * The longest reply of a turn in bytes, its text, thinking and calls together; 8,388,608. A longer one is broken off,
	 * and the run fails with `reply_too_large`.
	 */
	readonly maxReplyBytes?: number;
	/** For the turn that answers a message; once tools have answered, the model is free again, or the run would not end. */
	readonly toolChoice?: ToolChoice | OneOfTools;
	/**
	 * `false`: of the calls of a turn that are left to somebody else only the first one is. The model is told that the
	 * others were not run.
	 */
	readonly parallelToolCalls?: boolean;
	/**
	 * The final reply's text is JSON of this schema: JSON Schema, or valibot, Zod and the like. It is checked, and a model
	 * that did not keep to it is told what is wrong and asked again, twice at most; then the run fails with
	 * `invalid_output`. The value is the result's `output`.
	 */
	readonly outputSchema?: JsonSchema | AnySchema;
	/** How much the model is to think; missing leaves it to the model. */
	readonly reasoningEffort?: ReasoningEffort;
	/** Share of the context limit from which a `warning` is given; 0.8. */
	readonly warnContextPct?: number;
	readonly countTokensFn?: (messages: readonly Message[], model: string) => number | Promise<number>;
	/** Mirrors each step to `emit`. */
	readonly emitSteps?: boolean;
	readonly stepDataType?: string;
	/** Mirrors each delta to `emit`. */
	readonly emitStreamDeltas?: boolean;
	readonly deltaDataType?: string;
	/** Gets the mirrored records. What it throws is ignored. */
	readonly emit?: (type: string, data: unknown) => unknown;
	/** `manual` stops before any tool runs; every call is then the caller's to answer. */
	readonly mode?: 'auto' | 'manual';
	/** Ids of open calls that a person has allowed: they run, though their tools need approval. */
	readonly approved?: readonly string[];
	/** What open calls have asked the person already: they are not run to ask again. */
	readonly asked?: readonly Question[];
	/** Ids that a new call is not given: where it comes with one of them it gets a suffix. */
	readonly takenIds?: ReadonlySet<string>;
	/** Model turns after which the run stops, its tools having run, as `awaiting_tools` with no call open. */
	readonly stopAfter?: number;
	readonly signal?: AbortSignal;
	/** Who is calling: reaches tools as their context. */
	readonly context?: Partial<Pick<ToolContext, 'sessionId' | 'runId' | 'skillContext'>>;
	/** Told what a tool's function threw, with its stack: the model and the readers get its message only. Never throws. */
	readonly onToolThrow?: (tool: string, thrown: unknown) => void;
	/** Has stored a message before the run's next step begins; what it throws ends the run. */
	readonly onMessage?: (message: Message, about: MessageContext) => void | Promise<void>;
	/** Has noted that a tool is about to carry out a call, before it does; what it throws ends the run. */
	readonly onToolCall?: (call: ToolCall, tool: Tool) => void | Promise<void>;
	/** Has noted what a call asks the person; what it throws ends the run. */
	readonly onQuestion?: (question: Question, call: ToolCall) => void | Promise<void>;
	/**
	 * Has noted that a turn is asked again of which something was shown, before anybody is told; `repeated` are its notes
	 * and warnings, which are shown again. What it throws ends the run.
	 */
	readonly onRestart?: (iteration: number, repeated: readonly SideEvent[]) => void | Promise<void>;
	/** Keeps account of what the run spends, request by request. */
	readonly meter?: Meter;
	/** Messages that came while the run went on, stored by whoever gives them: taken up before the model is asked again. */
	readonly steer?: () => readonly Message[];
	/** Retries of a model call that failed in a way that may pass; 2. Where something of it was shown, `turn.restarted` comes first. */
	readonly maxRetries?: number;
	readonly timeouts?: Timeouts;
}
