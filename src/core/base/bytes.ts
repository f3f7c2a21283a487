const encoder = new TextEncoder();

/** Joins texts and bytes. Text becomes UTF-8. */
export function joinBytes(...pieces: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
	const parts = pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece));
	const whole = new Uint8Array(parts.reduce((length, part) => length + part.byteLength, 0));
	let at = 0;
	for (const part of parts) {
		whole.set(part, at);
		at += part.byteLength;
	}
	return whole;
}

/** Counts the bytes of a text in UTF-8. */
export function countBytes(text: string): number {
	return encoder.encode(text).byteLength;
}

/** Parses 64 hexadecimal digits to 32 bytes. Returns `undefined` for any other text. */
export function parseDigest(text: string): Uint8Array<ArrayBuffer> | undefined {
	if (!/^[0-9a-f]{64}$/i.test(text)) return undefined;
	return Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(text.slice(2 * index, 2 * index + 2), 16));
}

/** Parses 44 characters of canonical base64 to 32 bytes. Returns `undefined` for any other text. */
export function parseBase64Digest(text: string): Uint8Array<ArrayBuffer> | undefined {
	return /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(text) ? fromBase64(text) : undefined;
}

/** Decodes base64. Throws if the text is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
	return bytes;
}

export function toBase64(bytes: Uint8Array): string {
	const pieces: string[] = [];
	for (let from = 0; from < bytes.length; from += 8_192)
		pieces.push(String.fromCharCode(...bytes.subarray(from, from + 8_192)));
	return btoa(pieces.join(''));
}

export function countBase64Bytes(text: string): number {
	const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
	return Math.floor((text.length * 3) / 4) - padding;
}

/** Whether a text is base64 with padding. An empty text counts as base64. */
export function isBase64(text: string): boolean {
	return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** Encodes bytes as base64url without padding (RFC 4648, 5). */
export function toBase64Url(bytes: Uint8Array): string {
	return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Decodes base64url. Throws if the text is not base64url. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
	return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
}

/** Returns the SHA-256 of a text, in hexadecimal digits. */
export async function hashSecurely(text: string): Promise<string> {
	return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text))));
}

/** Returns the text of a file. Returns `undefined` if it is not UTF-8, or has a NUL. */
export function toFileText(bytes: Uint8Array): string | undefined {
	try {
		const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
		return text.includes('\0') ? undefined : text;
	} catch {
		return undefined;
	}
}

export function toHex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Hashes a text to 11 letters and digits (cyrb53, 53 bits). Short, synchronous, and not for secrets. */
export function hashText(text: string): string {
	let a = 0xdeadbeef;
	let b = 0x41c6ce57;
	for (let index = 0; index < text.length; index++) {
		const unit = text.charCodeAt(index);
		a = Math.imul(a ^ unit, 2654435761);
		b = Math.imul(b ^ unit, 1597334677);
	}
	a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
	b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
	return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36).padStart(11, '0');
}
