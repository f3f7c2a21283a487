import { validate as validateByLibrary } from '@cfworker/json-schema';
import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { chat, fn, type JsonSchema, providers, skill, tool, toolbox } from '../../../src/core/index.ts';
import { compileSchema } from '../../../src/core/tool/json-schema/compile.ts';
import { findIssues } from '../../../src/core/tool/json-schema/validate.ts';

const take = (inputSchema: JsonSchema) =>
	tool.define({ name: 'it', description: 'd', inputSchema, passInput: true, fn: () => 'ran' });
const of = (property: unknown): JsonSchema => ({ type: 'object', properties: { a: property } });
const call = (inputSchema: JsonSchema, input: unknown) =>
	tool.dispatch([take(inputSchema)], { id: 'c', name: 'it', input });
const fits = (schema: JsonSchema, value: unknown) => findIssues(compileSchema(schema), value).length === 0;

/** Puts a schema into a schema, `levels` times. */
function nested(levels: number, within: (inner: JsonSchema) => JsonSchema): JsonSchema {
	let schema: JsonSchema = {};
	for (let level = 0; level < levels; level++) schema = within(schema);
	return schema;
}

function deepInput(levels: number): unknown {
	return JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
}

describe('define refuses a schema that cannot check inputs, and names the path of the mistake', () => {
	test.each<[string, JsonSchema, RegExp]>([
		['a broken pattern', of({ pattern: '(' }), /^inputSchema: properties\.a\.pattern: this pattern is not valid/],
		[
			'a broken name pattern',
			{ type: 'object', patternProperties: { '[': {} } },
			/^inputSchema: patternProperties: this pattern/,
		],
		['a back reference', of({ pattern: '(a)\\1' }), /pattern: this pattern has a back reference/],
		['a $ref to nothing', of({ $ref: '#/$defs/gone' }), /properties\.a\.\$ref: "#\/\$defs\/gone" is nowhere/],
		['a $ref to another document', of({ $ref: 'https://example.com/s.json' }), /leads out of the schema/],
		[
			'a $ref in a circle',
			{ ...of({ $ref: '#/$defs/x' }), $defs: { x: { allOf: [{ $ref: '#/$defs/x' }] } } },
			/circle/,
		],
		['a schema that refers to itself', { type: 'object', anyOf: [{ $ref: '#' }] }, /circle/],
		['an unknown type', of({ type: 'text' }), /properties\.a\.type: expected one of/],
		['an anyOf that is no list', of({ anyOf: {} }), /properties\.a\.anyOf: expected a list/],
		['a number as schema', of(7), /properties\.a: expected a schema/],
		['100,000 levels', of(nested(100_000, (not) => ({ not }))), /nested more than 100 levels/],
		['nested allOf', of({ allOf: [nested(10_000, (inner) => ({ allOf: [inner] }))] }), /nested more than 100 levels/],
		['a chain of references', chain(500), /references and choices within each other/],
		['references that multiply', bomb(30), /multiply/],
	])('%s is refused', (_, inputSchema, why) => {
		expect(() => take(inputSchema)).toThrow(why);
		expect(() => tool.forAgent([{ name: 'it', inputSchema }])).toThrow(
			expect.objectContaining({ code: 'invalid_tool' }),
		);
	});

	test('an output schema with a mistake is refused too', () => {
		const record = { name: 'it', description: 'd', inputSchema: { type: 'object' }, outputSchema: { pattern: '(' } };
		expect(() => tool.define(record)).toThrow(/^outputSchema: pattern: /);
	});
});

function chain(length: number): JsonSchema {
	const defs = Array.from({ length }, (_, index) => [
		`d${index}`,
		index === length - 1 ? {} : { $ref: `#/$defs/d${index + 1}` },
	]);
	return { ...of({ $ref: '#/$defs/d0' }), $defs: Object.fromEntries(defs) };
}

function bomb(levels: number): JsonSchema {
	const twice = (index: number) => ({ allOf: [{ $ref: `#/$defs/d${index}` }, { $ref: `#/$defs/d${index}` }] });
	const defs = Array.from({ length: levels }, (_, index) => [
		`d${index}`,
		index === levels - 1 ? {} : twice(index + 1),
	]);
	return { ...of({ $ref: '#/$defs/d0' }), $defs: Object.fromEntries(defs) };
}

