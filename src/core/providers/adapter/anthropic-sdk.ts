/**
 * What is used of Anthropic's SDK, in a module of its own: it is loaded by the first request, and a bundler can leave out
 * the rest.
 */
export { BaseAnthropic } from '@anthropic-ai/sdk/client';
export { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
