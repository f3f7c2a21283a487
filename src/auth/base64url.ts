/** Bytes as base64url without padding (RFC 4648, 5). */
export function encodeBase64Url(bytes: Uint8Array): string {
	const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
	return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The bytes of a base64url text. Throws for a text that is none. */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> {
	return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
}
