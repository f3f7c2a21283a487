/**
 * Replaces what the protocol's SDK chooses by platform (`[alias]` in wrangler.toml, scripts/pack/copies.ts). That would
 * bring a validator of JSON Schema into each of its halves. Runlet checks values with its own, so nothing here is called.
 */
export class DefaultJsonSchemaValidator {
	getValidator(): never {
		throw new Error('Values are checked by src/core/tool/schema.ts.');
	}
}

/** Whether a failed request may be one that a browser did not send, which is then sent once more without headers. */
export const CORS_IS_POSSIBLE = 'document' in globalThis;
