/**
 * Replaces the modules that hono-openapi uses to convert the schemas of other libraries (`[alias]` in wrangler.toml).
 * They would bring all of Zod into the Worker. `json-schema.ts` converts the schemas, so nothing here is called.
 */
const refuse = (): never => {
	throw new Error('The document is made by src/cloudflare/routes/openapi/json-schema.ts.');
};

export { refuse as loadVendor, refuse as toJsonSchema, refuse as toOpenAPISchema };
