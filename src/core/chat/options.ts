import { assertKnownFields } from '../ground/check.ts';
import type { Skill, SkillContext, SkillResolver } from '../skill/index.ts';
import type { AnyFn, AnySchema, JsonSchema, StateChanges, Tool, ToolCall, ToolEntries } from '../tool/index.ts';
import type { ReasoningEffort } from './effort.ts';
import type { Question, SideEvent } from './event.ts';
import type { Message } from './message.ts';
import type { Meter } from './meter.ts';
import type { ProviderRegistration, TextChatFn, TextChatStreamFn, ToolChoice } from './provider.ts';
import type { StopReason } from './reply.ts';
import type { RunContext } from './run-context.ts';
import type { SystemPrompt } from './system-prompt.ts';
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

/** Offers a turn these tools only, and makes it call one. */
export interface OneOfTools {
	readonly oneOf: readonly string[];
}

/** What belongs to a message: for a store that wants to show the run again. */
export interface MessageContext {
	/** The model turn, of an assistant message. */
	readonly turn?: Turn;
	/** Notes and warnings since the message before, in order. */
	readonly before: readonly SideEvent[];
	/**
	 * Of a summary: how many messages of the history stand behind it. These are the newest ones that were given or stored
	 * before it.
	 */
	readonly inFrontOf?: number;
	/** Of a summary: what it cost. It counts in the run's usage, and in no turn's. */
	readonly usage?: ChatUsage;
	/** Of an assistant message: what its own request cost. `turn.usage` counts failed tries, too. */
	readonly spent?: ChatUsage;
	/** Why the tool that gave this result stops the run. */
	readonly haltedReason?: string;
	/** What the call of this result changed in the state. It is to be stored together with the result. */
	readonly changes?: StateChanges;
}

