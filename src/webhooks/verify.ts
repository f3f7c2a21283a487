import { toHex } from '../bytes.ts';
import { RunletError } from '../errors.ts';
import { parseJson } from '../json.ts';
import { isSigned } from './signature.ts';
import type { RawDelivery, Source, WebhookEvent } from './source.ts';

/** How far the sender's clock may be from this one, in seconds, where it signs a time. */
const toleranceSeconds = 300;

/** A delivery that its source has signed. */
export interface Verified {
	readonly event: WebhookEvent;
	/** What the source wants to hear at once: there is nothing to be done. */
	readonly reply?: string | undefined;
}

export interface VerifyOptions {
	/** Every active secret of the source; the sender may be changing from one to another. */
	readonly secrets: readonly string[];
	/** Milliseconds since 1970. */
	readonly now: number;
}

/**
 * The event of a delivery, once its signature and its time were found right (hardening.md, "Webhooks"). Throws `auth`
 * where one is not, in the same words whatever it was; `invalid_request` where what was signed is no JSON object;
 * `not_configured` where a secret is none.
 */
export async function verify(source: Source, delivery: RawDelivery, options: VerifyOptions): Promise<Verified> {
	if (!(await isAuthentic(source, delivery, options)))
		throw new RunletError(
			'auth',
			'The signature of this delivery is missing, too old, or not right. Have sender and Worker the same secret?',
		);
	const { body, headers } = delivery;
	const payload = payloadOf(body);
	const { type = '', id, reply } = source.describe(payload, headers);
	const event = { source: source.name, type, id: await deliveryId(id, body), payload, headers };
	return { event, reply };
}

/** Whether the source has signed a delivery, with one of the secrets, and not too long ago. */
export async function isAuthentic(
	source: Source,
	delivery: RawDelivery,
	{ secrets, now }: VerifyOptions,
): Promise<boolean> {
	const signed = source.signed(delivery);
	if (signed === undefined) return false;
	const { content, signatures, at = now / 1_000 } = signed;
	if (Math.abs(now / 1_000 - at) > toleranceSeconds) return false;
	return isSigned(content, signatures, secrets.map(source.keyOf));
}

/**
 * The payload of a body: JSON, or a form, which GitHub and Slack can send, with JSON in its field `payload` or with
 * fields of its own. The body itself says which, for the content type is not signed.
 */
function payloadOf(body: Uint8Array): WebhookEvent['payload'] {
	const text = textOf(body);
	if (/^\s*[{[]/.test(text)) return objectOf(text);
	const form = new URLSearchParams(text);
	const json = form.get('payload');
	if (json !== null) return objectOf(json);
	if (/^\w+=/.test(text)) return Object.fromEntries(form);
	return objectOf(text);
}

function textOf(body: Uint8Array): string {
	try {
		return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(body);
	} catch {
		throw new RunletError('invalid_request', 'body: not valid UTF-8.', { field: 'body' });
	}
}

function objectOf(text: string): WebhookEvent['payload'] {
	const json = parseJson(text);
	if (typeof json === 'object' && json !== null && !Array.isArray(json)) return { ...json };
	throw new RunletError('invalid_request', 'body: expected a JSON object.', { field: 'body' });
}

/** What a delivery is known by; one without an id of its own by its body. */
async function deliveryId(id: string | undefined, body: Uint8Array<ArrayBuffer>): Promise<string> {
	if (id !== undefined && /^[\x21-\x7e]{1,255}$/.test(id)) return id;
	return `sha256:${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))}`;
}
