/**
 * The used part of Anthropic's SDK, as a module of its own. The first request loads it, and a bundler can leave out the
 * rest. The package holds a copy of it (scripts/pack/copies.ts).
 */
export { BaseAnthropic } from '@anthropic-ai/sdk/client';
export { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
