import { joinBytes, parseDigest, toHex } from '../../../../core/base/bytes.ts';
import { RunletError } from '../../../../core/base/errors.ts';
import { isRecord, parseJson } from '../../../../core/base/json.ts';
import { type RawDelivery, type Signed, type Source, signatureHeaders, type WebhookEvent } from './source.ts';

/** How many seconds the sender's clock may differ from the clock here, if the sender signs a time. */
const toleranceSeconds = 300;

/** A delivery that its source has signed. */
export interface Verified {
	readonly event: WebhookEvent;
	/** The immediate answer to a ping or a challenge. Such a delivery has no event. */
	readonly reply?: string;
	/** Whether the source shows the answer to a person. */
	readonly isShown?: boolean;
	/** SHA-256 of the body, for a source whose deliveries can be replayed. */
	readonly body?: string;
}

export interface VerifyOptions {
	/** All active secrets of the source. There are several while the sender changes its secret. */
	readonly secrets: readonly string[];
	/** Milliseconds since 1970. */
	readonly now: number;
}

/**
 * Returns the event of a delivery with a right signature and a right time (docs/webhooks.md). Throws `auth`,
 * always with the same message, if one of them is wrong. Throws `invalid_request` if the body is not a JSON
 * object, and `not_configured` if a secret is unusable.
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

/** Throws the error of `verify` if the headers alone show the mistake, so that the body need not be read. */
export function assertSigned(source: Source, headers: Headers, { now }: Pick<VerifyOptions, 'now'>): void {
	if (timelySignature(source, headers, now) === undefined) throw notAuthentic(source);
}

function notAuthentic({ name }: Source): RunletError {
	const message =
		'The signature of this delivery is missing, too old, or not right. Have sender and Worker the same secret?';
	return new RunletError('auth', message, { field: signatureHeaders[name], scheme: 'Signature' });
}

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

/** Returns the signature in the headers, if there is one and its time is about now. */
function timelySignature(source: Source, headers: Headers, now: number): Signed | undefined {
	const signed = source.readSignature(headers);
	if (signed === undefined || signed.signatures.length === 0) return undefined;
	const { at = now / 1_000 } = signed;
	return Math.abs(now / 1_000 - at) > toleranceSeconds ? undefined : signed;
}

/**
 * Parses a body: JSON, or a form. A form of GitHub and Slack either has JSON in its field `payload`, or fields of
 * its own. The form of the body is detected from the body itself, because the content type is not signed.
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

/** Makes an id for a delivery of a source that sends no id. */
async function hashBody(body: Uint8Array<ArrayBuffer>): Promise<string> {
	return `sha256:${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))}`;
}

/** All sources sign with HMAC-SHA256. */
const algorithm = { name: 'HMAC', hash: 'SHA-256' };

/**
 * The maximum number of checked signatures of a delivery. A sender that changes its secret sends two signatures. The
 * check of each signature hashes the whole body.
 */
const mostSignatures = 8;

/** Whether one of the signatures is right for the content and one of the keys. Compares in constant time. */
async function isSigned(
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
