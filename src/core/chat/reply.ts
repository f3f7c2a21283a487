import { fromBase64, hashText } from '../base/bytes.ts';
import { toMessageText } from '../base/errors.ts';
import { type MessagePart, textPart } from '../base/part.ts';
import type { ToolCall } from '../tool/index.ts';
import type { Workspace } from '../workspace/index.ts';
import type { ProviderCall, Source } from './provider-tool.ts';
import type { ChatUsage } from './usage.ts';

/** The reason why a model ended its turn: a word of Runlet, else the word of the provider. */
export type StopReason =
	| 'end_turn'
	| 'tool_use'
	| 'max_tokens'
	| 'stop_sequence'
	| 'refusal'
	| 'pause_turn'
	| (string & {});

/** The reply of a model in one turn. The same for every provider. */
export interface ChatReply {
	readonly text?: string;
	readonly toolCalls?: readonly ToolCall[];
	readonly stopReason: StopReason;
	readonly usage?: ChatUsage;
	/** The visible thinking of the model. */
	readonly reasoning?: string;
	/** The calls that the provider itself ran. */
	readonly providerCalls?: readonly ProviderCall[];
	/** The sources of the text. */
	readonly sources?: readonly Source[];
	/** The images that the model made. The loop stores them in the workspace, or in the message. */
	readonly images?: readonly MadeImage[];
	/** Data that the provider wants back, by the provider's name. The history keeps it. */
	readonly providerMetadata?: Readonly<Record<string, unknown>>;
	/** The provider's own answer. The loop does not read it. */
	readonly raw?: unknown;
}

/**
 * The known kinds of deltas, by `type`. An adapter adds its own kind by declaration merging:
 *
 *      declare module 'runlet/chat' { interface ReplyDeltas { citation: { readonly url: string } } }
 */
export interface ReplyDeltas {
	text: { readonly text: string };
	reasoning: { readonly text: string };
	tool_use_start: { readonly id: string; readonly name: string };
	tool_use_input: { readonly id: string; readonly partialInputJson: string };
	tool_use_end: { readonly id: string };
	provider_tool: ProviderCall;
	source: Source;
	stop: StreamStop;
}

/** The end of a model's turn: the last delta of a call that does not fail. */
export interface StreamStop {
	readonly reason: StopReason;
	readonly usage?: ChatUsage;
}

export type KnownDelta = { [K in keyof ReplyDeltas]: { readonly type: K } & ReplyDeltas[K] }[keyof ReplyDeltas];

/**
 * A delta of an unknown kind, which a reader ignores. Its `type` is namespaced (`acme:citation`, `data-weather`), so a
 * `switch (delta.type)` over the known kinds stays exact.
 */
export interface UnknownDelta {
	readonly type: `${string}:${string}` | `${string}-${string}`;
	readonly [field: string]: unknown;
}

/** A piece of a streamed reply. A `switch` on `type` needs no case for unknown kinds. */
export type ReplyDelta = KnownDelta | UnknownDelta;

/**
 * Takes deltas from an adapter: the known kinds, and any other `{ type, … }`. A returned promise means that the reader
 * is slower. An adapter that waits for the promise limits the memory of a slow reader.
 */
export type OnDelta = (
	delta: KnownDelta | { readonly type: string; readonly [field: string]: unknown },
) => undefined | Promise<void>;

/** An image that a model made. */
export interface MadeImage {
	/** Its path in the workspace, below `images/`. The same image has the same name. */
	readonly name: string;
	/** Media type, such as `image/png`. */
	readonly mime: string;
	/** The bytes, in base64. */
	readonly data: string;
}

/** Adds an id to a set, with a suffix if the set has it. Returns the added id. */
export function claimId(ids: Set<string>, id: string): string {
	let unused = id;
	for (let again = 2; ids.has(unused); again++) unused = `${id.slice(0, 58)}_${again}`;
	ids.add(unused);
	return unused;
}

/** Names an image by its bytes. */
export function createMadeImage(mime: string, data: string): MadeImage {
	const ending = endings[mime] ?? 'png';
	return { name: `images/${hashText(data)}.${ending}`, mime, data };
}

const endings: Readonly<Record<string, string>> = {
	'image/jpeg': 'jpg',
	'image/webp': 'webp',
	'image/gif': 'gif',
	'image/svg+xml': 'svg',
};

/** Writes the text for an image, like the text of its part. */
export function renderMadeImage(name: string): string {
	return `[image:${name}]`;
}

/**
 * Writes the images of a reply to the workspace. Returns the parts of its message: the text, and for each image a part
 * with its file in `meta.file`. Without a workspace the parts hold the images themselves. If an image cannot be
 * written, its part has only the name, and the readers get a warning.
 */
export async function keepImages(
	{ text, images = [] }: { readonly text: string; readonly images?: readonly MadeImage[] },
	workspace: Workspace | undefined,
	warn: (message: string) => undefined | Promise<void>,
): Promise<readonly MessagePart[] | undefined> {
	if (images.length === 0) return undefined;
	const parts: MessagePart[] = text === '' ? [] : [textPart(text)];
	for (const { name, mime, data } of images) {
		if (workspace === undefined) {
			parts.push({ kind: 'image', name, mime, data });
			continue;
		}
		try {
			await workspace.forCall(name).write(name, fromBase64(data));
			parts.push({ kind: 'image', name, mime, meta: { file: name } });
		} catch (error) {
			parts.push({ kind: 'image', name, mime });
			await warn(`${name}: the image that the model made could not be kept. ${toMessageText(error)}`);
		}
	}
	return parts;
}