/** A full check of any of these inputs would delay all other requests for seconds at least. */
const slow: [string, JsonSchema, unknown][] = [
	['a pattern that can match in many ways', of({ pattern: '^(a+)+$' }), { a: `${'a'.repeat(34)}!` }],
	['an ambiguous pattern on a long text', of({ pattern: '^(a|a)*$' }), { a: `${'a'.repeat(1_000_000)}!` }],
	['a name pattern', { type: 'object', patternProperties: { '^(a+)+$': {} } }, { [`${'a'.repeat(40)}!`]: 1 }],
	['names that must match', { type: 'object', propertyNames: { pattern: '(x+x+)+y' } }, { ['x'.repeat(5_000)]: 1 }],
	['a choice at every level', { type: 'object', anyOf: [of({ $ref: '#' }), of({ $ref: '#' })] }, deepInput(60)],
	[
		'entries that must differ',
		of({ uniqueItems: true }),
		{ a: Array.from({ length: 100_000 }, (_, index) => [index]) },
	],
	[
		'a long list with many choices for each item',
		of({ items: { anyOf: Array.from({ length: 500 }, (_, index) => ({ const: `${index}` })) } }),
		{ a: Array(50_000).fill('x') },
	],
	[
		'a long enum',
		of({ items: { enum: Array.from({ length: 5_000 }, (_, index) => index) } }),
		{ a: Array(50_000).fill('x') },
	],
	[
		'many names and many patterns for names',
		{
			type: 'object',
			patternProperties: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`^a{${index}}$`, {}])),
		},
		Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 1])),
	],
];

describe('a check takes a bounded time', () => {
	test.each(slow)('with %s', async (_, inputSchema, input) => {
		const begun = process.cpuUsage();
		await call(inputSchema, input);
		// The check takes about 50 ms of the processor. Without a bound it would take seconds, or never end.
		const { user, system } = process.cpuUsage(begun);
		expect((user + system) / 1_000).toBeLessThan(2_000);
	});
});

describe('deeply nested input', () => {
	test.each([101, 5_000, 1_000_000])('of %i levels is reported as too deep', async (levels) => {
		const input = deepInput(levels);
		for (const inputSchema of [{ type: 'object' }, { type: 'object', properties: { a: { $ref: '#' } } }]) {
			const result = await call(inputSchema, input);
			expect(result).toMatchObject({ isError: true, output: expect.stringContaining('100 levels') });
		}
	});

	test('is reported as too deep even if the schema is a valibot schema', async () => {
		const tree: v.GenericSchema = v.object({ a: v.optional(v.lazy(() => tree)) });
		const own = tool.define({
			name: 'own',
			description: 'd',
			inputSchema: v.object({ a: v.any() }),
			passInput: true,
			fn: () => 'ran',
		});
		for (const one of [own, tool.define({ name: 'own', description: 'd', inputSchema: tree, fn: () => 'ran' })]) {
			const result = await tool.dispatch([one], { id: 'c', name: 'own', input: deepInput(5_000) });
			expect(result).toMatchObject({ isError: true, output: expect.stringContaining('100 levels') });
		}
	});

	test('of 90 levels is checked at every level by a recursive schema', async () => {
		const schema = { type: 'object', properties: { a: { anyOf: [{ $ref: '#' }, { type: 'integer' }] } } };
		expect(await call(schema, deepInput(90))).toMatchObject({ output: 'ran' });
		const wrong = JSON.parse(JSON.stringify(deepInput(90)).replace('1', '"x"'));
		expect(await call(schema, wrong)).toMatchObject({ isError: true, output: expect.stringMatching(/^(a\.){89}a: /) });
	});

	test('is reported as invalid_argument by toolbox.perform', async () => {
		const box = toolbox.build([take({ type: 'object' })]);
		expect(await toolbox.perform('it', { a: deepInput(5_000) }, box)).toMatchObject({
			ok: false,
			error: { kind: 'invalid_argument' },
		});
	});
});

