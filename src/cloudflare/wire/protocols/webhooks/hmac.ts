import { joinBytes } from '../../../../core/base/bytes.ts';
import { sha256Signature } from './signature.ts';
import { type Source, signatureHeaders } from './source.ts';

/**
 * Any sender with a secret: `X-Signature-256` (or `X-Hub-Signature-256`) is `sha256=` and the hex of the body's
 * HMAC-SHA256. The id is in `X-Delivery-Id` or `Idempotency-Key`.
 */
export const hmac: Source = {
	name: 'hmac',
	getKey: (secret) => joinBytes(secret),
	isRepeatable: true,
	readSignature(headers) {
		const signature = sha256Signature(headers.get(signatureHeaders.hmac) ?? headers.get('x-hub-signature-256'));
		return signature && { prefix: '', signatures: [signature] };
	},
	describe: ({ type }, headers) => ({
		type: typeof type === 'string' ? type : undefined,
		id: headers.get('x-delivery-id') ?? headers.get('idempotency-key') ?? undefined,
	}),
};
