/** The used part of Anthropic's SDK. The first request loads it. The package holds a copy (scripts/pack/copies.ts). */
export { BaseAnthropic } from '@anthropic-ai/sdk/client';
export { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
