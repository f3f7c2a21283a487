const encoder = new TextEncoder();

/** Texts and bytes one after another; text as UTF-8. */
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

/** Bytes of a text in UTF-8. */
export function countBytes(text: string): number {
	return encoder.encode(text).byteLength;
}

/** The 32 bytes that 64 hexadecimal digits stand for. */
export function parseDigest(text: string): Uint8Array<ArrayBuffer> | undefined {
	if (!/^[0-9a-f]{64}$/i.test(text)) return undefined;
	return Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(text.slice(2 * index, 2 * index + 2), 16));
}

/** The 32 bytes that 44 characters of base64 stand for, in the one way in which they are written. */
export function digestFromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
	return /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(text) ? fromBase64(text) : undefined;
}

/** The bytes of a base64 text. Throws when it is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
	return bytes;
}

/** Bytes, however many, as base64. */
export function toBase64(bytes: Uint8Array): string {
	const pieces: string[] = [];
	for (let from = 0; from < bytes.length; from += 8_192)
		pieces.push(String.fromCharCode(...bytes.subarray(from, from + 8_192)));
	return btoa(pieces.join(''));
}

/** Bytes that a base64 text stands for. */
export function countBase64Bytes(text: string): number {
	const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
	return Math.floor((text.length * 3) / 4) - padding;
}

/** Whether a text is base64 with its padding; an empty one is. */
export function isBase64(text: string): boolean {
	return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** Bytes as base64url without padding (RFC 4648, 5). */
export function toBase64Url(bytes: Uint8Array): string {
	return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The bytes of a base64url text. Throws when it is none. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
	return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
}

export function toHex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
