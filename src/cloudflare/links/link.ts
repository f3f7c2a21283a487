import * as v from 'valibot';
import { fromBase64Url, joinBytes, toBase64Url } from '../../core/base/bytes.ts';
import { parseJson } from '../../core/base/json.ts';
import { sessionIdForm, toHmacKey } from '../auth/token.ts';

const claims = v.strictObject({
	session: v.pipe(v.string(), v.regex(sessionIdForm)),
	/** The position of the call's turn in the history. */
	turn: v.number(),
	callId: v.string(),
	/** A hash of the tool and the arguments. */
	hash: v.string(),
	approve: v.boolean(),
	/** The person who decides. */
	for: v.optional(v.string()),
	/** The actor who made the link. Missing for a link in the agent's own callback. */
	madeBy: v.optional(v.unknown()),
	/** Milliseconds since 1970. */
	expiresAt: v.number(),
});

/** The claims of a link. Only `verifyLink` shows whether they are true. */
export type LinkClaims = v.InferOutput<typeof claims>;

const form = /^([\w-]{1,4000})\.([\w-]{42}[AEIMQUYcgkosw048])$/;

export async function signLink(link: LinkClaims, tokenKey: string): Promise<string> {
	const body = toBase64Url(joinBytes(JSON.stringify(link)));
	const mac = await crypto.subtle.sign('HMAC', await toHmacKey(tokenKey), toSignedBytes(body));
	return `${body}.${toBase64Url(new Uint8Array(mac))}`;
}

/** Returns undefined for text without the form of a link. */
export function readLink(link: string): LinkClaims | undefined {
	const [, body] = form.exec(link) ?? [];
	if (body === undefined) return undefined;
	try {
		const read = v.safeParse(claims, parseJson(new TextDecoder().decode(fromBase64Url(body))));
		return read.success ? read.output : undefined;
	} catch {
		return undefined;
	}
}

/** Returns the claims that this session signed. */
export async function verifyLink(link: string, tokenKey: string | undefined): Promise<LinkClaims | undefined> {
	const [, body, mac] = form.exec(link) ?? [];
	if (body === undefined || mac === undefined || tokenKey === undefined) return undefined;
	const key = await toHmacKey(tokenKey);
	const isSigned = await crypto.subtle.verify('HMAC', key, fromBase64Url(mac), toSignedBytes(body));
	return isSigned ? readLink(link) : undefined;
}

/** Returns the bytes to sign for a link. They always differ from the signed bytes of a token. */
function toSignedBytes(body: string) {
	return joinBytes(`link ${body}`);
}
