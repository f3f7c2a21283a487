/** All operations, of every way in. */
export * from '../../../../src/cloudflare/protocols/openai/operations.ts';
export * from '../../../../src/cloudflare/wire/operations/index.ts';
export * from '../../../../src/cloudflare/wire/operations/webhooks.ts';