/** Everything a run can be told. Only `model` is required. */
export interface ChatOptions {
	readonly model: string;
	/** Calls the model without streaming; wins over `providers`. Gives a reply, or only its text. */
	readonly chatFn?: TextChatFn;
	/** Calls the model with streaming; wins over `providers`. Gives the reply, or only its text. */
	readonly chatStreamFn?: TextChatStreamFn;
	/** The providers of the models. A later entry wins. */
	readonly providers?: readonly ProviderRegistration[];
	/** Further models, tried in order when one cannot be reached or breaks off. */
	readonly fallbacks?: readonly string[];
	readonly system?: SystemPrompt;
	/** Functions and records, or a toolbox. */
	readonly tools?: ToolEntries;
	readonly skills?: readonly (AnyFn | Skill)[];
	readonly skillResolver?: SkillResolver;
	/** Tools that a skill brings: offered once a skill is read that names them in `allowed-tools`. */
	readonly skillTools?: ToolEntries;
	/** What the harness knows about the turn, or a function that says it at each call; wins over what a model tells `apply_skill`. */
	readonly skillContext?: SkillContext | (() => SkillContext);
	/** Model turns of one run; 10. */
	readonly maxIterations?: number;
	/** Tool calls of one run; 200. Calls beyond it are not run, and the model is told so. Ten of a turn run at a time. */
	readonly maxToolCalls?: number;
	readonly maxContextTokens?: number;
	/**
	 * What happens when the conversation is over the context limit, or its provider says that it is too long. `fail`, the
	 * default: the run fails with `context_overflow`. `truncate`: the requests leave its oldest part out. `compact`: the
	 * model sums that part up; the summary enters the history and is sent instead. The part that is left out begins and
	 * ends at a user message. The newest user message, what follows it, and system messages are always sent. `messages`
	 * keep everything. A `warning` says how many messages are not sent any more.
	 */
	readonly contextFull?: 'fail' | 'truncate' | 'compact';
	/** The model's context window, or a function that knows it: the limit where `maxContextTokens` is missing. */
	readonly modelContextWindow?: number | ProviderRegistration['contextWindow'];
	readonly maxOutputTokens?: number;
	/**
	 * The longest reply of a turn in bytes: text, thinking and calls together; 8,388,608. A longer one is broken off, and
	 * the run fails with `reply_too_large`.
	 */
	readonly maxReplyBytes?: number;
	/** Holds for the turn that answers a message. Once tools have answered the model is free again, or no run would end. */
	readonly toolChoice?: ToolChoice | OneOfTools;
	/**
	 * `false`: of a turn's calls only one may wait for somebody else. The model is told that the others were not run.
	 */
	readonly parallelToolCalls?: boolean;
	/**
	 * The final reply's text is JSON of this schema: JSON Schema, or valibot, Zod and the like. A reply of another form is
	 * asked for again, twice at most, with what is wrong; then the run fails with `invalid_output`. The value is the
	 * result's `output`.
	 */
	readonly outputSchema?: JsonSchema | AnySchema;
	/** How much the model thinks; missing leaves it to the model. */
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
	/** `manual` stops before any tool runs: the caller answers every call. */
	readonly mode?: 'auto' | 'manual';
	/** Ids of open calls that a person has allowed: they run, though their tools need approval. */
	readonly approved?: readonly string[];
	/** Questions that open calls have asked already: these calls do not run again. */
	readonly asked?: readonly Question[];
	/** Ids that are taken: a new call with one of them gets a suffix. */
	readonly takenIds?: ReadonlySet<string>;
	/** Model turns after which the run stops as `awaiting_tools` with no call open. Their tools run before. */
	readonly stopAfter?: number;
	readonly signal?: AbortSignal;
	/** Tells tools who calls them, and what they may use. */
	readonly context?: RunContext;
	/** Gets what a tool's function threw, with its stack: the model and the readers get its message only. Must not throw. */
	readonly onToolThrow?: (tool: string, thrown: unknown) => void;
	/** Stores a message before the run's next step begins. What it throws ends the run. */
	readonly onMessage?: (message: Message, about: MessageContext) => void | Promise<void>;
	/** Notes that a tool carries out a call, before it does. What it throws ends the run. */
	readonly onToolCall?: (call: ToolCall, tool: Tool) => void | Promise<void>;
	/** Notes what a call asks the person, and what it changed in the state. What it throws ends the run. */
	readonly onQuestion?: (question: Question, call: ToolCall, changes: StateChanges) => void | Promise<void>;
	/**
	 * Notes that a turn is asked again of which something was shown, before its readers are told. `repeated` are its notes
	 * and warnings, which are shown again. What it throws ends the run.
	 */
	readonly onRestart?: (iteration: number, repeated: readonly SideEvent[]) => void | Promise<void>;
	/** Keeps account of what the run spends, request by request. */
	readonly meter?: Meter;
	/** Gives messages that came during the run, stored already: the model gets them with its next turn. */
	readonly steer?: () => readonly Message[];
	/** Retries of a model call after a failure that may pass; 2. Where something of it was shown, `turn.restarted` comes first. */
	readonly maxRetries?: number;
	readonly timeouts?: Timeouts;
}

const names = Object.keys({
	model: true,
	chatFn: true,
	chatStreamFn: true,
	providers: true,
	fallbacks: true,
	system: true,
	tools: true,
	skills: true,
	skillResolver: true,
	skillTools: true,
	skillContext: true,
	maxIterations: true,
	maxToolCalls: true,
	maxContextTokens: true,
	contextFull: true,
	modelContextWindow: true,
	maxOutputTokens: true,
	maxReplyBytes: true,
	toolChoice: true,
	parallelToolCalls: true,
	outputSchema: true,
	reasoningEffort: true,
	warnContextPct: true,
	countTokensFn: true,
	emitSteps: true,
	stepDataType: true,
	emitStreamDeltas: true,
	deltaDataType: true,
	emit: true,
	mode: true,
	approved: true,
	asked: true,
	takenIds: true,
	stopAfter: true,
	signal: true,
	context: true,
	onToolThrow: true,
	onMessage: true,
	onToolCall: true,
	onQuestion: true,
	onRestart: true,
	meter: true,
	steer: true,
	maxRetries: true,
	timeouts: true,
} satisfies Record<keyof ChatOptions, true>);

const timeoutNames = Object.keys({
	firstEventMs: true,
	idleMs: true,
	toolMs: true,
	runMs: true,
} satisfies Record<keyof Timeouts, true>);

/** Throws `invalid_request` for an option that there is not, and names the one that was meant. */
export function assertKnownOptions(options: ChatOptions): void {
	assertKnownFields(options, names, { owner: 'options of a run' });
	assertKnownFields(options.timeouts ?? {}, timeoutNames, { owner: 'timeouts' });
}
