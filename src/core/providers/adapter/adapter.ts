import type { CallOptions, Message, ProviderMeta, ToolChoice } from '../../chat/index.ts';
import type { JsonSchema } from '../../tool/index.ts';
import type { Json } from './json.ts';
import type { ReplyBuilder } from './reply.ts';

/** A tool as a provider sees it: its name is safe on the wire. */
export interface WireTool {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: JsonSchema;
}

/** One request, prepared: names are aliases already, and the model has no prefix. */
export interface ModelRequest {
	readonly model: string;
	readonly messages: readonly Message[];
	readonly system: string | undefined;
	readonly tools: readonly WireTool[];
	readonly toolChoice: ToolChoice | undefined;
	readonly parallelToolCalls: boolean | undefined;
	readonly maxOutputTokens: number | undefined;
	/** The longest reply, in bytes. */
	readonly maxReplyBytes: number | undefined;
	readonly outputSchema: JsonSchema | undefined;
	readonly reasoningEffort: CallOptions['reasoningEffort'];
	readonly stream: boolean;
	readonly signal: AbortSignal;
}

/** Reads one answer into its reply builder. */
export interface ReplyReader {
	/** One event of a stream. A promise means that the reader of the run is behind. */
	readonly event: (event: Json) => undefined | Promise<void>;
	/** A whole answer. */
	readonly body: (body: Json) => undefined | Promise<void>;
	/** The stream ended, without an end or with `data: [DONE]`. */
	readonly end?: (how: 'eof' | 'done') => void;
}

/** What an adapter writes: how a provider is asked, and how its answers are read. */
export interface Adapter {
	readonly variant: string;
	readonly displayName: string;
	readonly detect: (model: string) => boolean;
	/** In front of a model's name, for Runlet only. */
	readonly prefix?: string;
	/** The variable that holds the key in a Worker, for remedies. */
	readonly keyName?: string;
	/** What is missing for it to talk, where something is; it then only knows its models. */
	readonly needs?: string;
	readonly meta: ProviderMeta;
	/** Makes the request. Resolves to a success; throws what the SDK throws. */
	readonly send: (request: ModelRequest) => Promise<Response>;
	readonly reader: (reply: ReplyBuilder, request: ModelRequest) => ReplyReader;
	readonly embed?:
		| ((model: string, texts: readonly string[], signal: AbortSignal) => Promise<readonly (readonly number[])[]>)
		| undefined;
	readonly countTokens?: (request: ModelRequest) => Promise<number>;
}
