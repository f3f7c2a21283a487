import { joinBytes } from '../../../../core/base/bytes.ts';
import { sha256Signature } from './signature.ts';
import { type Source, signatureHeaders } from './source.ts';

/** GitHub signs the body: `X-Hub-Signature-256` is `sha256=` and hex. Time, event name and id are not signed. */
export const github: Source = {
	name: 'github',
	getKey: (secret) => joinBytes(secret),
	isRepeatable: true,
	readSignature(headers) {
		const signature = sha256Signature(headers.get(signatureHeaders.github));
		return signature && { prefix: '', signatures: [signature] };
	},
	describe({ action }, headers) {
		const event = headers.get('x-github-event') ?? '';
		return {
			type: typeof action === 'string' ? `${event}.${action}` : event,
			id: headers.get('x-github-delivery') ?? undefined,
			...(event === 'ping' && { reply: 'pong' }),
		};
	},
};
