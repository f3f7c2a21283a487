import { joinBytes, toHex } from '../../core/ground/bytes.ts';
import { RunletError } from '../../core/ground/errors.ts';
import { isRecord, parseJson } from '../../core/ground/json.ts';
import { isSigned } from './signature.ts';
import type { RawDelivery, Signed, Source, WebhookEvent } from './source.ts';

/** How far the sender's clock may be from this one, in seconds, where it signs a time. */
const toleranceSeconds = 300;

/** A delivery that its source has signed. */
export interface Verified {
	readonly event: WebhookEvent;
	/** What the source wants to hear at once: there is nothing to be done. */
	readonly reply?: string;
	/** Whether a person is shown the answer. */
	readonly isShown?: boolean;
	/** SHA-256 of the body, of a source whose deliveries anybody may send again. */
	readonly body?: string;
}

export interface VerifyOptions {
	/** Every active secret of the source; the sender may be changing from one to another. */
	readonly secrets: readonly string[];
	/** Milliseconds since 1970. */
	readonly now: number;
}

/**
 * The event of a delivery, once its signature and its time were found right (README, "Webhooks"). Throws `auth` where
 * one is not, in the same words whatever it was; `invalid_request` where what was signed is no JSON object;
 * `not_configured` where a secret is none.
 */
export async function verify(source: Source, delivery: RawDelivery, options: VerifyOptions): Promise<Verified> {
	if (!(await isAuthentic(source, delivery, options))) throw notAuthentic(source);
	const { body, headers } = delivery;
	const payload = readPayload(body);
	const { type = '', id, reply, isShown } = source.describe(payload, headers);
	const hash = await hashBody(body);
	const event = { source: source.name, type, id: isId(id) ? id : hash, payload, headers };
	return { event, reply, isShown, ...(source.isRepeatable && { body: hash }) };
}

/**
 * Throws as `verify` does where the headers alone say that a delivery cannot be authentic: before anybody waits for its
 * body, or keeps it.
 */
export function assertSigned(source: Source, headers: Headers, { now }: Pick<VerifyOptions, 'now'>): void {
	if (timelySignature(source, headers, now) === undefined) throw notAuthentic(source);
}

function notAuthentic({ signatureHeader: field }: Source): RunletError {
	const message =
		'The signature of this delivery is missing, too old, or not right. Have sender and Worker the same secret?';
	return new RunletError('auth', message, { field, scheme: 'Signature' });
}

/** Whether the source has signed a delivery, with one of the secrets, and not too long ago. */
export async function isAuthentic(
	source: Source,
	delivery: RawDelivery,
	{ secrets, now }: VerifyOptions,
): Promise<boolean> {
	const signed = timelySignature(source, delivery.headers, now);
	if (signed === undefined) return false;
	const { prefix, signatures } = signed;
	const content = prefix === '' ? delivery.body : joinBytes(prefix, delivery.body);
	return isSigned(content, signatures, secrets.map(source.getKey));
}

/** What the headers say of a signature that may be right: there is one, and its time is about now. */
function timelySignature(source: Source, headers: Headers, now: number): Signed | undefined {
	const signed = source.isSigned(headers);
	if (signed === undefined || signed.signatures.length === 0) return undefined;
	const { at = now / 1_000 } = signed;
	return Math.abs(now / 1_000 - at) > toleranceSeconds ? undefined : signed;
}

/**
 * The payload of a body: JSON, or a form, which GitHub and Slack can send, with JSON in its field `payload` or with
 * fields of its own. The body itself says which, for the content type is not signed.
 */
function readPayload(body: Uint8Array): WebhookEvent['payload'] {
	const text = decodeText(body);
	if (/^\s*[{[]/.test(text)) return parseObject(text);
	const form = new URLSearchParams(text);
	const json = form.get('payload');
	if (json !== null) return parseObject(json);
	if (/^\w+=/.test(text)) return Object.fromEntries(form);
	return parseObject(text);
}

function decodeText(body: Uint8Array): string {
	try {
		return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(body);
	} catch {
		throw new RunletError('invalid_request', 'body: not valid UTF-8.', { field: 'body' });
	}
}

function parseObject(text: string): WebhookEvent['payload'] {
	const json = parseJson(text);
	if (isRecord(json)) return { ...json };
	throw new RunletError('invalid_request', 'body: expected a JSON object.', { field: 'body' });
}

function isId(id: string | undefined): id is string {
	return id !== undefined && /^[\x21-\x7e]{1,255}$/.test(id);
}

/** What a delivery without an id of its own is known by. */
async function hashBody(body: Uint8Array<ArrayBuffer>): Promise<string> {
	return `sha256:${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))}`;
}
