import { fromBase64Url, toBase64Url } from '../../core/ground/bytes.ts';
import { RunletError } from '../../core/ground/errors.ts';

/** What a token says of itself. Whether it is true only `verifyToken` knows. */
export interface TokenClaims {
	/** The session that it opens. */
	readonly session: string;
	/** Its own id, under which the session keeps what it may do. */
	readonly id: string;
	/** Seconds since 1970. */
	readonly expiresAt: number;
}

/** The form of a session's id. */
export const sessionIdForm = /^[0-9a-f]{64}$/;

/** The last character of a signature holds four bits and no others, so that a token is written in one way only. */
const form = /^rls_([0-9a-f]{64})_([0-9a-f]{16})_([0-9a-z]{1,11})_([\w-]{42}[AEIMQUYcgkosw048])$/;

/** A key to sign a session's tokens with: 32 random bytes, as base64url. It never leaves the session's object. */
export function makeTokenKey(): string {
	return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

export function makeTokenId(): string {
	return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A token that opens one session until it expires. The same claims under the same key give the same token. */
export async function signToken(claims: TokenClaims, tokenKey: string): Promise<string> {
	const { session, id, expiresAt } = claims;
	const mac = await crypto.subtle.sign('HMAC', await hmacKey(tokenKey), toSignedBytes(claims));
	return `rls_${session}_${id}_${expiresAt.toString(36)}_${toBase64Url(new Uint8Array(mac))}`;
}

/** The claims of a text that has a token's form; `undefined` where it has not. */
export function readToken(token: string): TokenClaims | undefined {
	const [, session, id, expiry] = form.exec(token) ?? [];
	if (session === undefined || id === undefined || expiry === undefined) return undefined;
	const expiresAt = Number.parseInt(expiry, 36);
	const isCanonical = Number.isSafeInteger(expiresAt) && expiresAt.toString(36) === expiry;
	return isCanonical ? { session, id, expiresAt } : undefined;
}

/**
 * What a token says. Throws `auth` for one that this session did not sign, or whose time is over.
 *
 * @param now milliseconds since 1970
 */
export async function verifyToken(token: string, tokenKey: string | undefined, now: number): Promise<TokenClaims> {
	const claims = readToken(token);
	const mac = form.exec(token)?.[4];
	const isSigned =
		claims !== undefined &&
		mac !== undefined &&
		tokenKey !== undefined &&
		(await crypto.subtle.verify('HMAC', await hmacKey(tokenKey), fromBase64Url(mac), toSignedBytes(claims)));
	if (!isSigned) throw refuseToken('is not valid');
	if (claims.expiresAt * 1000 <= now) throw refuseToken('has expired');
	return claims;
}

/** Why a token opens nothing any more, with what to do about it. */
export function refuseToken(why: string): RunletError {
	return new RunletError(
		'auth',
		`Authorization: this token ${why}. Ask for a new one: POST /v1/sessions/:id/token, with an API key.`,
		{ field: 'Authorization', challenge: 'invalid_token' },
	);
}

function hmacKey(tokenKey: string): Promise<CryptoKey> {
	const algorithm = { name: 'HMAC', hash: 'SHA-256' };
	return crypto.subtle.importKey('raw', fromBase64Url(tokenKey), algorithm, false, ['sign', 'verify']);
}

function toSignedBytes({ session, id, expiresAt }: TokenClaims) {
	return new TextEncoder().encode(`${session}.${id}.${expiresAt}`);
}
