/**
 * Replaces the platform module of the protocol's SDK (`[alias]` in wrangler.toml, scripts/pack/copies.ts), because that
 * module has two copies of a JSON Schema validator. Runlet checks values itself, so no validator is called.
 */
export class DefaultJsonSchemaValidator {
	getValidator(): never {
		throw new Error('Values are checked by src/core/tool/schema.ts.');
	}
}

/** Whether the SDK repeats a failed request without headers. Only browsers need that (CORS). */
export const CORS_IS_POSSIBLE = 'document' in globalThis;
