import type { JsonSchema, ProviderRegistration } from '../../../../src/core/index.ts';

/** A key that no error may show. */
export const secretKey = 'sk-secret-0123456789abcdef';

/** The settings of a provider in a test. */
export interface Settings {
	readonly maxRetries?: number;
	readonly timeouts?: { readonly firstEventMs?: number; readonly idleMs?: number };
}

/** A reply in a neutral form. `usage` counts all input and all output, as Runlet does. */
export interface NeutralReply {
	readonly reasoning?: string;
	readonly text?: string;
	readonly calls?: readonly NeutralCall[];
	readonly stop: 'end_turn' | 'tool_use' | 'max_tokens' | 'stop_sequence' | 'refusal';
	readonly usage?: NeutralUsage;
}

export interface NeutralCall {
	readonly id: string;
	/** The name on the wire. */
	readonly name: string;
	readonly argumentsJson: string;
}

export interface NeutralUsage {
	readonly input: number;
	readonly output: number;
	readonly cached?: number;
	readonly reasoning?: number;
}

export type Fault = 'rate_limit' | 'quota' | 'overloaded' | 'auth' | 'not_found' | 'context' | 'too_large' | 'filter';

/** A request in a neutral form. Reading fails if the API would refuse the request. */
export interface WireRequest {
	readonly model: string;
	readonly stream: boolean;
	readonly system: string | undefined;
	readonly maxOutputTokens: number | undefined;
	readonly toolChoice: 'auto' | 'none' | 'required' | { readonly name: string } | undefined;
	readonly tools: readonly { readonly name: string; readonly description?: string; readonly schema: unknown }[];
	readonly turns: readonly WireTurn[];
	readonly outputSchema: unknown;
	/** `none` if thinking is off. Another word or a number of tokens if thinking is on. */
	readonly effort: string | number | undefined;
}

export interface WireTurn {
	readonly role: 'user' | 'assistant';
	readonly parts: readonly WirePart[];
}

export type WirePart =
	| { readonly kind: 'text'; readonly text: string }
	| WireMedia
	| { readonly kind: 'call'; readonly id: string | undefined; readonly name: string; readonly input: unknown }
	| WireResult
	/** A part that only this provider understands. */
	| { readonly kind: 'own'; readonly value: unknown };

export interface WireMedia {
	readonly kind: 'image' | 'file' | 'audio';
	readonly url?: string;
	readonly data?: string;
	readonly mime?: string;
}

export interface WireResult {
	readonly kind: 'result';
	readonly id: string | undefined;
	readonly name?: string;
	readonly text: string;
	readonly isError?: boolean;
	readonly media: readonly WireMedia[];
}

/** A reply whose own parts must be sent back unchanged. */
export interface Memory {
	readonly name: string;
	/** Creates the provider, if the dialect's own function is not used. */
	readonly provider?: (baseURL: string) => ProviderRegistration;
	readonly model?: string;
	readonly events: readonly string[];
	readonly body: unknown;
	/** Reads the parts of the assistant's turn that arrived at the server. */
	readonly sent: (body: unknown) => unknown;
	readonly expected: unknown;
	/** Texts that no other provider may get. */
	readonly secrets: readonly string[];
}

/** A named stream and body with its own meaning. */
export interface Variant {
	readonly name: string;
	readonly events: readonly string[];
	readonly body: unknown;
}

/** A provider's API from the server's side. */
export interface Dialect {
	readonly name: string;
	readonly model: string;
	/** The model's name on the wire. */
	readonly wireModel: string;
	provider(baseURL: string, settings?: Settings): ProviderRegistration;
	/** The paths of a streaming and of a whole request. */
	readonly paths: { readonly stream: string; readonly whole: string };
	/** The headers with the key. The list is empty without a key. */
	readonly keys: readonly (readonly [header: string, value: string])[];
	/** Creates the SSE events of a reply. The last `ending` events complete it. */
	events(reply: NeutralReply): string[];
	readonly ending: number;
	/** Creates the whole reply. */
	body(reply: NeutralReply): unknown;
	/** Creates an error in the middle of a stream. */
	errorEvent(kind: 'overloaded' | 'rate_limit'): string;
	/** Creates the body of a failed request, or `undefined` if the API has no such failure. */
	errorBody(kind: Fault, message?: string): { readonly status: number; readonly body: unknown } | undefined;
	/** The codes of failures that differ from the usual codes. */
	readonly codes?: Readonly<Partial<Record<Fault, readonly string[]>>>;
	/** Unknown events between the known events. */
	readonly unknownEvents: readonly string[];
	/** Filtered or refused answers, which are replies. */
	readonly refusals: readonly Variant[];
	readonly memories: readonly Memory[];
	readRequest(body: unknown, path: string): WireRequest;
	readonly can: {
		readonly reasoning: boolean;
		readonly stopSequence: boolean;
		/** Whether the API reports the cost at the start of a stream or with each piece. */
		readonly earlyUsage: boolean;
		/** Whether the API reports the cost of reasoning. */
		readonly reasoningUsage: boolean;
		/** Whether calls have ids. */
		readonly callIds: boolean;
		/** Whether the arguments of a call are streamed as text, which may be cut or invalid. */
		readonly textArguments: boolean;
		readonly audio: boolean;
		/** Whether the API accepts PDF files. */
		readonly files: boolean;
		/** Whether the API accepts images within a tool's result. */
		readonly resultImages: boolean;
		readonly errorResults: boolean;
		/** Whether the API sends headers with the time of a retry. */
		readonly retryAfter: boolean;
		/** Whether the API marks the end of a stream on the wire. */
		readonly endsItself: boolean;
	};
}

/** Formats a data line with the name of its event. */
export function sse(data: unknown, event?: string): string {
	const text = typeof data === 'string' ? data : JSON.stringify(data);
	return event === undefined ? `data: ${text}\n\n` : `event: ${event}\ndata: ${text}\n\n`;
}

/** Splits a text into pieces of whole characters. */
export function pieces(text: string, size = 7): string[] {
	const characters = [...text];
	const found: string[] = [];
	for (let at = 0; at < characters.length; at += size) found.push(characters.slice(at, at + size).join(''));
	return found;
}

export const usualUsage: NeutralUsage = { input: 100, output: 40, cached: 25, reasoning: 12 };

/** Splits a `data:` URL. */
export function fromDataUrl(url: string): Pick<WireMedia, 'url' | 'data' | 'mime'> {
	const [, mime, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
	return mime === undefined || data === undefined ? { url } : { mime, data };
}

export const citySchema = {
	type: 'object',
	properties: { city: { type: 'string' } },
	required: ['city'],
	additionalProperties: false,
} satisfies JsonSchema;
