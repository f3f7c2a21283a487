import { fromBase64Url, toBase64Url } from '../bytes.ts';
import { RunletError } from '../errors.ts';

/** What a token says of itself. Whether it is true only `verifyToken` knows. */
export interface TokenClaims {
	/** The session that it opens. */
	readonly session: string;
	/** Seconds since 1970. */
	readonly expiresAt: number;
}

/** The form of a session's id. */
export const sessionIdForm = /^[0-9a-f]{64}$/;

const form = /^rls_([0-9a-f]{64})_([0-9a-z]{1,11})_([\w-]{43})$/;

/** A key to sign a session's tokens with: 32 random bytes, as base64url. It never leaves the session's object. */
export function makeTokenKey(): string {
	return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** A token that opens one session until it expires. The same claims under the same key give the same token. */
export async function signToken(claims: TokenClaims, tokenKey: string): Promise<string> {
	const mac = await crypto.subtle.sign('HMAC', await hmacKey(tokenKey), signed(claims));
	return `rls_${claims.session}_${claims.expiresAt.toString(36)}_${toBase64Url(new Uint8Array(mac))}`;
}

/** The claims of a text that has a token's form; `undefined` where it has not. */
export function readToken(token: string): TokenClaims | undefined {
	const [, session, expiry] = form.exec(token) ?? [];
	if (session === undefined || expiry === undefined) return undefined;
	const expiresAt = Number.parseInt(expiry, 36);
	return Number.isSafeInteger(expiresAt) && expiresAt.toString(36) === expiry ? { session, expiresAt } : undefined;
}

/**
 * Throws `auth` for a token that this session did not sign, or whose time is over.
 *
 * @param now milliseconds since 1970
 */
export async function verifyToken(token: string, tokenKey: string | undefined, now: number): Promise<void> {
	const claims = readToken(token);
	const mac = form.exec(token)?.[3];
	const isSigned =
		claims !== undefined &&
		mac !== undefined &&
		tokenKey !== undefined &&
		(await crypto.subtle.verify('HMAC', await hmacKey(tokenKey), fromBase64Url(mac), signed(claims)));
	if (!isSigned) throw new RunletError('auth', 'Authorization: this token is not valid. Ask for a new one.');
	if (claims.expiresAt * 1000 <= now)
		throw new RunletError(
			'auth',
			'Authorization: this token has expired. Ask for a new one: POST /v1/sessions/:id/token, with an API key.',
		);
}

function hmacKey(tokenKey: string): Promise<CryptoKey> {
	const algorithm = { name: 'HMAC', hash: 'SHA-256' };
	return crypto.subtle.importKey('raw', fromBase64Url(tokenKey), algorithm, false, ['sign', 'verify']);
}

function signed({ session, expiresAt }: TokenClaims) {
	return new TextEncoder().encode(`${session}.${expiresAt}`);
}
