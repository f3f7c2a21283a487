/** The part of Anthropic's SDK that Runlet uses. The first request loads it. The package holds a copy (scripts/pack/copies.ts). */
export { BaseAnthropic } from '@anthropic-ai/sdk/client';
export { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
