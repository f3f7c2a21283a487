import { createHmac } from 'node:crypto';
import type { RawDelivery, SourceName } from '../../../../../src/cloudflare/wire/protocols/webhooks/index.ts';
import { joinBytes } from '../../../../../src/core/base/bytes.ts';

/** A delivery signed by `node:crypto`, not by the code under test. */
export interface Sender {
	readonly secret: string;
	readonly otherSecret: string;
	readonly isTimed: boolean;
	/** The headers that contain the signature, and the headers that it signs. */
	readonly signedHeaders: readonly string[];
	/** The headers of a body at a time in seconds since 1970, signed with each secret. */
	headers(
		body: string,
		about: { readonly id: string; readonly at: number; readonly secrets: readonly string[] },
	): {
		readonly [name: string]: string;
	};
}

/** The secret of the callbacks of the Worker under test. */
export const callbackSecret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

const hex = (secret: string, content: string) => createHmac('sha256', secret).update(content).digest('hex');

export const senders: Readonly<Record<SourceName, Sender>> = {
	standard: {
		secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
		otherSecret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
		isTimed: true,
		signedHeaders: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
		headers: (body, { id, at, secrets }) => ({
			'webhook-id': id,
			'webhook-timestamp': String(at),
			'webhook-signature': secrets
				.map((secret) => Buffer.from(secret.replace('whsec_', ''), 'base64'))
				.map((key) => `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`)
				.join(' '),
		}),
	},
	github: {
		secret: "It's-a-Secret-to-Everybody",
		otherSecret: 'another',
		isTimed: false,
		signedHeaders: ['x-hub-signature-256'],
		headers: (body, { id, secrets: [secret = ''] }) => ({
			'x-github-event': 'issues',
			'x-github-delivery': id,
			'x-hub-signature-256': `sha256=${hex(secret, body)}`,
		}),
	},
	stripe: {
		secret: 'whsec_test_secret',
		otherSecret: 'whsec_other',
		isTimed: true,
		signedHeaders: ['stripe-signature'],
		headers: (body, { at, secrets }) => ({
			'stripe-signature': [
				`t=${at}`,
				`v0=${'0'.repeat(64)}`,
				...secrets.map((secret) => `v1=${hex(secret, `${at}.${body}`)}`),
			].join(','),
		}),
	},
	slack: {
		secret: '8f742231b10e8888abcd99yyyzzz85a5',
		otherSecret: 'e6b19c573432dcc6b075501d51b51bb8',
		isTimed: true,
		signedHeaders: ['x-slack-request-timestamp', 'x-slack-signature'],
		headers: (body, { at, secrets: [secret = ''] }) => ({
			'x-slack-request-timestamp': String(at),
			'x-slack-signature': `v0=${hex(secret, `v0:${at}:${body}`)}`,
		}),
	},
	hmac: {
		secret: 'a-secret-of-ours',
		otherSecret: 'another-of-ours',
		isTimed: false,
		signedHeaders: ['x-signature-256'],
		headers: (body, { id, secrets: [secret = ''] }) => ({
			'x-delivery-id': id,
			'x-signature-256': `sha256=${hex(secret, body)}`,
		}),
	},
};

export function delivery(body: string | Uint8Array, headers: Readonly<Record<string, string>>): RawDelivery {
	return { body: joinBytes(body), headers: new Headers(headers) };
}
