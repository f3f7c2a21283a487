import type { Actor } from '../base/actor.ts';
import { assertKnownFields } from '../base/check.ts';
import { createFieldError } from '../base/errors.ts';
import type { Skill, SkillContext, SkillResolver } from '../skill/index.ts';
import type {
	AnyFn,
	AnySchema,
	JsonSchema,
	StateChanges,
	StateStore,
	Tool,
	ToolCall,
	ToolContext,
	ToolEntries,
} from '../tool/index.ts';
import { noEnv } from '../tool/tool.ts';
import type { AnswerTo, Question, SideEvent } from './event.ts';
import type { Fence } from './fence.ts';
import type { CallSecrets, CheckFlow } from './flow.ts';
import type { Message } from './message.ts';
import type { Meter } from './meter.ts';
import type { CacheMiss, PromptRecord } from './prompt-record.ts';
import type {
	Parking,
	PromptCache,
	ProviderRegistration,
	ReasoningEffort,
	TextChatFn,
	TextChatStreamFn,
	Timeouts,
	ToolChoice,
} from './provider.ts';
import type { ProviderChoices } from './provider-tool.ts';
import type { Recall } from './recall.ts';
import type { ChatUsage, StopReason } from './reply.ts';

export function readAskedBy({ askedBy }: Pick<RunContext, 'askedBy'>): Actor | undefined {
	return typeof askedBy === 'function' ? askedBy() : askedBy;
}

/** The context of a run's tools. */
export interface RunContext
	extends Partial<
		Pick<
			ToolContext,
			| 'sessionId'
			| 'runId'
			| 'owner'
			| 'user'
			| 'metadata'
			| 'skillContext'
			| 'env'
			| 'workspace'
			| 'shell'
			| 'fetch'
			| 'web'
			| 'wakeups'
		>
	> {
	/** The sender of the newest message, or a function that returns the sender at each call. */
	readonly askedBy?: Actor | (() => Actor | undefined);
	/** Creates the idempotency key of a call. The default is a random key. */
	readonly createKey?: (callId: string) => string;
	/** Creates the header `traceparent` of a call. By default a call has none. */
	readonly createTraceparent?: (callId: string) => string;
	/** The state of the session. Without this field the state lasts only for this run. */
	readonly state?: StateStore;
}

/** The context of a function that writes the system prompt. */
export interface SystemContext
	extends Partial<Pick<ToolContext, 'sessionId' | 'runId' | 'owner' | 'user' | 'askedBy'>> {
	readonly env: ToolContext['env'];
	readonly skillContext: ToolContext['skillContext'];
	/** The metadata that the session was created with. */
	readonly metadata: Readonly<Record<string, string>>;
}

/** A system prompt, or a function that writes it before each turn. */
export type SystemPrompt = string | ((about: SystemContext) => string | undefined | Promise<string | undefined>);

/**
 * Returns the system prompt: the text, or its function's result. Throws `invalid_request` if the result is not a text.
 */
export async function writeSystem(
	system: SystemPrompt | undefined,
	context: RunContext = {},
): Promise<string | undefined> {
	if (typeof system !== 'function') return system;
	const { sessionId, runId, owner, user, env = noEnv, metadata = {}, skillContext = {} } = context;
	const askedBy = readAskedBy(context);
	const text: unknown = await system({ sessionId, runId, owner, user, askedBy, env, metadata, skillContext });
	if (text === undefined || typeof text === 'string') return text;
	throw createFieldError('invalid_request', 'system', `its function gave a ${typeof text}. Let it return a text.`);
}

/** The model turn that produced an assistant message. */
export interface Turn {
	/** The number of the turn in the run, from 1. */
	readonly iteration: number;
	readonly model: string;
	readonly stopReason: StopReason;
	readonly usage: ChatUsage;
	/** The milliseconds from the request to its first delta. Missing if the reply was not streamed. */
	readonly firstMs?: number;
	/** The number of failed requests before this reply. Missing if there were none. */
	readonly retries?: number;
	/** Why fewer tokens came from the provider's cache than the previous request contained. */
	readonly cacheMiss?: CacheMiss;
	/** Inputs whose streamed text differs from `JSON.stringify`, by call id. */
	readonly streamedInputs?: Readonly<Record<string, string>>;
	/** The lengths of the thinking and the text in turns, if the model thought again after it wrote text. */
	readonly pieces?: readonly number[];
}

