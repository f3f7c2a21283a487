/** All operations, of every way in. */
export * from '../../src/compat/openai/operations.ts';
export * from '../../src/wire/operations/index.ts';
