import { createFieldError } from '../base/errors.ts';
import type { JsonSchema, Tool } from '../tool/index.ts';
import type { Message } from './message.ts';
import type { ProviderChoices } from './provider-tool.ts';
import type { ChatReply, ChatUsage, OnDelta } from './reply.ts';

/** The name of a model's provider. Your own provider may have any other name. */
export type Provider = 'anthropic' | 'openai' | 'xai' | 'gemini' | (string & {});

/** A provider: how to recognize its models, and how to talk to them. */
export interface ProviderRegistration {
	readonly variant: Provider;
	/** Whether a model belongs to this provider. Gets the name in lower case. */
	readonly detect: (model: string) => boolean;
	readonly displayName: string;
	readonly chatFn?: ChatFn;
	readonly chatStreamFn?: ChatStreamFn;
	readonly embedFn?: EmbedFn;
	readonly countTokens?: (messages: readonly Message[], model: string) => number | Promise<number>;
	readonly meta?: ProviderMeta;
	/** Returns the context window of a model in tokens, or `undefined` if unknown. */
	readonly contextWindow?: (model: string) => number | undefined | Promise<number | undefined>;
	/** Returns the cost of a call in US dollars, or `undefined` if unknown. */
	readonly computePrice?: PriceOf;
	/** Returns the most that a call may cost, including the provider's own tools. */
	readonly computeMost?: (model: string, call: CallEstimate) => MostCost;
	/** Returns the same provider with your own prices by model name. The `price` setting takes precedence. */
	readonly withPrices?: (prices: ModelPrices) => ProviderRegistration;
	/** Cancels a reply that the provider writes in the background. */
	readonly cancelReply?: (id: string) => Promise<unknown>;
	/** The variable that is missing, such as `ANTHROPIC_API_KEY`. Errors name it. */
	readonly needs?: string;
	/** The retries of a failed call, if the run sets none. The default is 2. */
	readonly maxRetries?: number;
	/** The time limits, if the run sets none. */
	readonly timeouts?: Timeouts;
}

/** A call before it is made. */
export interface CallEstimate extends ProviderChoices {
	readonly cache?: PromptCache;
	/** The estimated tokens of the request. */
	readonly inputTokens: number;
	/** The audio tokens among `inputTokens`, which some models bill at another price. */
	readonly inputAudioTokens?: number;
	/** The maximum number of tokens of the reply. */
	readonly outputTokens: number;
}

/**
 * Waits for replies that a provider writes in the background (docs/costs.md, "Duration"). While a run waits, it has no
 * timer and no open request.
 */
export interface Parking {
	/** When the run began, in milliseconds since 1970. The time limit of the run counts from then. */
	readonly since: number;
	/** Finds the reply that the run was waiting for when its process died. The next request asks for this reply. */
	readonly findBegun: () => BegunReply | undefined;
	/** Stores a reply, unless it is stored. Resolves when it is time to ask for the reply. */
	readonly wait: (reply: BegunReply) => Promise<void>;
}

/** A reply that a provider writes in the background. */
export interface BegunReply {
	/** The model, by the name that the run has for it. */
	readonly model: string;
	/** The provider's id of the reply. */
	readonly id: string;
}

/** The most that a call may cost. */
export interface MostCost {
	/** The maximum number of input tokens, including the tokens that the provider's own tools add. */
	readonly inputTokens: number;
	/** The number of further texts, such as a summary, each as long as the reply. */
	readonly texts?: number;
	/** US dollars. Missing if unknown. */
	readonly usd?: number;
	/** The part of `usd` for other units than tokens: searches, containers, files. */
	readonly unitsUsd?: number;
	/** Names the model, unit, tier, speed or region that has no known price. */
	readonly unpriced?: string;
}

/** The price of a call by its tokens, in US dollars. */
export type PriceOf = (
	model: string,
	usage: Pick<ChatUsage, 'inputTokens' | 'outputTokens'>,
) => number | undefined | Promise<number | undefined>;

/** The known abilities of a provider's models. You may add your own fields. */
export interface ProviderMeta {
	/** Whether the models accept images. */
	readonly vision?: boolean;
	/** Whether the models accept audio. */
	readonly audio?: boolean;
	/** Whether the models show their thinking, or accept an effort. */
	readonly reasoning?: boolean;
	/** Whether the models can hide their thinking. If so, an interrupted reply is also charged for its silent time. */
	readonly hidesThinking?: boolean;
	/** The context window of the usual models in tokens. For a single model, call the registration's `contextWindow`. */
	readonly contextWindow?: number;
	readonly [more: string]: unknown;
}

