/** One element of a message that mixes text with images, audio or files. */
export interface MessagePart {
	readonly kind: 'text' | 'image' | 'audio' | 'file' | 'tool-result';
	/** The text of a text part; a caption on others. */
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
 * Parts as one text, joined by a blank line, for providers that take no parts. What has no text becomes a placeholder,
 * so the model knows that something was attached. Empty for no parts.
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