/** The name and the attributes of a span, by the conventions of OpenTelemetry. */
export interface SpanOfWork {
	readonly name: string;
	readonly attributes: Readonly<Record<string, string>>;
}

/** Does work within a span of the host's tracing. Calls `work` once and returns its result. */
export type InSpan = <T>(span: SpanOfWork, work: () => Promise<T>) => Promise<T>;

/** Offers only these tools to a turn, which must call one of them. */
export interface OneOfTools {
	readonly oneOf: readonly string[];
}

/** Facts about a message, for a store that replays the run later. */
export interface MessageContext {
	/** Only for an assistant message: the model turn. */
	readonly turn?: Turn;
	/** The notes and warnings since the previous message, in order. */
	readonly before: readonly SideEvent[];
	/** Only for a summary: how many messages follow it in the history. These messages were passed or stored earlier. */
	readonly inFrontOf?: number;
	/** Only for a summary: its cost, which counts in the usage of the run but not in the usage of a turn. */
	readonly usage?: ChatUsage;
	/** Only for an assistant message: the cost of its own request. `turn.usage` also counts failed attempts. */
	readonly spent?: ChatUsage;
	/** Only for an assistant message: the milliseconds without a delta, in which the model may have thought. */
	readonly silentMs?: number;
	/** Only for an assistant message: the `lastPrompt` of the next run. */
	readonly prompt?: PromptRecord;
	/** Only for an assistant message: the system prompt and the tools of its request. */
	readonly sent?: { readonly system?: string; readonly tools?: readonly Tool[] };
	/** Only for an assistant message: whether all its calls are safe to run again after a crash (`retry: 'safe'`). */
	readonly isRepeatable?: boolean;
	/** Why the run stops, if this result's tool stops it. */
	readonly haltedReason?: string;
	/** The state changes of the call. Store them together with the result. */
	readonly changes?: StateChanges;
}

/** The decisions and answers of people about an open call. */
export interface OpenCallState {
	/** Whether a person approved the call. It runs although its tool needs approval. */
	readonly isApproved?: boolean;
	/** The arguments that replace the model's arguments of the call. */
	readonly input?: Readonly<Record<string, unknown>>;
	/** The question that the call has asked. Without an answer the call does not run again. */
	readonly question?: Question;
	/** The answer for the tool (`onAnswer`), with `resume` from the run result's `metadata.answerTo`. */
	readonly answer?: { readonly text: string; readonly resume: unknown };
}

/** Warns the readers of a run. */
export type Warn = (code: string, message: string) => void;