/** The options of a model call besides the conversation. */
export interface CallOptions extends ProviderChoices {
	readonly signal?: AbortSignal;
	/** The maximum number of tokens of the reply. */
	readonly maxOutputTokens?: number;
	/** The size limit of the reply in bytes. The default is 8,388,608. A longer reply is stopped as `reply_too_large`. */
	readonly maxReplyBytes?: number;
	readonly toolChoice?: ToolChoice;
	/** With `false` a reply has at most one call, if the provider supports that. */
	readonly parallelToolCalls?: boolean;
	/** The schema of the reply, which is then JSON. */
	readonly outputSchema?: JsonSchema;
	readonly reasoningEffort?: ReasoningEffort;
	/** How long the provider keeps the prompt in its cache. The default is in the provider's settings. */
	readonly cache?: PromptCache;
	/** Names the conversation, so that requests with the same beginning reach the same cache. */
	readonly cacheKey?: string;
	/** The id of the call whose result introduced a tool, by the tool's name. Such tools are last in the list. */
	readonly foundBy?: ReadonlyMap<string, string>;
	/**
	 * Called at each sign of activity, so that a model that thinks for long does not count as lost. If it is set, the
	 * provider makes a single request, and the caller watches and retries the call itself, as the loop does. With
	 * `rest`, the caller's timers stop until the promise settles.
	 */
	readonly onActivity?: (rest?: Promise<void>) => void;
	/** Waits for a reply in the background. Without it the provider waits with a timer. */
	readonly parking?: Parking;
	/** The retries of a call outside of a run. The default is a setting of the provider, else 0. */
	readonly maxRetries?: number;
	/** The time limits of a call outside of a run. The default is in the provider's settings. */
	readonly timeouts?: Timeouts;
}

/**
 * A prompt's lifetime in the provider's cache. `auto` selects the cheaper lifetime for the session. `false`: no cache.
 */
export type PromptCache = '5m' | '1h' | 'auto' | false;

/** `auto`, `none`, `required` (any tool), or one tool by name. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** Makes one request and returns the whole reply. */
export type ChatFn = (
	model: string,
	messages: readonly Message[],
	system?: string,
	tools?: readonly Tool[],
	options?: CallOptions,
) => ChatReply | undefined | Promise<ChatReply | undefined>;

/** Makes one streaming request. Passes deltas in order. Returns the whole reply, or `undefined` if it broke off. */
export type ChatStreamFn = (
	model: string,
	messages: readonly Message[],
	system: string | undefined,
	tools: readonly Tool[] | undefined,
	onDelta: OnDelta,
	options?: CallOptions,
) => ChatReply | undefined | Promise<ChatReply | undefined>;

/** Your own `ChatFn`. It can return the text of its reply instead of the reply. */
export type TextChatFn = (
	...args: Parameters<ChatFn>
) => ChatReply | string | undefined | Promise<ChatReply | string | undefined>;

/** Your own `ChatStreamFn`. It can return the text of its reply instead of the reply. */
export type TextChatStreamFn = (
	...args: Parameters<ChatStreamFn>
) => ChatReply | string | undefined | Promise<ChatReply | string | undefined>;

interface EmbedOptions {
	/** The wanted length of the vectors, for models that can shorten them. Providers without such models ignore it. */
	readonly dimensions?: number;
}

/** Makes one request and returns a vector for each text, in order. `onUsage` is called with the reported cost. */
export type EmbedFn = (
	model: string,
	texts: readonly string[],
	options?: Pick<CallOptions, 'signal'> & EmbedOptions & { readonly onUsage?: (usage: ChatUsage) => void },
) => Promise<readonly (readonly number[])[]>;

/** Your price of a model, in US dollars for a million tokens. */
export interface ModelPrice {
	readonly input: number;
	readonly output: number;
	/** Input from a cache. The default is the price of input. */
	readonly cachedInput?: number;
	/** Input that is written to a cache. The default is the price of input. */
	readonly cacheWrite?: number;
	/** US dollars for each unit: `{ web_searches: 0.01 }`. */
	readonly units?: Readonly<Record<string, number>>;
}

/** The prices of models by their names. A name that ends with `*` matches all names with this beginning. */
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

/** Time limits in milliseconds. */
export interface Timeouts {
	/** The limit until the first event. The default is 120,000 for a stream and 600,000 without streaming. */
	readonly firstEventMs?: number;
	/** The limit between two events of a stream, including empty events. The default is 300,000. */
	readonly idleMs?: number;
	/** The limit for each tool. The default is 120,000. */
	readonly toolMs?: number;
	/** The limit for the whole run. The default is 1,800,000. */
	readonly runMs?: number;
}

/** All levels of effort, from the lowest. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** How much a model thinks. A model that lacks the level uses its nearest level, or the higher of two, except `max`. */
export type ReasoningEffort = (typeof reasoningEfforts)[number];

/** Throws `invalid_request` with the list of levels for an unknown level. */
export function assertEffort(effort: ReasoningEffort | undefined): void {
	if (effort === undefined || reasoningEfforts.includes(effort)) return;
	const given = typeof effort === 'string' ? JSON.stringify(String(effort).slice(0, 40)) : typeof effort;
	const message = `expected one of ${reasoningEfforts.join(', ')}, got ${given}. Leave it out and the model decides.`;
	throw createFieldError('invalid_request', 'reasoningEffort', message);
}
