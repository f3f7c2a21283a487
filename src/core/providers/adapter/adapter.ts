import type { CallEstimate, CallOptions, ChatUsage, Message, ProviderMeta } from '../../chat/index.ts';
import type { ProviderChoices } from '../../chat/provider-tool.ts';
import type { Units } from '../../chat/reply.ts';
import type { JsonSchema, ToolForProvider } from '../../tool/index.ts';
import type { Json } from './json.ts';
import type { ReplyBuilder, Terms } from './reply.ts';

/** A tool as a provider sees it, with a name that the provider accepts. */
export interface WireTool {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: JsonSchema;
	readonly provider?: ToolForProvider;
	/** The id of the call whose result introduced the tool into the conversation. */
	readonly foundBy?: string;
}

/** A prepared request: its tool names are aliases, and the name of its model has no prefix. */
export interface ModelRequest
	extends Omit<CallOptions, 'signal' | 'onActivity' | 'foundBy' | 'maxRetries' | 'timeouts'> {
	readonly model: string;
	readonly messages: readonly Message[];
	readonly system?: string;
	readonly tools: readonly WireTool[];
	readonly stream: boolean;
	readonly signal: AbortSignal;
}

export interface ReplyReader {
	readonly event: (event: Json) => void;
	readonly body: (body: Json) => void;
	/** Called when the stream ends: after its last byte, or at `data: [DONE]`. */
	readonly end?: (how: 'eof' | 'done') => void;
	/** Returns the id of an unfinished reply that the provider continues in the background. */
	readonly pending?: () => string | undefined;
	/** Takes up a reply that the provider continues in the background. */
	readonly resume?: (id: string) => void;
}

/** The most that a provider may bill for a request in addition to its tokens and the reply. */
export interface Foreseen extends Terms {
	readonly units?: Units;
	/** The uses of the provider's own tools. After each use the model reads everything again. */
	readonly uses?: number;
	/** The further texts that the model may write, each as long as the reply. */
	readonly texts?: number;
}

/** How to ask a provider, and how to read its answers. */
export interface Adapter {
	readonly variant: string;
	readonly displayName: string;
	readonly detect: (model: string) => boolean;
	/** The prefix of model names, which is not sent. */
	readonly prefix?: string;
	/** The variable that holds the key in a Worker, for error messages. */
	readonly keyName?: string;
	/** Whether the provider needs the key. The default is `true`. */
	readonly needsKey?: boolean;
	/** The missing setting. Without it the provider only recognizes its models. */
	readonly needs?: string;
	readonly meta: ProviderMeta;
	/** Converts an agent's choices to fields of a request's body. Throws `invalid_request` for an unknown tool. */
	readonly choose?: (choices: ProviderChoices) => Json;
	/** Returns the most that a provider may bill for a request with these fields, besides its tokens and the reply. */
	readonly foresee?: (fields: Json, model: string, call: CallEstimate) => Foreseen;
	/** Sends the request with more fields in its body. Resolves to a successful response. Throws what the SDK throws. */
	readonly send: (request: ModelRequest, more: Json) => Promise<Response>;
	readonly reader: (reply: ReplyBuilder, request: ModelRequest) => ReplyReader;
	/** Replies that the provider continues in the background, by id. */
	readonly background?: {
		readonly get: (id: string, signal: AbortSignal) => Promise<Response>;
		readonly cancel: (id: string) => Promise<unknown>;
	};
	readonly embed?: Embed;
	readonly countTokens?: (request: ModelRequest) => Promise<number>;
}

export type Embed = (
	model: string,
	texts: readonly string[],
	signal: AbortSignal,
	onUsage: (usage: ChatUsage) => void,
	dimensions?: number,
) => Promise<readonly (readonly number[])[]>;
