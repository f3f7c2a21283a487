import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fn, type JsonSchema, tool, toolbox } from '../../../src/core/index.ts';

const isRecord = (value: unknown): value is Record<string, unknown> => v.is(v.record(v.string(), v.unknown()), value);

/** Lists where a schema breaks OpenAI's rules for strict functions: close objects, require all properties. */
function violations(schema: unknown, path = '$'): string[] {
	if (!isRecord(schema)) return [];
	const named = [schema.properties, schema.$defs].filter(isRecord).flatMap(Object.entries<unknown>);
	const listed = [schema.anyOf, schema.items].flat().map((item, index) => [index, item] as const);
	const below = [...named, ...listed].flatMap(([key, value]) => violations(value, `${path}.${key}`));
	if (!isRecord(schema.properties)) return below;
	const all = Object.keys(schema.properties).sort();
	const required = Array.isArray(schema.required) ? [...schema.required].sort() : [];
	return [
		...(schema.additionalProperties === false ? [] : [`${path}: open`]),
		...(JSON.stringify(all) === JSON.stringify(required) ? [] : [`${path}: requires ${required} of ${all}`]),
		...below,
	];
}

const readParameters = (inputSchema: JsonSchema) =>
	toolbox.specs(toolbox.build([{ name: 'it', inputSchema }]))[0]?.function.parameters;

const line = v.object({
	sku: v.string(),
	note: v.optional(v.string()),
	gift: v.optional(v.object({ to: v.optional(v.string()) })),
});
const order = fn(
	{
		name: 'order',
		doc: 'Order things.',
		params: [
			['lines', v.array(line)],
			['address', v.object({ city: v.string(), zip: v.optional(v.string()) })],
			['speed', v.optional(v.picklist(['slow', 'fast']))],
			['pay', v.optional(v.union([v.object({ card: v.optional(v.string()) }), v.literal('cash')]))],
		],
	},
	(...args) => args,
);
const box = toolbox.build([order]);

describe('spec', () => {
	test('returns a tool in the strict function format of OpenAI', () => {
		const simple = fn(
			{ name: 'thing', doc: 'Does something.', params: [['thing', v.pipe(v.string(), v.description('The thing.'))]] },
			(x) => x,
		);
		expect(toolbox.spec('thing', toolbox.build([simple]))).toEqual({
			type: 'function',
			function: {
				name: 'thing',
				description: 'Does something.',
				strict: true,
				parameters: {
					type: 'object',
					properties: { thing: { type: 'string', description: 'The thing.' } },
					required: ['thing'],
					additionalProperties: false,
				},
			},
		});
	});

	test.each(['gone', '__proto__', 'constructor'])('returns undefined if the box has no tool named %s', (name) => {
		expect(toolbox.spec(name, box)).toBeUndefined();
	});

	test('specs returns the specification of each tool, in order', () => {
		const basic = toolbox.basic();
		expect(toolbox.specs(basic)).toEqual(Object.keys(basic).map((name) => toolbox.spec(name, basic)));
	});
});

describe('strict', () => {
	test('requires all properties and accepts no others, at every level', () => {
		expect(violations(toolbox.spec('order', box)?.function.parameters)).toEqual([]);
		expect(violations(tool.schemaFromFn(order).inputSchema)).not.toEqual([]);
	});

	test('lets an optional property be null, at every level', () => {
		const parameters = JSON.stringify(toolbox.spec('order', box)?.function.parameters);
		expect(toolbox.spec('order', box)?.function.parameters).toMatchObject({
			properties: {
				lines: { items: { properties: { note: { type: ['string', 'null'] }, gift: { type: ['object', 'null'] } } } },
				address: { properties: { city: { type: 'string' }, zip: { type: ['string', 'null'] } } },
			},
		});
		expect(parameters).toContain('null');
	});

	test('adds the value null to an optional enum', async () => {
		const speed = { type: 'string', enum: ['slow', 'fast'] };
		expect(readParameters({ type: 'object', properties: { speed } })).toMatchObject({
			properties: { speed: { type: ['string', 'null'], enum: ['slow', 'fast', null] } },
		});
	});

	test('the tools accept the arguments that the specs describe', async () => {
		const args = {
			lines: [
				{ sku: 'a', note: null, gift: { to: null } },
				{ sku: 'b', note: 'soon', gift: null },
			],
			address: { city: 'Rome', zip: null },
			speed: null,
			pay: { card: null },
		};
		const asked = readParameters(tool.schemaFromFn(order).inputSchema) ?? {};
		const model = tool.define({
			name: 'model',
			description: 'd',
			inputSchema: asked,
			passInput: true,
			fn: () => 'fits',
		});
		// `perform` counts a null as missing even where a schema requires it, so the test uses `dispatch`.
		expect(await tool.dispatch([model], { id: 'c', name: 'model', input: args })).toMatchObject({ output: 'fits' });
		expect(await toolbox.perform('order', args, box)).toEqual({
			ok: true,
			value: [
				[
					{ sku: 'a', gift: {} },
					{ sku: 'b', note: 'soon' },
				],
				{ city: 'Rome' },
				null,
				{},
			],
		});
	});

	test('an optional constant can be null', async () => {
		const own = fn({ name: 'own', params: [['only', z.literal('x').optional()]] }, () => 1);
		const asked = readParameters(tool.schemaFromFn(own).inputSchema) ?? {};
		const model = tool.define({
			name: 'model',
			description: 'd',
			inputSchema: asked,
			passInput: true,
			fn: () => 'fits',
		});
		for (const only of ['x', null]) {
			const input = { only };
			expect(await tool.dispatch([model], { id: 'c', name: 'model', input })).toMatchObject({ output: 'fits' });
		}
	});

	test('definitions behind a $ref are strict too', () => {
		const parameters = readParameters({
			type: 'object',
			properties: { at: { $ref: '#/$defs/at' } },
			$defs: { at: { type: 'object', properties: { x: { type: 'number' } } } },
		});
		expect(violations(parameters)).toEqual([]);
		expect(parameters).toMatchObject({ properties: { at: { anyOf: [{ $ref: '#/$defs/at' }, { type: 'null' }] } } });
	});

	test('a tool without parameters gets an empty schema that allows no properties', () => {
		expect(readParameters({ type: 'object' })).toEqual({
			type: 'object',
			properties: {},
			required: [],
			additionalProperties: false,
		});
	});

	test('a property that is named like a keyword stays a property', () => {
		const properties = {
			items: { type: 'string' },
			properties: { type: 'object', properties: { a: { type: 'string' } } },
		};
		const parameters = readParameters({ type: 'object', properties, required: ['items', 'properties'] });
		expect(violations(parameters)).toEqual([]);
		expect(parameters).toMatchObject({ properties: { items: { type: 'string' } } });
	});

	test('does not change the schema of the tool', () => {
		const before = structuredClone(tool.schemaFromFn(order).inputSchema);
		toolbox.specs(box);
		expect(tool.schemaFromFn(order).inputSchema).toEqual(before);
	});
});
