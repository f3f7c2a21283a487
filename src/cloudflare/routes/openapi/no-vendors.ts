/**
 * Stands in for what hono-openapi converts the schemas of other libraries with (`[alias]` in wrangler.toml): it would
 * bring all of Zod into the Worker. The document is made by `json-schema.ts`, so nothing of this is called.
 */
const refuse = (): never => {
	throw new Error('The document is made by src/cloudflare/routes/openapi/json-schema.ts.');
};

export { refuse as loadVendor, refuse as toJsonSchema, refuse as toOpenAPISchema };
