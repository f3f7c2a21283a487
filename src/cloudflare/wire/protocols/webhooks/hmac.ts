import { joinBytes } from '../../../../core/base/bytes.ts';
import { sha256Signature } from './signature.ts';
import type { Source } from './source.ts';

/**
 * Any sender with a secret: `X-Signature-256` (or `X-Hub-Signature-256`) is `sha256=` and the hex of the body's
 * HMAC-SHA256. The id is in `X-Delivery-Id` or `Idempotency-Key`.
 */
export const hmac: Source = {
	name: 'hmac',
	signatureHeader: 'x-signature-256',
	getKey: (secret) => joinBytes(secret),
	isRepeatable: true,
	isSigned(headers) {
		const signature = sha256Signature(headers.get(this.signatureHeader) ?? headers.get('x-hub-signature-256'));
		return signature && { prefix: '', signatures: [signature] };
	},
	describe: ({ type }, headers) => ({
		type: typeof type === 'string' ? type : undefined,
		id: headers.get('x-delivery-id') ?? headers.get('idempotency-key') ?? undefined,
	}),
};
