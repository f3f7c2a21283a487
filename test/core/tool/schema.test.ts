import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { type JsonSchema, tool } from '../../../src/core/index.ts';

async function check(inputSchema: JsonSchema, input: unknown) {
	const echo = { name: 'echo', inputSchema, passInput: true, fn: (given: unknown) => given };
	return tool.dispatch([echo], { id: 'c', name: 'echo', input });
}

const order: JsonSchema = {
	type: 'object',
	properties: {
		size: { enum: ['small', 'large'] },
		address: { $ref: '#/$defs/address' },
		lines: {
			type: 'array',
			items: { type: 'object', properties: { sku: { type: 'string' }, note: { type: 'string' } }, required: ['sku'] },
		},
	},
	required: ['address'],
	additionalProperties: false,
	$defs: {
		address: {
			type: 'object',
			properties: { city: { type: 'string' }, 'zip/code': { type: 'string' } },
			required: ['city'],
			additionalProperties: false,
		},
	},
};
const address = { city: 'Rome' };

describe('a record with a JSON Schema', () => {
	test('passes valid values unchanged', async () => {
		const input = { size: 'small', address, lines: [{ sku: 'a' }] };
		expect(await check(order, input)).toEqual({ id: 'c', output: input, isError: false });
	});

	test.each([
		['a missing property', {}, 'address'],
		['a wrong type', { address: 'Rome' }, 'address'],
		['a wrong type behind a $ref', { address: { city: 7 } }, 'address.city'],
		['a missing property behind a $ref', { address: {} }, 'city'],
		['an item of a list', { address, lines: [{ sku: 'a' }, { sku: 1 }] }, 'lines.1.sku'],
		['a value outside an enum', { size: 'huge', address }, 'size'],
		['a property that is not allowed', { address, color: 'red' }, 'color'],
		['a nested property that is not allowed', { address: { city: 'Rome', street: 'x' } }, 'address.street'],
		['a key with a slash', { address: { city: 'Rome', 'zip/code': 1 } }, 'address.zip/code'],
	])('names the path in the error for %s', async (_, input, place) => {
		const result = await check(order, input);
		expect(result).toMatchObject({ isError: true, output: expect.stringContaining(place) });
	});

	test('an enum error lists the allowed values', async () => {
		const { output } = await check(order, { size: 'huge', address });
		expect(output).toContain('small');
		expect(output).toContain('large');
	});

	test('tells the model to leave out an unknown property', async () => {
		expect((await check(order, { address, color: 'red' })).output).toMatch(/color: .*leave it out/i);
	});
});

describe('null for an optional value', () => {
	test('counts as a missing value, at any depth', async () => {
		const input = { size: null, address: { city: 'Rome', 'zip/code': null }, lines: [{ sku: 'a', note: null }] };
		expect(await check(order, input)).toMatchObject({ output: { address, lines: [{ sku: 'a' }] }, isError: false });
	});

	test('is kept if the schema accepts null', async () => {
		const schema = { type: 'object', properties: { a: { type: ['string', 'null'] } } };
		expect(await check(schema, { a: null })).toMatchObject({ output: { a: null } });
	});

	test('counts as missing, but null for a required value is an error', async () => {
		expect(await check(order, { address: { city: null } })).toMatchObject({ isError: true });
	});

	test('counts as missing, but null for an unknown property is an error', async () => {
		expect(await check(order, { address, color: null })).toMatchObject({ isError: true });
	});

	test('counts as a missing value in a union too', async () => {
		const schema = {
			type: 'object',
			properties: { at: { anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { type: 'null' }] } },
			required: ['at'],
		};
		expect(await check(schema, { at: { a: null } })).toMatchObject({ output: { at: {} } });
	});

	test('counts as a missing value in a valibot schema too, so that the default applies', async () => {
		const echo = tool.define({
			name: 'echo',
			description: 'd',
			inputSchema: v.object({ page: v.optional(v.number(), 1), in: v.object({ q: v.optional(v.string()) }) }),
			passInput: true,
			fn: (input) => input,
		});
		const result = await tool.dispatch([echo], { id: 'c', name: 'echo', input: { page: null, in: { q: null } } });
		expect(result).toMatchObject({ output: { page: 1, in: {} }, isError: false });
	});
});

describe('a record with a valibot schema', () => {
	const nested = tool.define({
		name: 'nested',
		description: 'd',
		inputSchema: v.object({ from: v.object({ day: v.pipe(v.string(), v.transform(Number), v.number()) }) }),
		passInput: true,
		fn: ({ from }) => from.day + 1,
	});

	test('passes the parsed value to the handler', async () => {
		const call = { id: 'c', name: 'nested', input: { from: { day: '4' } } };
		expect(await tool.dispatch([nested], call)).toMatchObject({ output: 5 });
	});

	test('describes the input of a transformation, not the output', () => {
		expect(nested.inputSchema).toMatchObject({ properties: { from: { properties: { day: { type: 'string' } } } } });
	});

	test('names the path of an invalid value', async () => {
		const call = { id: 'c', name: 'nested', input: { from: { day: 4 } } };
		expect(await tool.dispatch([nested], call)).toMatchObject({
			isError: true,
			output: expect.stringMatching(/^from\.day: /),
		});
	});

	test('a check that JSON Schema cannot express still runs', async () => {
		const even = v.pipe(
			v.number(),
			v.check((n) => n % 2 === 0, 'Expected an even number'),
		);
		const own = tool.define({
			name: 'own',
			description: 'd',
			inputSchema: v.object({ even }),
			passInput: true,
			fn: ({ even: n }) => n,
		});
		expect(own.inputSchema).toMatchObject({ properties: { even: { type: 'number' } } });
		const result = await tool.dispatch([own], { id: 'c', name: 'own', input: { even: 3 } });
		expect(result).toMatchObject({ isError: true, output: expect.stringContaining('even: Expected an even number') });
	});
});
