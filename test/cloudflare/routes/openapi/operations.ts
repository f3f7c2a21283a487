/** All operations, of every way in. */

export * from '../../../../src/cloudflare/wire/operations/index.ts';
export * from '../../../../src/cloudflare/wire/operations/webhooks.ts';
export * from '../../../../src/cloudflare/wire/protocols/openai/operations.ts';
