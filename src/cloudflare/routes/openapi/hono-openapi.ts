/**
 * The used part of hono-openapi, as a module of its own. The package holds a copy of it, without the schema libraries
 * that it can load (scripts/pack/copies.ts).
 */
export { generateSpecs, uniqueSymbol } from 'hono-openapi';
