import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { fn, tool } from '../../../src/core/index.ts';
import { refusal } from './support.ts';

const search = fn({ name: 'myapp/search', doc: 'Search.', params: [['query', v.string()]] }, (query) => [query]);
const weather = { name: 'weather', description: 'weather by city', inputSchema: { type: 'object' } } as const;

describe('fromFn', () => {
	test('uses the name and the description of the function', () => {
		expect(tool.fromFn(search)).toMatchObject({ name: 'myapp/search', description: 'Search.', fn: search });
		expect(tool.fromFn(search).inputSchema).toEqual(tool.schemaFromFn(search).inputSchema);
	});

	test('prefers an override to meta.tool, and prefers meta.tool to the function', () => {
		const named = fn({ name: 'a', doc: 'A.', tool: { name: 'b', description: 'B.' } }, () => 1);
		expect(tool.fromFn(named)).toMatchObject({ name: 'b', description: 'B.' });
		expect(tool.fromFn(named, { name: 'c', description: 'C.' })).toMatchObject({ name: 'c', description: 'C.' });
	});

	test('ignores an undefined override', () => {
		expect(tool.fromFn(search, { description: undefined })).toMatchObject({ description: 'Search.' });
	});

	test('makes a tool without a description if the function has no doc', () => {
		expect(tool.fromFn(fn({ name: 'f' }, () => 1)).description).toBeUndefined();
	});

	test('accepts overrides of inputSchema, passInput and fn', async () => {
		const made = tool.fromFn(search, { inputSchema: { type: 'object' }, passInput: true, fn: (input) => input });
		expect(await tool.dispatch([made], { id: 'c', name: made.name, input: { any: 1 } })).toMatchObject({
			output: { any: 1 },
		});
	});
});

describe('forAgent', () => {
	test('accepts functions and records together, and keeps their order', () => {
		const tools = tool.forAgent([search, { ...weather, name: 'web' }, fn({ name: 'last' }, () => 1)]);
		expect(tools.map(({ name }) => name)).toEqual(['myapp/search', 'web', 'last']);
	});

	test('returns no tools for no entries', () => {
		expect(tool.forAgent([])).toEqual([]);
	});

	test('throws duplicate_tool with the duplicate name', () => {
		const error = refusal(() => tool.forAgent([weather, { ...weather }]));
		expect(error).toMatchObject({ code: 'duplicate_tool', message: expect.stringContaining('weather') });
	});

	test('throws duplicate_tool for a name that equals the alias of another tool', () => {
		const twin = { ...weather, name: tool.providerName('myapp/search') };
		const error = refusal(() => tool.forAgent([search, twin]));
		expect(error.code).toBe('duplicate_tool');
		expect(error.message).toContain('myapp/search');
	});

	test('accepts names such as __proto__ and constructor', () => {
		const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
		const tools = tool.forAgent(names.map((name) => ({ ...weather, name })));
		expect(tools.map(({ name }) => name)).toEqual(names);
	});
});

describe('findByName', () => {
	test('finds a tool by its name', () => {
		const tools = tool.forAgent([search, weather]);
		expect(tool.findByName(tools, 'weather')).toBe(tools[1]);
	});

	test.each(['nothing', '', '__proto__', 'constructor', 'length'])(
		'returns undefined if no tool matches (%j)',
		(name) => {
			expect(tool.findByName(tool.forAgent([weather]), name)).toBeUndefined();
		},
	);
});

describe('define', () => {
	test('accepts a record with the three required fields and no handler', () => {
		const made = tool.define(weather);
		expect(made).toMatchObject(weather);
		expect(made.fn).toBeUndefined();
	});

	test.each(['name', 'description', 'inputSchema'])('requires %s, and the error names the field', (field) => {
		const { [field]: _, ...rest } = { ...weather } as Record<string, unknown>;
		// @ts-expect-error a field is missing
		const error = refusal(() => tool.define(rest));
		expect(error).toMatchObject({ code: 'invalid_tool', data: { field } });
		expect(error.message).toContain(field);
	});

	test.each([undefined, null, 'yes', 1])('refuses %j in the field `manual`, and names the field', (manual) => {
		// @ts-expect-error manual is a boolean
		const error = refusal(() => tool.define({ ...weather, manual }));
		expect(error).toMatchObject({ code: 'invalid_tool', data: { field: 'manual' } });
		expect(error.message).toContain('manual');
	});

	test.each([true, false])('keeps %j in the field `manual`', (manual) => {
		expect(tool.define({ ...weather, manual }).manual).toBe(manual);
	});

	test('treats the field `manual` as false if it is missing', () => {
		expect(tool.define(weather).manual ?? false).toBe(false);
	});

	test.each([undefined, null, 'text', 7])('refuses a value that is not a record (%j)', (record) => {
		// @ts-expect-error the value is not a record
		expect(refusal(() => tool.define(record)).code).toBe('invalid_tool');
	});

	test('converts a valibot schema to JSON Schema', () => {
		const made = tool.define({ ...weather, inputSchema: v.object({ city: v.string() }) });
		expect(made.inputSchema).toMatchObject({
			type: 'object',
			properties: { city: { type: 'string' } },
			required: ['city'],
		});
	});

	test('refuses a schema that JSON Schema cannot express, and names the schema', () => {
		const error = refusal(() => tool.define({ ...weather, inputSchema: v.object({ when: v.date() }) }));
		expect(error).toMatchObject({ code: 'invalid_tool', message: expect.stringContaining('weather: inputSchema') });
	});
});

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

	test('the alias is the same in every process', () => {
		expect(tool.providerName('::myapp/add')).toBe('myapp_add_0tnp62elyc3');
	});

	test('the alias of an alias is the same alias', () => {
		fc.assert(fc.property(anyName, (name) => tool.providerName(tool.providerName(name)) === tool.providerName(name)));
	});

	test('similar names have different aliases', () => {
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

	test('names that differ only after the 64th character have different aliases', () => {
		const long = 'x'.repeat(80);
		expect(tool.providerName(`${long}1`)).not.toBe(tool.providerName(`${long}2`));
	});

	test('the alias keeps a readable part of the name', () => {
		expect(tool.providerName('myapp/search-docs')).toMatch(/^myapp_search-docs/);
	});

	test('a call by the alias finds the tool', async () => {
		await fc.assert(
			fc.asyncProperty(fc.string({ minLength: 1 }), async (name) => {
				const own = tool.define({ name, description: 'd', inputSchema: { type: 'object' }, fn: () => name });
				const result = await tool.dispatch([own], { id: 'c', name: tool.providerName(name), input: {} });
				expect(result).toEqual({ id: 'c', output: name, isError: false });
			}),
		);
	});

	test("if a name is also another tool's alias, a call finds the tool with the name", async () => {
		const record = (name: string) => tool.define({ name, description: 'd', inputSchema: {}, fn: () => name });
		const alias = tool.providerName('a/b');
		const result = await tool.dispatch([record('a/b'), record(alias)], { id: 'c', name: alias, input: {} });
		expect(result.output).toBe(alias);
	});
});
