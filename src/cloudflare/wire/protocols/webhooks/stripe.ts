import { joinBytes, parseDigest } from '../../../../core/base/bytes.ts';
import { parseTime } from './signature.ts';
import { type Source, signatureHeaders } from './source.ts';

/** Stripe signs `t.body`: `Stripe-Signature` is `t=…,v1=…` in hex, with a `v1` for each active secret. */
export const stripe: Source = {
	name: 'stripe',
	getKey: (secret) => joinBytes(secret),
	readSignature(headers) {
		const fields = (headers.get(signatureHeaders.stripe) ?? '').split(',').map(parseField);
		const [time = '', ...others] = fields.flatMap(([name, value]) => (name === 't' ? [value] : []));
		const at = parseTime(time);
		if (at === undefined || others.length > 0) return undefined;
		const signatures = fields.flatMap(([name, value]) => (name === 'v1' ? [parseDigest(value)] : []));
		return { prefix: `${time}.`, signatures: signatures.filter((one) => one !== undefined), at };
	},
	describe: ({ id, type }) => ({
		type: typeof type === 'string' ? type : undefined,
		id: typeof id === 'string' ? id : undefined,
	}),
};

/** Splits a field at its first `=`. A second `=` makes the value invalid. */
function parseField(field: string): [name: string, value: string] {
	const [name = '', ...value] = field.trim().split('=');
	return [name, value.join('=')];
}
