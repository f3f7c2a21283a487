/**
 * Replaces the platform module of the protocol's SDK (`[alias]` in wrangler.toml, scripts/pack/copies.ts), which has
 * two copies of a JSON Schema validator. Runlet checks values itself, so the validator is never called.
 */
export class DefaultJsonSchemaValidator {
	getValidator(): never {
		throw new Error('Values are checked by src/core/tool/schema.ts.');
	}
}

/** Whether the SDK repeats a failed request without headers, as browsers need. */
export const CORS_IS_POSSIBLE = 'document' in globalThis;
