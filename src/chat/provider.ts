import type { Tool } from '../tool/index.ts';
import type { Message } from './message.ts';
import type { ChatReply, OnDelta } from './reply.ts';

/** Who makes a model. An open set: a provider of your own is any other text. */
export type Provider = 'anthropic' | 'openai' | 'xai' | 'gemini' | (string & {});

/** How to tell a provider's models and how to talk to them (document 003, `ProviderRegistration`). */
export interface ProviderRegistration {
	readonly variant: Provider;
	/** Whether a model, in lower case, is this provider's. */
	readonly detect: (model: string) => boolean;
	readonly displayName: string;
	readonly chatFn?: ChatFn | undefined;
	readonly chatStreamFn?: ChatStreamFn | undefined;
	readonly embedFn?: ((model: string, texts: readonly string[]) => Promise<readonly (readonly number[])[]>) | undefined;
	readonly countTokens?: ((messages: readonly Message[], model: string) => number | Promise<number>) | undefined;
	/** What it can do: `vision`, `audio`, `reasoning`, `contextWindow`, … */
	readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** What a model call may be told beside the conversation. */
export interface CallOptions {
	readonly signal?: AbortSignal | undefined;
	readonly maxOutputTokens?: number | undefined;
	readonly toolChoice?: ToolChoice | undefined;
}

/** `auto`, `none`, `required` (any tool), or one tool by name. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** One request, one whole reply (document 003, `chat-fn`). */
export type ChatFn = (
	model: string,
	messages: readonly Message[],
	system?: string,
	tools?: readonly Tool[],
	options?: CallOptions,
) => ChatReply | undefined | Promise<ChatReply | undefined>;

/** One streaming request: deltas in order, then the whole reply (document 003, `chat-stream-fn`). `undefined` means that the stream broke off. */
export type ChatStreamFn = (
	model: string,
	messages: readonly Message[],
	system: string | undefined,
	tools: readonly Tool[] | undefined,
	onDelta: OnDelta,
	options?: CallOptions,
) => ChatReply | undefined | Promise<ChatReply | undefined>;
