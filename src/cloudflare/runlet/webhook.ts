import { RunletError } from '../../core/base/errors.ts';
import { readBytes } from '../routes/request.ts';
import { type SourceName, sourceNames, sources, type Verified, verify } from '../wire/protocols/webhooks/index.ts';

export interface VerifyWebhookOptions {
	/** The secret with which the sender signs. Pass several secrets while the sender replaces its secret. */
	readonly secrets: string | readonly string[];
	/** The maximum size of the body in bytes. The default is 1,000,000. */
	readonly maxBytes?: number;
}

/**
 * Verifies a delivery of a webhook in a route of your own, and returns its event. Reads the body of the request. Throws
 * `auth` for a signature that is wrong or too old, `too_large` for a body above the limit, `invalid_request` for a body
 * that is not a JSON object, and `not_configured` if no secret is usable.
 */
export async function verifyWebhook(
	source: SourceName,
	request: Request,
	{ secrets, maxBytes = 1_000_000 }: VerifyWebhookOptions,
): Promise<Verified> {
	const known = Object.hasOwn(sources, source) ? sources[source] : undefined;
	if (known === undefined)
		throw new RunletError('not_configured', `source: there is no "${source}". Known: ${sourceNames.join(', ')}.`);
	const list = [secrets].flat().filter((secret) => typeof secret === 'string' && secret !== '');
	if (list.length === 0) throw new RunletError('not_configured', 'secrets: missing. Give the secret of the sender.');
	const body = await readBytes(request, maxBytes);
	return verify(known, { body, headers: request.headers }, { secrets: list, now: Date.now() });
}
