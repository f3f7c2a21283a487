import { fromBase64 } from './bytes.ts';

/** One element of a message that mixes text with images, audio or files. */
export interface MessagePart {
	readonly kind: 'text' | 'image' | 'audio' | 'file' | 'tool-result';
	/** The text of a text part. The caption of any other part. */
	readonly text?: string;
	/** Media type, such as `image/png`. */
	readonly mime?: string;
	/** The bytes, in base64. */
	readonly data?: string;
	readonly url?: string;
	/** File name, or alternative text of an image. */
	readonly name?: string;
	/** Hints for an adapter, such as OpenAI's `detail`. */
	readonly meta?: Readonly<Record<string, unknown>>;
}

/** A text part. */
export function textPart(text: string): MessagePart {
	return { kind: 'text', text };
}

/** An image part: from a URL, or from base64 data with its media type. */
export function imagePart(url: string): MessagePart;
export function imagePart(data: string, mime: string): MessagePart;
export function imagePart(source: string, mime?: string): MessagePart {
	return mime === undefined ? { kind: 'image', url: source } : { kind: 'image', data: source, mime };
}

/** A file part: from a URL, or from base64 data, with its media type and its name. */
export function filePart(source: string, mime: string, name?: string): MessagePart {
	const named = name === undefined ? {} : { name };
	return /^[a-z][a-z0-9+.-]*:/i.test(source)
		? { kind: 'file', url: source, mime, ...named }
		: { kind: 'file', data: source, mime, ...named };
}

/**
 * Joins parts to one text, for providers that accept no parts. A placeholder replaces a part without text, so
 * that the model knows of the part.
 */
export function flattenParts(parts: readonly MessagePart[] | undefined): string {
	return (parts ?? []).map(renderPart).join('\n\n');
}

/** One part as text: its text, or `[KIND:NAME (URL)]`. The bytes of a `data:` URL are left out. */
export function renderPart({ kind, text, name, url }: MessagePart): string {
	if (kind === 'text' || kind === 'tool-result') return text ?? '';
	const place = url === undefined || /^data:/i.test(url) ? '' : ` (${url})`;
	const placeholder = `[${kind}:${name ?? kind}${place}]`;
	return text === undefined || text === '' ? placeholder : `${placeholder} ${text}`;
}

/** The content of a part: bytes in base64, or a URL. */
export type Media = {
	readonly kind: 'image' | 'audio' | 'pdf' | 'text' | 'file';
	/** The media type. If the part has none, it is guessed from the first bytes or the URL. */
	readonly mime: string;
	readonly name: string | undefined;
} & ({ readonly data: string; readonly url?: undefined } | { readonly url: string; readonly data?: undefined });

/**
 * Returns the bytes or the URL of a part. Opens `data:` URLs. Returns `undefined` for text and for a part without
 * content.
 */
export function toMedia({ kind, mime, data, url, name }: MessagePart): Media | undefined {
	if (kind === 'text' || kind === 'tool-result') return undefined;
	const opened = /^data:([^;,]*)(?:;[^;,]*)*;base64,(.*)$/s.exec(url ?? '');
	const bytes = data ?? opened?.[2];
	const said = mime ?? (opened?.[1] || guess(bytes, url) || fallbacks[kind]);
	const type = said === 'image/jpg' ? 'image/jpeg' : said;
	const about = { kind: chooseKind(kind, type), mime: type, name };
	if (bytes !== undefined && bytes !== '') return { ...about, data: bytes };
	return url === undefined || opened !== null ? undefined : { ...about, url };
}

/** Whether models accept the media as an image. Another type, such as SVG, would make the whole request fail. */
export function isImage(media: Media | undefined): media is Media & { readonly kind: 'image' } {
	if (media?.kind !== 'image') return false;
	return media.url !== undefined || /^image\/(png|jpeg|gif|webp)$/.test(media.mime);
}

/** Returns the URL of media. Bytes become a `data:` URL. */
export function toDataUrl({ mime, data, url }: Media): string {
	return url ?? `data:${mime};base64,${data}`;
}

export function decodeText(base64: string): string {
	return new TextDecoder().decode(fromBase64(base64));
}

const fallbacks = { image: 'image/png', audio: 'audio/wav', file: 'application/octet-stream' } as const;

function chooseKind(kind: 'image' | 'audio' | 'file', mime: string): Media['kind'] {
	if (mime.startsWith('image/')) return 'image';
	if (mime.startsWith('audio/')) return 'audio';
	if (mime === 'application/pdf') return 'pdf';
	if (mime.startsWith('text/') || mime === 'application/json') return 'text';
	return kind;
}

/** The first characters in base64, and the file endings, of the types that models accept. */
const signs: readonly (readonly [mime: string, bytes: string, ending: RegExp])[] = [
	['image/png', 'iVBORw0KGgo', /\.png$/i],
	['image/jpeg', '/9j/', /\.jpe?g$/i],
	['image/gif', 'R0lGOD', /\.gif$/i],
	['image/webp', 'UklGR', /\.webp$/i],
	['application/pdf', 'JVBERi', /\.pdf$/i],
	['audio/mpeg', 'SUQz', /\.mp3$/i],
	['audio/wav', 'UklGR', /\.wav$/i],
	['text/plain', ' ', /\.(txt|md|csv)$/i],
];

function guess(bytes: string | undefined, url: string | undefined): string | undefined {
	if (bytes !== undefined) return signs.find(([, start]) => bytes.startsWith(start))?.[0];
	const path = url?.split(/[?#]/, 1)[0] ?? '';
	return signs.find(([, , ending]) => ending.test(path))?.[0];
}
