import type { AskedCall, CallOptions, ChatUsage, Message, ProviderMeta, ToolChoice } from '../../chat/index.ts';
import type { ProviderChoices } from '../../chat/provider-tool.ts';
import type { JsonSchema, ToolForProvider } from '../../tool/index.ts';
import type { Foreseen } from './foresee.ts';
import type { Json } from './json.ts';
import type { ReplyBuilder } from './reply.ts';

/** A tool as a provider sees it, with a name that the provider accepts. */
export interface WireTool {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: JsonSchema;
	readonly provider?: ToolForProvider;
	/** The id of the call whose result brought it into the conversation. */
	readonly foundBy?: string;
}

/** A prepared request: names are aliases, and the model has no prefix. */
export interface ModelRequest extends ProviderChoices {
	readonly model: string;
	readonly messages: readonly Message[];
	readonly system: string | undefined;
	readonly tools: readonly WireTool[];
	readonly toolChoice: ToolChoice | undefined;
	readonly parallelToolCalls: boolean | undefined;
	readonly maxOutputTokens: number | undefined;
	/** The most bytes of a reply. */
	readonly maxReplyBytes: number | undefined;
	readonly outputSchema: JsonSchema | undefined;
	readonly reasoningEffort: CallOptions['reasoningEffort'];
	readonly cache: CallOptions['cache'];
	readonly cacheKey: string | undefined;
	readonly stream: boolean;
	readonly signal: AbortSignal;
}

/** Reads an answer into a reply builder. */
export interface ReplyReader {
	/** Reads one event of a stream. Returns a promise if the reader of the run is slower. */
	readonly event: (event: Json) => undefined | Promise<void>;
	/** Reads a whole answer. */
	readonly body: (body: Json) => undefined | Promise<void>;
	/** Called when the stream ends: at its end, or at `data: [DONE]`. */
	readonly end?: (how: 'eof' | 'done') => void;
	/** The id of a reply that the provider goes on with in the background. Missing once it has ended. */
	readonly pending?: () => string | undefined;
}

/** An adapter: how to ask a provider and how to read its answers. */
export interface Adapter {
	readonly variant: string;
	readonly displayName: string;
	readonly detect: (model: string) => boolean;
	/** The prefix of model names, which is not sent. */
	readonly prefix?: string;
	/** The variable that holds the key in a Worker, for error messages. */
	readonly keyName?: string;
	/** Whether it needs that key. The default is `true`. */
	readonly needsKey?: boolean;
	/** What is missing before it can answer. Until then it only knows its models. */
	readonly needs?: string;
	readonly meta: ProviderMeta;
	/**
	 * Converts what an agent chooses of what the provider offers to fields of a request's body. Throws `invalid_request` for
	 * a tool that the provider does not have.
	 */
	readonly choose?: (choices: ProviderChoices) => Json;
	/** Returns what a request with these fields in its body may bill besides its tokens and the reply. */
	readonly foresee?: (fields: Json, model: string, asked: AskedCall) => Foreseen;
	/**
	 * Sends the request, with more fields in its body: what `choose` returned, and the settings' own. Resolves to a
	 * successful response. Throws what the SDK throws.
	 */
	readonly send: (request: ModelRequest, more: Json) => Promise<Response>;
	readonly reader: (reply: ReplyBuilder, request: ModelRequest) => ReplyReader;
	/** Replies that the provider goes on with in the background, by their ids. */
	readonly background?: {
		/** Asks for a reply, as far as it is. */
		readonly get: (id: string, signal: AbortSignal) => Promise<Response>;
		/** Ends a reply that nobody waits for. */
		readonly cancel: (id: string) => Promise<unknown>;
	};
	readonly embed?:
		| ((
				model: string,
				texts: readonly string[],
				signal: AbortSignal,
				onUsage: (usage: ChatUsage) => void,
		  ) => Promise<readonly (readonly number[])[]>)
		| undefined;
	readonly countTokens?: (request: ModelRequest) => Promise<number>;
}
