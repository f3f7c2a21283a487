import { fromBase64, parseBase64Digest } from '../../../../core/base/bytes.ts';
import { RunletError } from '../../../../core/base/errors.ts';
import { parseTime } from './signature.ts';
import { type Source, signatureHeaders } from './source.ts';

/** An id without a full stop, so a signature fits only one split of id, time and body. */
const idForm = /^[\x21-\x2d\x2f-\x7e]{1,255}$/;

/** Standard Webhooks 1.0 signs `webhook-id.webhook-timestamp.body` with HMAC-SHA256: `v1,` and base64. */
export const standard: Source = {
	name: 'standard',
	getKey: (secret) => standardKey(secret, 'STANDARD_WEBHOOK_SECRET'),
	readSignature(headers) {
		const id = headers.get('webhook-id') ?? '';
		const time = headers.get('webhook-timestamp') ?? '';
		const at = parseTime(time);
		if (!idForm.test(id) || at === undefined) return undefined;
		const signatures = (headers.get(signatureHeaders.standard) ?? '').split(' ').flatMap((entry) => {
			const [version, text = ''] = entry.split(',');
			return version === 'v1' ? [parseBase64Digest(text)] : [];
		});
		return { prefix: `${id}.${time}.`, signatures: signatures.filter((one) => one !== undefined), at };
	},
	describe: ({ type }, headers) => ({
		type: typeof type === 'string' ? type : undefined,
		id: headers.get('webhook-id') ?? undefined,
	}),
};

/** Returns the key of a Standard Webhooks secret: the base64 after `whsec_`. Throws `not_configured`. */
export function standardKey(secret: string, variable: string): Uint8Array<ArrayBuffer> {
	try {
		const key = fromBase64(secret.replace(/^whsec_/, ''));
		if (key.byteLength > 0) return key;
	} catch {
		// The error is thrown below.
	}
	throw new RunletError('not_configured', `${variable}: expected whsec_ and base64 behind it.`);
}