describe('draft 2020-12', () => {
	/** Schemas that this project reads in the same way as the library that it used earlier. */
	const leaf = fc.constantFrom<JsonSchema>(
		...[
			{},
			{ type: 'string' },
			{ type: 'integer' },
			{ type: ['null', 'boolean'] },
			{ const: 1 },
			{ enum: ['a', 'b', [1]] },
		],
		...[{ minimum: 1, maximum: 2 }, { exclusiveMinimum: 1 }, { multipleOf: 0.5 }, { minLength: 1, maxLength: 2 }],
		...[
			{ pattern: '^a' },
			{ required: ['a'] },
			{ minItems: 1, maxItems: 2 },
			{ uniqueItems: true },
			{ minProperties: 1, maxProperties: 1 },
		],
		...[{ $ref: '#/$defs/text' }, { dependentRequired: { a: ['b'] } }, { format: 'date' }],
	);
	const { schema } = fc.letrec<{ schema: JsonSchema; inner: JsonSchema | boolean }>((tie) => {
		const inner = fc.oneof({ weight: 6, arbitrary: tie('schema') }, { weight: 1, arbitrary: fc.boolean() });
		const list = fc.array(inner, { minLength: 1, maxLength: 2 });
		return {
			inner,
			schema: fc.oneof(
				{ maxDepth: 3, withCrossShrink: true },
				leaf,
				fc.record(
					{ properties: fc.record({ a: inner, b: inner }, { requiredKeys: [] }), additionalProperties: inner },
					{ requiredKeys: [] },
				),
				fc.record(
					{ patternProperties: fc.record({ '^a': inner }), propertyNames: fc.constant({ maxLength: 1 }) },
					{ requiredKeys: [] },
				),
				fc.record({ prefixItems: list, items: inner }, { requiredKeys: [] }),
				fc.record(
					{ contains: inner, minContains: fc.constantFrom(1, 2), maxContains: fc.constant(2) },
					{ requiredKeys: ['contains', 'minContains'] },
				),
				fc.record({ allOf: list, type: fc.constantFrom('object', 'array', 'string') }, { requiredKeys: ['allOf'] }),
				fc.record({ anyOf: list }),
				fc.record({ oneOf: list }),
				fc.record({ not: inner }),
				fc.record(Object.fromEntries(['if', 'then', 'else'].map((keyword) => [keyword, inner]))),
				fc.record({ dependentSchemas: fc.record({ a: inner }) }),
			),
		};
	});
	const value = fc.letrec((tie) => ({
		value: fc.oneof(
			{ maxDepth: 3 },
			fc.constantFrom<unknown>(null, true, 0, 1, 1.5, 2, '', 'a', 'ab', 'abc', '2026-01-31', '😀'),
			fc.array(tie('value'), { maxLength: 3 }),
			fc.dictionary(fc.constantFrom('a', 'b', 'ab'), tie('value'), { maxKeys: 3 }),
		),
	})).value;

	test('a check has the same result as a check by another validator', () => {
		fc.assert(
			fc.property(schema, value, (given, input) => {
				const whole = { $defs: { text: { type: 'string' } }, ...given };
				expect(fits(whole, input)).toBe(validateByLibrary(input, structuredClone(whole), '2020-12').valid);
			}),
			{ numRuns: 3_000 },
		);
	});

	test.each<[JsonSchema, unknown, boolean]>([
		[{ ...of(true), unevaluatedProperties: false }, { a: 1 }, true],
		[{ ...of(true), unevaluatedProperties: false }, { a: 1, b: 1 }, false],
		[{ allOf: [of(true)], unevaluatedProperties: false }, { a: 1 }, true],
		[{ allOf: [of(true), { unevaluatedProperties: false }] }, { a: 1 }, false],
		[{ anyOf: [of({ const: 1 }), { properties: { b: true } }], unevaluatedProperties: false }, { a: 2, b: 1 }, false],
		[{ prefixItems: [true], unevaluatedItems: false }, [1], true],
		[{ prefixItems: [true], unevaluatedItems: false }, [1, 2], false],
		[{ contains: { const: 1 }, unevaluatedItems: { const: 2 } }, [2, 1], true],
		[
			{ uniqueItems: true },
			[
				{ a: 1, b: 2 },
				{ b: 2, a: 1 },
			],
			false,
		],
		[{ uniqueItems: true }, [1, '1', true, null, [], {}], true],
		[{ multipleOf: 0.1 }, 0.3, true],
		[{ multipleOf: 0.01 }, 19.99, true],
		[{ multipleOf: 0.1 }, 0.35, false],
		[{ const: { __proto__: null } }, {}, true],
		[JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), JSON.parse('{"__proto__":1}'), false],
		[JSON.parse('{"required":["toString"]}'), {}, false],
	])('%j accepts %j: %s', (given, input, expected) => {
		expect(fits(given, input)).toBe(expected);
	});
});

