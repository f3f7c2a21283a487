import { fromBase64Url, toBase64Url } from '../../core/base/bytes.ts';
import { RunletError } from '../../core/base/errors.ts';

/** The claims of a token. Only `verifyToken` shows whether they are true. */
export interface TokenClaims {
	readonly session: string;
	/** The id under which the session stores the token's scopes. */
	readonly id: string;
	/** Seconds since 1970. */
	readonly expiresAt: number;
}

export const sessionIdForm = /^[0-9a-f]{64}$/;

/** The last character of a signature carries only four bits, so only 16 characters are allowed there. */
const form = /^rls_([0-9a-f]{64})_([0-9a-f]{16})_([0-9a-z]{1,11})_([\w-]{42}[AEIMQUYcgkosw048])$/;

/** The key of a session's tokens: 32 random bytes as base64url. It never leaves the session's object. */
export function makeTokenKey(): string {
	return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

export function makeTokenId(): string {
	return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export async function signToken(claims: TokenClaims, tokenKey: string): Promise<string> {
	const { session, id, expiresAt } = claims;
	const mac = await crypto.subtle.sign('HMAC', await toHmacKey(tokenKey), toSignedBytes(claims));
	return `rls_${session}_${id}_${expiresAt.toString(36)}_${toBase64Url(new Uint8Array(mac))}`;
}

/** Returns undefined for text without the form of a token. */
export function readToken(token: string): TokenClaims | undefined {
	const [, session, id, expiry] = form.exec(token) ?? [];
	if (session === undefined || id === undefined || expiry === undefined) return undefined;
	const expiresAt = Number.parseInt(expiry, 36);
	const isCanonical = Number.isSafeInteger(expiresAt) && expiresAt.toString(36) === expiry;
	return isCanonical ? { session, id, expiresAt } : undefined;
}

/** Throws `auth` for a token that this session did not sign, or that has expired. `now`: milliseconds since 1970. */
export async function verifyToken(token: string, tokenKey: string | undefined, now: number): Promise<TokenClaims> {
	const claims = readToken(token);
	const mac = form.exec(token)?.[4];
	const isSigned =
		claims !== undefined &&
		mac !== undefined &&
		tokenKey !== undefined &&
		(await crypto.subtle.verify('HMAC', await toHmacKey(tokenKey), fromBase64Url(mac), toSignedBytes(claims)));
	if (!isSigned) throw refuseToken('is not valid');
	if (claims.expiresAt * 1000 <= now) throw refuseToken('has expired');
	return claims;
}

export function refuseToken(why: string): RunletError {
	return new RunletError(
		'auth',
		`Authorization: this token ${why}. Ask for a new one: POST /v1/sessions/:id/token, with an API key.`,
		{ field: 'Authorization', challenge: 'invalid_token' },
	);
}

export function toHmacKey(tokenKey: string): Promise<CryptoKey> {
	const algorithm = { name: 'HMAC', hash: 'SHA-256' };
	return crypto.subtle.importKey('raw', fromBase64Url(tokenKey), algorithm, false, ['sign', 'verify']);
}

function toSignedBytes({ session, id, expiresAt }: TokenClaims) {
	return new TextEncoder().encode(`${session}.${id}.${expiresAt}`);
}
