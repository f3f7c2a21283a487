import type { JsonSchema, ProviderRegistration } from '../../../../src/core/index.ts';

/** A key that no error may show. */
export const secretKey = 'sk-secret-0123456789abcdef';

/** What a test tells a provider beside its address. */
export interface Settings {
	readonly maxRetries?: number;
	readonly timeouts?: { readonly firstEventMs?: number; readonly idleMs?: number };
}

/** A reply in nobody's words. `usage` counts as Runlet does: all input, all output. */
export interface NeutralReply {
	readonly reasoning?: string;
	readonly text?: string;
	readonly calls?: readonly NeutralCall[];
	readonly stop: 'end_turn' | 'tool_use' | 'max_tokens' | 'stop_sequence' | 'refusal';
	readonly usage?: NeutralUsage;
}

export interface NeutralCall {
	readonly id: string;
	/** As it stands on the wire. */
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

/** A request as the API understands it, in nobody's words. Reading one fails where the API would refuse it. */
export interface Heard {
	readonly model: string;
	readonly stream: boolean;
	readonly system: string | undefined;
	readonly maxOutputTokens: number | undefined;
	readonly toolChoice: 'auto' | 'none' | 'required' | { readonly name: string } | undefined;
	readonly tools: readonly { readonly name: string; readonly description?: string; readonly schema: unknown }[];
	readonly turns: readonly HeardTurn[];
	readonly outputSchema: unknown;
	/** `none` where thinking is said to be off, another word or a number of tokens where it is on. */
	readonly effort: string | number | undefined;
}

export interface HeardTurn {
	readonly role: 'user' | 'assistant';
	readonly parts: readonly HeardPart[];
}

export type HeardPart =
	| { readonly kind: 'text'; readonly text: string }
	| HeardMedia
	| { readonly kind: 'call'; readonly id: string | undefined; readonly name: string; readonly input: unknown }
	| HeardResult
	/** What only this provider understands. */
	| { readonly kind: 'own'; readonly value: unknown };

export interface HeardMedia {
	readonly kind: 'image' | 'file' | 'audio';
	readonly url?: string;
	readonly data?: string;
	readonly mime?: string;
}

export interface HeardResult {
	readonly kind: 'result';
	readonly id: string | undefined;
	readonly name?: string;
	readonly text: string;
	readonly isError?: boolean;
	readonly media: readonly HeardMedia[];
}

/** A reply whose own parts have to come back unchanged, and how to find them in the next request. */
export interface Memory {
	readonly name: string;
	/** Where another provider function than the dialect's own is meant. */
	readonly provider?: (baseURL: string) => ProviderRegistration;
	readonly model?: string;
	readonly events: readonly string[];
	readonly body: unknown;
	/** What of the assistant's turn arrived at the server. */
	readonly sent: (body: unknown) => unknown;
	readonly expected: unknown;
	/** What no other provider may be sent. */
	readonly secrets: readonly string[];
}

/** A piece of a stream, or a body, that means something by itself, under a name. */
export interface Variant {
	readonly name: string;
	readonly events: readonly string[];
	readonly body: unknown;
}

/** What a provider's API looks like from the other side. */
export interface Dialect {
	readonly name: string;
	readonly model: string;
	/** The model as the API is told it. */
	readonly wireModel: string;
	provider(baseURL: string, settings?: Settings): ProviderRegistration;
	/** The paths of a streaming and of a whole request. */
	readonly paths: { readonly stream: string; readonly whole: string };
	/** Where the key may stand, and in what form; none where there is no key. */
	readonly keys: readonly (readonly [header: string, value: string])[];
	/** The SSE events of a reply, each with its blank line; the last `ending` of them say that it is whole. */
	events(reply: NeutralReply): string[];
	readonly ending: number;
	/** The same reply, whole. */
	body(reply: NeutralReply): unknown;
	/** An error in the middle of a stream. */
	errorEvent(kind: 'overloaded' | 'rate_limit'): string;
	/** The body of a failed request; `undefined` where the API has no such failure. */
	errorBody(kind: Fault, message?: string): { readonly status: number; readonly body: unknown } | undefined;
	/** Codes of failures that may be told otherwise here. */
	readonly codes?: Readonly<Partial<Record<Fault, readonly string[]>>>;
	/** Events that this version cannot know, to stand between the known ones. */
	readonly unknownEvents: readonly string[];
	/** Answers that were filtered or refused: replies all the same. */
	readonly refusals: readonly Variant[];
	readonly memories: readonly Memory[];
	hear(body: unknown, path: string): Heard;
	readonly can: {
		readonly reasoning: boolean;
		readonly stopSequence: boolean;
		/** Says at the start of a stream, or with each piece, what it cost so far. */
		readonly earlyUsage: boolean;
		/** Says what the reasoning cost. */
		readonly reasoningUsage: boolean;
		/** Gives a call an id. */
		readonly callIds: boolean;
		/** Streams a call's arguments as text, so they can be cut or be no JSON. */
		readonly textArguments: boolean;
		readonly audio: boolean;
		/** Takes PDF files. */
		readonly files: boolean;
		/** Takes images inside a tool's result. */
		readonly resultImages: boolean;
		readonly errorResults: boolean;
		/** Sends headers that say when to come again. */
		readonly retryAfter: boolean;
		/** Says on the wire that nothing follows, so a connection kept open need not be waited for. */
		readonly endsItself: boolean;
	};
}

/** A data line with its event's name where the API gives one. */
export function sse(data: unknown, event?: string): string {
	const text = typeof data === 'string' ? data : JSON.stringify(data);
	return event === undefined ? `data: ${text}\n\n` : `event: ${event}\ndata: ${text}\n\n`;
}

/** A text in pieces, none of them in two halves of a character. */
export function pieces(text: string, size = 7): string[] {
	const characters = [...text];
	const found: string[] = [];
	for (let at = 0; at < characters.length; at += size) found.push(characters.slice(at, at + size).join(''));
	return found;
}

export const usualUsage: NeutralUsage = { input: 100, output: 40, cached: 25, reasoning: 12 };

/** A `data:` URL in its two halves. */
export function fromDataUrl(url: string): Pick<HeardMedia, 'url' | 'data' | 'mime'> {
	const [, mime, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
	return mime === undefined || data === undefined ? { url } : { mime, data };
}

export const citySchema = {
	type: 'object',
	properties: { city: { type: 'string' } },
	required: ['city'],
	additionalProperties: false,
} satisfies JsonSchema;
