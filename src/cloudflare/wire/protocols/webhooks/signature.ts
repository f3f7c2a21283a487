import { parseDigest } from '../../../../core/ground/bytes.ts';

/** HMAC-SHA256, which all sources sign with, by WebCrypto. */
const algorithm = { name: 'HMAC', hash: 'SHA-256' };

/**
 * The most signatures of one delivery that are checked. A sender that changes its secret sends two, and each costs a
 * hash of the whole body.
 */
const mostSignatures = 8;

/** Whether one of the signatures fits the content under one of the keys. Compares in constant time. */
export async function isSigned(
	content: BufferSource,
	signatures: readonly BufferSource[],
	keys: readonly BufferSource[],
): Promise<boolean> {
	for (const bytes of keys) {
		const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
		for (const signature of signatures.slice(0, mostSignatures))
			if (await crypto.subtle.verify(algorithm, key, signature, content)) return true;
	}
	return false;
}

/** Signs the content with a key. */
export async function sign(content: BufferSource, bytes: BufferSource): Promise<Uint8Array<ArrayBuffer>> {
	const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign']);
	return new Uint8Array(await crypto.subtle.sign(algorithm, key, content));
}

/** Reads seconds since 1970 from a header. */
export function parseTime(text: string): number | undefined {
	return /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}

/** Reads the digest from a header such as `sha256=757107ea…`. */
export function sha256Signature(header: string | null): Uint8Array<ArrayBuffer> | undefined {
	return header?.startsWith('sha256=') ? parseDigest(header.slice('sha256='.length)) : undefined;
}
