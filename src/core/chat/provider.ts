import type { JsonSchema, Tool } from '../tool/index.ts';
import type { ReasoningEffort } from './effort.ts';
import type { Message } from './message.ts';
import type { ChatReply, OnDelta } from './reply.ts';
import type { Timeouts } from './timeouts.ts';
import type { ChatUsage } from './usage.ts';

/** The maker of a model. A provider of your own may be any other text. */
export type Provider = 'anthropic' | 'openai' | 'xai' | 'gemini' | (string & {});

/** A provider: how to tell its models and how to talk to them. */
export interface ProviderRegistration {
	readonly variant: Provider;
	/** Whether a model is this provider's; gets its name in lower case. */
	readonly detect: (model: string) => boolean;
	readonly displayName: string;
	readonly chatFn?: ChatFn;
	readonly chatStreamFn?: ChatStreamFn;
	readonly embedFn?: EmbedFn;
	readonly countTokens?: (messages: readonly Message[], model: string) => number | Promise<number>;
	/** What it can do: `vision`, `audio`, `reasoning`, `contextWindow`, … */
	readonly meta?: ProviderMeta;
	/** Tokens that fit into one of its models, by the model's name; `undefined` if unknown. */
	readonly contextWindow?: (model: string) => number | undefined | Promise<number | undefined>;
	/** What a call of one of its models costs in US dollars; `undefined` if unknown. */
	readonly computePrice?: PriceOf;
	/** What it needs before it can talk: the variable to set, such as `ANTHROPIC_API_KEY`. Errors name it. */
	readonly needs?: string;
	/** Retries of a failed call, where a run does not say; 2. */
	readonly maxRetries?: number;
	/** How long to wait, where a run does not say. */
	readonly timeouts?: Timeouts;
}

/** The price of a call by its tokens, in US dollars. */
export type PriceOf = (
	model: string,
	usage: Pick<ChatUsage, 'inputTokens' | 'outputTokens'>,
) => number | undefined | Promise<number | undefined>;

/** What a provider's models can do, as far as it is known. You may add fields of your own. */
export interface ProviderMeta {
	/** Takes images. */
	readonly vision?: boolean;
	/** Takes audio. */
	readonly audio?: boolean;
	/** Shows its thinking, or can be told how much to think. */
	readonly reasoning?: boolean;
	/** Tokens that its usual models take. For one model, ask the registration's own `contextWindow`. */
	readonly contextWindow?: number;
	readonly [more: string]: unknown;
}

/** The options of a model call, beside the conversation. */
export interface CallOptions {
	readonly signal?: AbortSignal;
	/** The longest reply, in tokens. */
	readonly maxOutputTokens?: number;
	/** The longest reply, in bytes; 8,388,608. A longer one is broken off as `reply_too_large`. */
	readonly maxReplyBytes?: number;
	readonly toolChoice?: ToolChoice;
	/** `false`: at most one call in a reply, where the provider knows how to ask for that. */
	readonly parallelToolCalls?: boolean;
	/** The reply's text is JSON of this schema. */
	readonly outputSchema?: JsonSchema;
	readonly reasoningEffort?: ReasoningEffort;
	/**
	 * Called at every sign of life, so that a model that thinks for long without a word does not count as lost. A caller
	 * that gives this watches the call and retries it by itself, as the loop does: the provider makes one request.
	 */
	readonly onActivity?: () => void;
	/** Retries of a call outside of a run; those of the provider's settings, else none. */
	readonly maxRetries?: number;
	/** How long a call outside of a run may wait; as long as the provider's settings say. */
	readonly timeouts?: Timeouts;
}

/** `auto`, `none`, `required` (any tool), or one tool by name. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** One request, one whole reply. */
export type ChatFn = (
	model: string,
	messages: readonly Message[],
	system?: string,
	tools?: readonly Tool[],
	options?: CallOptions,
) => ChatReply | undefined | Promise<ChatReply | undefined>;

/** One streaming request: deltas in order, then the whole reply. `undefined` means that the stream broke off. */
export type ChatStreamFn = (
	model: string,
	messages: readonly Message[],
	system: string | undefined,
	tools: readonly Tool[] | undefined,
	onDelta: OnDelta,
	options?: CallOptions,
) => ChatReply | undefined | Promise<ChatReply | undefined>;

/** A `ChatFn` of your own, which may give only the text of its reply. */
export type TextChatFn = (
	...args: Parameters<ChatFn>
) => ChatReply | string | undefined | Promise<ChatReply | string | undefined>;

/** The same of a `ChatStreamFn`. */
export type TextChatStreamFn = (
	...args: Parameters<ChatStreamFn>
) => ChatReply | string | undefined | Promise<ChatReply | string | undefined>;

/** One request: one vector a text, in the order of the texts. `chat.embed` makes it again where it fails. */
export type EmbedFn = (
	model: string,
	texts: readonly string[],
	options?: Pick<CallOptions, 'signal'>,
) => Promise<readonly (readonly number[])[]>;