/** The options of a run. Only `model` is required. */
export interface ChatOptions extends ProviderChoices {
	readonly model: string;
	/** Calls the model without streaming. Used instead of `providers`. Returns a reply, or only its text. */
	readonly chatFn?: TextChatFn;
	/** Calls the model with streaming. Used instead of `providers`. Returns the reply, or only its text. */
	readonly chatStreamFn?: TextChatStreamFn;
	/** The providers of the models. If two entries fit a model, the later entry is used. */
	readonly providers?: readonly ProviderRegistration[];
	/** Further models. They are asked in order if a model cannot be reached or breaks off. */
	readonly fallbacks?: readonly string[];
	readonly system?: SystemPrompt;
	/** Functions and records, or a toolbox. */
	readonly tools?: ToolEntries;
	/**
	 * Returns further tools. Called before each turn, so it should return the same list until the tools change. An error
	 * here ends the run. A duplicate name is an error, as in `tools`. Calls of `warn` reach the readers of the run.
	 */
	readonly loadTools?: (warn: Warn) => readonly Tool[] | Promise<readonly Tool[]>;
	readonly skills?: readonly (AnyFn | Skill)[];
	readonly skillResolver?: SkillResolver;
	/** Tools that are offered after the model read a skill that names them in `allowed-tools`. */
	readonly skillTools?: ToolEntries;
	/** Facts about the turn for `apply_skill`, or a function that returns them. They override the model's facts. */
	readonly skillContext?: SkillContext | (() => SkillContext);
	/**
	 * Returns a text to send before the newest user message, such as memories about the person. Gets the text of the
	 * message. Called once, before the first turn. An error here becomes a `warning`.
	 */
	readonly recall?: Recall;
	/** The maximum number of model turns of a run. The default is 10. */
	readonly maxIterations?: number;
	/** The maximum number of tool calls of a run. The default is 200. The result of a further call reports the limit. */
	readonly maxToolCalls?: number;
	/** How many calls of a turn can run at a time. The default is 10. Calls begin in the order of the reply. */
	readonly maxParallelToolCalls?: number;
	/** The tool limit of a request. The default is 40. With more tools, the model finds them with `search_tools`. */
	readonly maxSentTools?: number;
	/**
	 * The token limit for all tools of a request together. With larger tools, the model finds them with `search_tools`.
	 * The default is a tenth of the context window, from 4,000 to 20,000.
	 */
	readonly maxToolTokens?: number;
	readonly maxContextTokens?: number;
	/**
	 * The treatment of a conversation over the context limit of the options or of the provider. `fail` (the
	 * default): the run fails with `context_overflow`. `truncate`: requests leave out the oldest part. `compact`:
	 * the model summarizes the oldest part. The summary is added to the history and sent instead of this part. The
	 * part begins and ends at a user message. The newest user message, everything after it, and system messages are
	 * always sent. The result's `messages` keep everything. A `warning` counts the messages that are no longer sent.
	 */
	readonly contextFull?: 'fail' | 'truncate' | 'compact';
	/**
	 * The treatment of older tool results. `refer` (the default): if this costs less, or if the request would not fit,
	 * only their beginnings are sent, and the model opens them with `read_result`. `keep`: whole results are sent.
	 */
	readonly oldResults?: 'refer' | 'keep';
	/** The model's context window, or a function that returns it. It is the limit if `maxContextTokens` is missing. */
	readonly modelContextWindow?: number | ProviderRegistration['contextWindow'];
	readonly maxOutputTokens?: number;
	/**
	 * The size limit of a turn's reply in bytes: text, thinking and calls together. The default is 8,388,608. A longer
	 * reply is stopped, and the run fails with `reply_too_large`.
	 */
	readonly maxReplyBytes?: number;
	/** The tool choice of the turn that answers a message. After tool results the model is free to choose. */
	readonly toolChoice?: ToolChoice | OneOfTools;
	/** With `false`, only one call of a turn can wait for a person or a client. Other waiting calls are not run. */
	readonly parallelToolCalls?: boolean;
	/**
	 * The schema of the final reply, which is then JSON. The schema is JSON Schema, or a schema of valibot, Zod or
	 * the like. The model gets the mistakes of an invalid reply and answers again, at most twice. Then the run
	 * fails with `invalid_output`. The result has the value as `output`.
	 */
	readonly outputSchema?: JsonSchema | AnySchema;
	/** How much the model thinks. The default is the model's own. */
	readonly reasoningEffort?: ReasoningEffort;
	/**
	 * How long the provider keeps the prompt in its cache (docs/models.md). The default is in the provider's settings.
	 */
	readonly cache?: PromptCache;
	/** Names the conversation for the caches of providers. Hash it, so that it identifies no person. */
	readonly cacheKey?: string;
	/** Waits for replies in the background. Without it the provider waits with a timer. */
	readonly parking?: Parking;
	/** The record of the newest request of the conversation. It explains why a cache missed. */
	readonly lastPrompt?: PromptRecord;
	/** The share of the context limit at which a `warning` is emitted. The default is 0.8. */
	readonly warnContextPct?: number;
	readonly countTokensFn?: (messages: readonly Message[], model: string) => number | Promise<number>;
	/** Whether to pass each step to `emit`. */
	readonly emitSteps?: boolean;
	readonly stepDataType?: string;
	/** Whether to pass each delta to `emit`. */
	readonly emitStreamDeltas?: boolean;
	readonly deltaDataType?: string;
	/** Receives the steps and the deltas. Its errors are ignored. */
	readonly emit?: (type: string, data: unknown) => unknown;
	/** With `manual` the run stops before any tool runs, and the caller answers every call. */
	readonly mode?: 'auto' | 'manual';
	/** The decisions and answers of people about open calls, by call id. */
	readonly openCalls?: ReadonlyMap<string, OpenCallState>;
	/** The call ids that are already used. A new call with a used id gets a suffix. */
	readonly takenIds?: ReadonlySet<string>;
	/** After this number of model turns and their calls, the run stops as `awaiting_tools`, without any open call. */
	readonly stopAfter?: number;
	readonly signal?: AbortSignal;
	/** The context of the tools. */
	readonly context?: RunContext;
	/** Receives an error of a tool's function with its stack. The model gets only the message. Must not throw. */
	readonly onToolThrow?: (tool: string, thrown: unknown) => void;
	/** Returns the stack of a tool's error for the event `tool_stack`, on a developer's own machine. Must not throw. */
	readonly showThrown?: (thrown: unknown) => string | undefined;
	/** Does each request to a model and each call of a tool within a span. By default there are no spans. */
	readonly inSpan?: InSpan;
	/** Secrets that must not be in the arguments of a call. By default there are none. */
	readonly secrets?: CallSecrets;
	/** Decides about calls that send something out. By default all may run. */
	readonly checkFlow?: CheckFlow;
	/** Marks results that strangers may have written, for the model. By default none is marked. */
	readonly fence?: Fence;
	/** Stores a message before the next step of the run begins. An error here ends the run. */
	readonly onMessage?: (message: Message, about: MessageContext) => void | Promise<void>;
	/** Called before a tool runs a call. An error here ends the run. */
	readonly onToolCall?: (call: ToolCall, tool: Tool) => void | Promise<void>;
	/** Called with a call's question, the call's state changes, and the `resume` data. An error here ends the run. */
	readonly onQuestion?: (
		question: Question,
		call: ToolCall,
		changes: StateChanges,
		answerTo?: AnswerTo,
	) => void | Promise<void>;
	/** Called before a partly shown turn restarts. `repeated` has the notes and warnings of the turn. */
	readonly onRestart?: (iteration: number, repeated: readonly SideEvent[]) => void | Promise<void>;
	/** Accounts for the cost of each request. */
	readonly meter?: Meter;
	/** Returns stored messages that arrived during the run. The model gets them with its next turn. */
	readonly steer?: () => readonly Message[];
	/** The retries of a model call after a failure that may be temporary. The default is 2. */
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
	loadTools: true,
	skills: true,
	skillResolver: true,
	skillTools: true,
	skillContext: true,
	recall: true,
	maxIterations: true,
	maxToolCalls: true,
	maxParallelToolCalls: true,
	maxSentTools: true,
	maxToolTokens: true,
	maxContextTokens: true,
	contextFull: true,
	oldResults: true,
	modelContextWindow: true,
	maxOutputTokens: true,
	maxReplyBytes: true,
	toolChoice: true,
	parallelToolCalls: true,
	outputSchema: true,
	reasoningEffort: true,
	providerTools: true,
	serviceTier: true,
	speed: true,
	region: true,
	providerContext: true,
	endUser: true,
	background: true,
	parking: true,
	cache: true,
	cacheKey: true,
	lastPrompt: true,
	warnContextPct: true,
	countTokensFn: true,
	emitSteps: true,
	stepDataType: true,
	emitStreamDeltas: true,
	deltaDataType: true,
	emit: true,
	mode: true,
	openCalls: true,
	takenIds: true,
	stopAfter: true,
	signal: true,
	context: true,
	onToolThrow: true,
	showThrown: true,
	inSpan: true,
	secrets: true,
	checkFlow: true,
	fence: true,
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

/** Throws `invalid_request` for an unknown option, and suggests the most similar option. */
export function assertKnownOptions(options: ChatOptions): void {
	assertKnownFields(options, names, { owner: 'options of a run' });
	assertKnownFields(options.timeouts ?? {}, timeoutNames, { owner: 'timeouts' });
}
