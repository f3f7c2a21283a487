import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { fn, type Tool, tool } from '../../../src/core/index.ts';
import { refusal, throughJson } from './support.ts';

const minus = fn(
	{
		name: 'minus',
		doc: 'x - y',
		params: [
			['x', v.number()],
			['y', v.number()],
		],
	},
	(x, y) => x - y,
);
const full: Tool = {
	name: 'full',
	description: 'Everything.',
	inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
	outputSchema: { type: 'string' },
	passInput: true,
	manual: false,
	metadata: { owner: 'me' },
	sequential: true,
	retry: 'safe',
	timeoutMs: 60_000,
	needsApproval: true,
};

describe('toData', () => {
	test('returns all fields except the functions, as plain JSON data', () => {
		const functions = {
			fn: () => 1,
			isAvailable: () => true,
			readArgs: () => 1,
			onRequest: () => 'a',
			onResult: () => 'b',
			onError: () => 'ignore' as const,
		};
		const [data] = tool.toData([{ ...full, ...functions }]);
		expect(data).toEqual(full);
		expect(throughJson(data)).toEqual(full);
	});

	test('leaves out a needsApproval that is a function', () => {
		expect(tool.toData([{ ...full, needsApproval: () => true }])[0]).not.toHaveProperty('needsApproval');
	});

	test('converts a tool that was made from a function', () => {
		expect(tool.toData([tool.fromFn(minus)])).toEqual([tool.schemaFromFn(minus)]);
	});
});

describe('attach', () => {
	test('attaches each function to the tool of the same name', async () => {
		const [back] = tool.attach(throughJson(tool.toData([tool.fromFn(minus)])), {
			minus: (x, y) => Number(x) - Number(y),
		});
		const input = { y: 1, x: 4 };
		expect(await tool.dispatch(back ? [back] : [], { id: 'c', name: 'minus', input })).toMatchObject({ output: 3 });
	});

	test('accepts a tool made by fromFn as a handler', async () => {
		const tools = tool.attach(throughJson(tool.toData([tool.fromFn(minus)])), { minus: tool.fromFn(minus) });
		expect(await tool.dispatch(tools, { id: 'c', name: 'minus', input: { x: 4, y: 1 } })).toMatchObject({ output: 3 });
	});

	test('checks the input against the JSON Schema', async () => {
		const tools = tool.attach(throughJson(tool.toData([tool.fromFn(minus)])), { minus: () => 1 });
		const result = await tool.dispatch(tools, { id: 'c', name: 'minus', input: { x: 'four', y: 1 } });
		expect(result).toMatchObject({ isError: true, output: expect.stringContaining('x') });
	});

	test('attaches a record of functions, such as fn and onRequest, to a tool', async () => {
		const notes: unknown[] = [];
		const tools = tool.attach(tool.toData([full]), {
			full: { fn: () => 'ran', onRequest: () => 'asked', isAvailable: () => true },
		});
		const result = await tool.dispatch(
			tools,
			{ id: 'c', name: 'full', input: {} },
			{ emit: (note) => notes.push(note) },
		);
		expect(result).toMatchObject({ output: 'ran' });
		expect(notes).toEqual(['asked']);
	});

	test('leaves a tool without a handler if no handler has its name', () => {
		expect(tool.attach([full])[0]?.fn).toBeUndefined();
	});

	test('attaches no inherited function to tools named __proto__, constructor and toString', () => {
		const names = ['__proto__', 'constructor', 'toString'];
		const tools = tool.attach(names.map((name) => ({ name, inputSchema: {} })));
		expect(tools.map(({ fn: handler }) => handler)).toEqual([undefined, undefined, undefined]);
	});

	test('refuses a handler that has no tool, and names the handler', () => {
		expect(refusal(() => tool.attach([full], { other: () => 1 }))).toMatchObject({
			code: 'invalid_tool',
			message: expect.stringContaining('other'),
		});
	});

	test('refuses two tools with the same name', () => {
		expect(refusal(() => tool.attach([full, full])).code).toBe('duplicate_tool');
	});

	test.each([
		['no list', 'tools', 'data'],
		['no name', [{ inputSchema: {} }], 'name'],
		['no schema', [{ name: 'a' }], 'inputSchema'],
		['a text in the field `manual`', [{ name: 'a', inputSchema: {}, manual: 'yes' }], 'manual'],
	])('refuses data that is not a tool, and names the field: %s', (_, data, field) => {
		const error = refusal(() => tool.attach(data));
		expect(error.code).toBe('invalid_tool');
		expect(error.message).toContain(field);
	});
});
