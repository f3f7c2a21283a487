import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fn, tool } from '../../../src/core/index.ts';
import { refusal } from './support.ts';

const integer = v.pipe(v.number(), v.integer());
const add = fn(
	{
		name: 'myapp/add',
		doc: 'Add two integers and return the sum.',
		params: [
			['x', integer],
			['y', integer],
		],
		returns: integer,
	},
	(x, y) => x + y,
);

const call = (f: Parameters<typeof tool.fromFn>[0], input: unknown) =>
	tool.dispatch([tool.fromFn(f)], { id: 'c', name: f.meta.name, input });

describe('a function made with fn', () => {
	test('is still an ordinary function', () => {
		expect(add(2, 3)).toBe(5);
	});

	test('can be async', async () => {
		const later = fn({ name: 'later' }, async () => 'done');
		expect(await later()).toBe('done');
		expect(await call(later, {})).toEqual({ id: 'c', output: 'done', isError: false });
	});

	test('keeps its description in meta', () => {
		expect(add.meta).toMatchObject({ name: 'myapp/add', doc: 'Add two integers and return the sum.' });
	});

	test('needs no params', async () => {
		expect(
			await call(
				fn({ name: 'ping' }, () => 'pong'),
				undefined,
			),
		).toMatchObject({ output: 'pong', isError: false });
	});

	test('is refused without a name', () => {
		expect(refusal(() => fn({ name: '' }, () => 1))).toMatchObject({ code: 'invalid_tool', data: { field: 'name' } });
	});

	test('is refused if two parameters have the same name', () => {
		const params = [
			['x', integer],
			['x', integer],
		] as const;
		expect(refusal(() => fn({ name: 'f', params }, () => 1)).message).toContain('x');
	});
});

describe('schemaFromFn', () => {
	test('returns name, description, inputSchema and outputSchema', () => {
		const search = fn(
			{
				name: 'myapp/search',
				params: [
					['query', v.string()],
					['limit', integer],
				],
				returns: v.array(v.string()),
			},
			(query) => [query],
		);
		expect(tool.schemaFromFn(search)).toEqual({
			name: 'myapp/search',
			inputSchema: {
				type: 'object',
				properties: { query: { type: 'string' }, limit: { type: 'integer' } },
				required: ['query', 'limit'],
			},
			outputSchema: { type: 'array', items: { type: 'string' } },
		});
		expect(tool.schemaFromFn(add)).toMatchObject({ description: 'Add two integers and return the sum.' });
	});

	test('computes the schema of a function only once', () => {
		expect(tool.schemaFromFn(add)).toBe(tool.schemaFromFn(add));
	});

	test('an optional parameter is described but not required', () => {
		const f = fn({ name: 'f', params: [['n', v.optional(v.string())]] }, (n) => n ?? 'none');
		const { inputSchema } = tool.schemaFromFn(f);
		expect(inputSchema).toMatchObject({ properties: { n: { type: 'string' } }, required: [] });
	});

	test('refuses a plain function, and names the remedy', () => {
		const plain = Object.assign((x: number) => x, { meta: undefined });
		// @ts-expect-error a plain function has no signature
		const error = refusal(() => tool.schemaFromFn(plain));
		expect(error).toMatchObject({ code: 'invalid_tool' });
		expect(error.message).toContain('fn(');
	});

	test.each([
		['valibot', v.date()],
		['valibot bigint', v.bigint()],
		['Zod', z.date()],
	])('refuses a parameter that JSON Schema cannot express, and names the parameter (%s)', (_, schema) => {
		const error = refusal(() => tool.schemaFromFn(fn({ name: 'f', params: [['when', schema]] }, () => 1)));
		expect(error).toMatchObject({ code: 'invalid_tool' });
		expect(error.message).toContain('when');
	});

	test('a recursive parameter is still checked after its schema was written and read as JSON', async () => {
		interface Tree {
			readonly name: string;
			readonly kids: readonly Tree[];
		}
		const ofValibot: v.GenericSchema<Tree> = v.object({ name: v.string(), kids: v.array(v.lazy(() => ofValibot)) });
		const ofZod: z.ZodType<Tree> = z.object({
			name: z.string(),
			get kids() {
				return z.array(ofZod);
			},
		});
		for (const schema of [ofValibot, ofZod]) {
			const made = tool.fromFn(
				fn(
					{
						name: 'f',
						params: [
							['id', v.string()],
							['tree', schema],
						],
					},
					(_, tree) => tree.name,
				),
			);
			const [read] = tool.attach(JSON.parse(JSON.stringify(tool.toData([made]))), { f: (_, tree) => tree });
			const good = { id: 'a', tree: { name: 'root', kids: [{ name: 'kid', kids: [] }] } };
			const bad = { id: 'a', tree: { name: 'root', kids: [{ name: 7, kids: [] }] } };
			const dispatch = (input: unknown) => tool.dispatch(read ? [read] : [], { id: 'c', name: 'f', input });
			expect(await dispatch(good)).toMatchObject({ isError: false, output: good.tree });
			expect(await dispatch(bad)).toMatchObject({ isError: true, output: expect.stringContaining('tree.kids.0.name') });
		}
	});
});

describe('any Standard Schema with JSON Schema', () => {
	const zodAdd = fn(
		{
			name: 'zod',
			params: [
				['x', z.number()],
				['y', z.number().optional()],
			],
		},
		(x, y = 1) => x + y,
	);
	const arkAdd = fn({ name: 'ark', params: [['at', type({ x: 'number', 'y?': 'number' })]] }, ({ x, y = 1 }) => x + y);

	test('Zod 4 describes and checks a parameter', async () => {
		expect(tool.schemaFromFn(zodAdd).inputSchema).toMatchObject({
			properties: { x: { type: 'number' } },
			required: ['x'],
		});
		expect(await call(zodAdd, { x: 1, y: 2 })).toMatchObject({ output: 3, isError: false });
		expect(await call(zodAdd, { x: '1' })).toMatchObject({ output: expect.stringContaining('x'), isError: true });
	});

	test('Zod 4: an optional parameter can be missing or null', async () => {
		expect(await call(zodAdd, { x: 1 })).toMatchObject({ output: 2 });
		expect(await call(zodAdd, { x: 1, y: null })).toMatchObject({ output: 2 });
	});

	test('ArkType describes and checks a parameter, and names the path of an error', async () => {
		expect(tool.schemaFromFn(arkAdd).inputSchema).toMatchObject({
			properties: { at: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
		});
		expect(await call(arkAdd, { at: { x: 1 } })).toMatchObject({ output: 2 });
		expect(await call(arkAdd, { at: { x: 'one' } })).toMatchObject({
			output: expect.stringContaining('at.x'),
			isError: true,
		});
	});
});

test('an ArkType error for a scalar parameter begins with the name of the parameter', async () => {
	const half = fn({ name: 'half', params: [['x', type('number')]] }, (x) => x / 2);
	const { output } = await tool.dispatch([tool.fromFn(half)], { id: 'c', name: 'half', input: { x: 'one' } });
	expect(output).toMatch(/^x: must be a number/);
});
