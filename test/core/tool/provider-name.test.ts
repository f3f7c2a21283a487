import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tool } from '../../../src/core/index.ts';

const valid = /^[a-zA-Z0-9_-]{1,64}$/;
const anyName = fc.oneof(
	fc.string({ unit: 'binary', maxLength: 90 }),
	fc.string({ unit: fc.constantFrom('a', '_', '/', '.', ':', '-', ' '), maxLength: 90 }),
);

describe('providerName', () => {
	test('a valid name is unchanged', () => {
		fc.assert(fc.property(fc.stringMatching(valid), (name) => tool.providerName(name) === name));
	});

	test('any other name gets a valid alias', () => {
		fc.assert(fc.property(anyName, (name) => valid.test(tool.providerName(name))));
	});

	test('the alias is stable: the same today and in every process', () => {
		expect(tool.providerName('::myapp/add')).toBe('myapp_add_0tnp62elyc3');
	});

	test('an alias is its own alias', () => {
		fc.assert(fc.property(anyName, (name) => tool.providerName(tool.providerName(name)) === tool.providerName(name)));
	});

	test('different names never share an alias, however alike', () => {
		fc.assert(
			fc.property(fc.uniqueArray(anyName, { maxLength: 60 }), (names) => {
				const aliases = names.map(tool.providerName);
				const clashes = aliases.filter((alias, index) => aliases.indexOf(alias) !== index);
				expect(clashes).toEqual([]);
			}),
		);
		const alike = ['a/b', 'a.b', 'a:b', 'a b', 'a_b', '/a/b', 'a//b', '_a/b', 'a/b/'];
		expect(new Set(alike.map(tool.providerName)).size).toBe(alike.length);
	});

	test('names that differ only past the 64th character keep apart', () => {
		const long = 'x'.repeat(80);
		expect(tool.providerName(`${long}1`)).not.toBe(tool.providerName(`${long}2`));
	});

	test('a readable part of the name stays', () => {
		expect(tool.providerName('myapp/search-docs')).toMatch(/^myapp_search-docs/);
	});

	test('a call under the alias finds its tool', async () => {
		await fc.assert(
			fc.asyncProperty(fc.string({ minLength: 1 }), async (name) => {
				const own = tool.define({ name, description: 'd', inputSchema: { type: 'object' }, fn: () => name });
				const result = await tool.dispatch([own], { id: 'c', name: tool.providerName(name), input: {} });
				expect(result).toEqual({ id: 'c', output: name, isError: false });
			}),
		);
	});

	test('a tool of that own name goes before one of that alias', async () => {
		const record = (name: string) => tool.define({ name, description: 'd', inputSchema: {}, fn: () => name });
		const alias = tool.providerName('a/b');
		const result = await tool.dispatch([record('a/b'), record(alias)], { id: 'c', name: alias, input: {} });
		expect(result.output).toBe(alias);
	});
});