describe('a schema of an older draft', () => {
	const old = {
		$schema: 'http://json-schema.org/draft-07/schema#',
		type: 'object',
		properties: {
			pair: { type: 'array', items: [{ type: 'string' }, { $ref: '#/definitions/n' }], additionalItems: false },
			free: { type: 'array', items: [{ type: 'string' }] },
			open: { type: 'number', minimum: 0, exclusiveMinimum: true },
		},
		dependencies: { pair: ['open'], free: { required: ['pair'] } },
		definitions: { n: { type: 'number' } },
		examples: [{ items: [1] }],
	};

	test('is converted to 2020-12', () => {
		expect(take(old).inputSchema).toEqual({
			type: 'object',
			properties: {
				pair: { type: 'array', prefixItems: [{ type: 'string' }, { $ref: '#/$defs/n' }], items: false },
				free: { type: 'array', prefixItems: [{ type: 'string' }] },
				open: { type: 'number', exclusiveMinimum: 0 },
			},
			dependentRequired: { pair: ['open'] },
			dependentSchemas: { free: { required: ['pair'] } },
			$defs: { n: { type: 'number' } },
			examples: [{ items: [1] }],
		});
	});

	test('is enforced', async () => {
		expect(await call(old, { pair: ['a', 1], open: 1 })).toMatchObject({ output: 'ran' });
		for (const wrong of [
			{ pair: ['a', 'b'], open: 1 },
			{ pair: ['a', 1, 2], open: 1 },
			{ pair: ['a', 1] },
			{ free: [] },
			{ open: 0 },
		])
			expect(await call(old, wrong)).toMatchObject({ isError: true });
	});

	test('reaches the provider with the keywords of 2020-12, for every kind of tool', async () => {
		const pair = v.object({ pair: v.tuple([v.string(), v.number()]) });
		const tools = [
			{ name: 'raw', description: 'd', inputSchema: old },
			tool.define({ name: 'valibot', description: 'd', inputSchema: pair }),
			tool.fromFn(fn({ name: 'signature', params: [['pair', v.tuple([v.string(), v.number()])]] }, () => 1)),
		];
		let sent = '';
		const anthropic = providers.anthropic({
			apiKey: 'any',
			maxRetries: 0,
			fetch: async (_, init) => {
				sent = String(init?.body);
				return new Response('{}', { status: 400 });
			},
		});
		const asked = chat.run({ model: 'claude-sonnet-4-5', providers: [anthropic], tools, outputSchema: old }, [
			chat.userMessage('hi'),
		]);
		await asked.result.catch(() => {});
		const body = JSON.parse(sent);
		expect(JSON.stringify(body.output_config)).toContain('prefixItems');
		expect(body.tools).toHaveLength(3);
		for (const { input_schema } of body.tools)
			expect(input_schema.properties.pair).toMatchObject({ type: 'array', prefixItems: [{ type: 'string' }, {}] });
		expect(JSON.stringify(body.tools)).not.toMatch(/"items":\[\{"type":"string"|definitions|draft-07/);
	});

	test('is converted, but a schema of 2020-12 stays the same object', () => {
		const current = of({ prefixItems: [{}] });
		expect(take(current).inputSchema).toBe(current);
	});
});

describe('the strict form', () => {
	const box = (inputSchema: JsonSchema) => toolbox.spec('it', toolbox.build([take(inputSchema)]))?.function;

	test('forbids additional tuple items, whether the schema uses `items` or `prefixItems`', () => {
		const closed = { properties: { a: { prefixItems: [{ type: 'string' }], items: false } } };
		const required = (a: unknown) => ({ ...of(a), required: ['a'] });
		expect(box(required({ type: 'array', items: [{ type: 'string' }] }))?.parameters).toMatchObject(closed);
		expect(box(required({ type: 'array', prefixItems: [{ type: 'string' }] }))?.parameters).toMatchObject(closed);
		const own = tool.define({ name: 'it', description: 'd', inputSchema: v.object({ a: v.tuple([v.string()]) }) });
		expect(own.inputSchema).toMatchObject({ properties: { a: { type: 'array', prefixItems: [{ type: 'string' }] } } });
		expect(toolbox.spec('it', toolbox.build([own]))?.function).toMatchObject({ strict: true, parameters: closed });
	});

	test('allows any fields in the context of apply_skill', () => {
		const builtins = toolbox.build(skill.builtins([{ name: 'a', description: 'b', body: 'c' }]));
		const spec = toolbox.spec('apply_skill', builtins)?.function;
		expect(spec?.strict).toBe(false);
		expect(JSON.stringify(spec?.parameters.properties)).not.toContain('"additionalProperties":false');
	});

	test.each<[string, unknown]>([
		['of any fields', { type: 'object', additionalProperties: {} }],
		['of fields of one type', { type: 'object', additionalProperties: { type: 'string' } }],
		['that names no fields', { type: 'object' }],
	])('leaves open an object %s, and marks the schema as not strict', (_, open) => {
		const spec = box({ ...of(open), required: ['a'] });
		expect(spec).toMatchObject({ strict: false, parameters: { additionalProperties: false } });
		expect(spec?.parameters.properties).toEqual({ a: open });
	});
});
