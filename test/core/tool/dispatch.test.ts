import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { fn, type Tool, type ToolContext, tool } from '../../../src/core/index.ts';

const integer = v.pipe(v.number(), v.integer());
const minus = fn(
	{
		name: 'myapp/minus',
		params: [
			['x', integer],
			['y', integer],
		],
	},
	(x, y) => x - y,
);
const greet = fn(
	{
		name: 'greet',
		params: [
			['name', v.string()],
			['greeting', v.optional(v.string())],
		],
	},
	(name, greeting = 'Hello') => `${greeting}, ${name}`,
);
const tools = tool.forAgent([minus, greet]);

function dispatch(name: string, input: unknown, among: readonly Tool[] = tools) {
	return tool.dispatch(among, { id: 'call_1', name, input });
}

/** A tool that calls `run` with its input. */
function record(run: Tool['fn'], rest: Partial<Tool> = {}): Tool {
	return { name: 'it', inputSchema: { type: 'object' }, passInput: true, ...(run && { fn: run }), ...rest };
}

describe('dispatch', () => {
	test('returns the value with the id of the call', async () => {
		expect(await dispatch('myapp/minus', { x: 5, y: 3 })).toEqual({ id: 'call_1', output: 2, isError: false });
	});

	test('finds a tool by its provider-safe alias', async () => {
		expect(await dispatch(tool.providerName('myapp/minus'), { x: 5, y: 3 })).toMatchObject({ output: 2 });
	});

	test('maps the input to the parameters by name, in any order', async () => {
		expect(await dispatch('myapp/minus', { y: 3, x: 5 })).toMatchObject({ output: 2 });
	});

	test('a tool without passInput gets its arguments in the order of the properties in its schema', async () => {
		const own = record((...args) => args, {
			passInput: false,
			inputSchema: { type: 'object', properties: { b: {}, a: {}, c: {} } },
		});
		expect(await dispatch('it', { a: 1, b: 2 }, [own])).toMatchObject({ output: [2, 1, null] });
	});

	test('an optional argument can be missing', async () => {
		expect(await dispatch('greet', { name: 'Ada' })).toMatchObject({ output: 'Hello, Ada' });
	});

	test('an optional argument that is null counts as missing', async () => {
		expect(await dispatch('greet', { name: 'Ada', greeting: null })).toMatchObject({ output: 'Hello, Ada' });
	});

	test('an optional value that is null counts as missing, also in a tuple and in a map', async () => {
		const deep = tool.define({
			name: 'deep',
			description: '',
			inputSchema: v.object({
				pair: v.tuple([v.object({ a: v.optional(v.string()) }), v.object({ a: v.nullable(v.string()) })]),
				byName: v.record(v.string(), v.object({ b: v.optional(v.number()) })),
			}),
			fn: (...args: unknown[]) => args,
		});
		const input = { pair: [{ a: null }, { a: null }], byName: { k: { b: null } } };
		expect(await dispatch('deep', input, [deep])).toMatchObject({
			isError: false,
			output: [[{}, { a: null }], { k: {} }],
		});
	});

	test('a required argument that is null is an error', async () => {
		expect(await dispatch('greet', { name: null })).toMatchObject({ isError: true });
	});

	test('the error for an unknown tool lists the known tools', async () => {
		const result = await dispatch('sing', {});
		expect(result).toMatchObject({ id: 'call_1', isError: true });
		expect(result.output).toContain('sing');
		expect(result.output).toContain('greet');
	});

	test.each(['__proto__', 'constructor', 'toString'])('a call of %s finds no tool', async (name) => {
		expect(await dispatch(name, {})).toMatchObject({ isError: true });
	});

	test('the error for an invalid argument names the argument', async () => {
		const result = await dispatch('myapp/minus', { x: 'five', y: 3 });
		expect(result).toMatchObject({ id: 'call_1', isError: true, output: expect.stringMatching(/^x: /) });
	});

	test('one error names all invalid arguments', async () => {
		const { output } = await dispatch('myapp/minus', { x: 1.5 });
		expect(output).toMatch(/^x: .*\ny: missing/);
	});

	test.each([7, true, ['x'], [], '{"x": 5,'])(
		'an input that is no object gives an error result, not an exception (%j)',
		async (input) => {
			expect(await dispatch('myapp/minus', input)).toMatchObject({ id: 'call_1', isError: true });
		},
	);

	test('an input that is not JSON is an error that names the remedy', async () => {
		expect((await dispatch('myapp/minus', '{"x": 5,')).output).toMatch(/JSON/);
	});

	test.each([undefined, null, ''])('an empty input counts as an empty object (%j)', async (input) => {
		expect(await dispatch('it', input, [record((given) => given)])).toMatchObject({ output: {}, isError: false });
	});

	test.each([
		['an error', new Error('no such city'), 'no such city'],
		['a text', 'no such city', 'no such city'],
		['nothing', undefined, ''],
	])('a tool that throws %s gives an error result', async (_, thrown, text) => {
		const failing = record(() => {
			throw thrown;
		});
		const result = await dispatch('it', {}, [failing]);
		expect(result).toMatchObject({ id: 'call_1', isError: true, output: expect.stringContaining(text) });
	});

	test('a rejected promise becomes an error result', async () => {
		expect(await dispatch('it', {}, [record(() => Promise.reject(new Error('down')))])).toMatchObject({
			output: 'down',
			isError: true,
		});
	});

	test('a stack trace never reaches the model', async () => {
		const result = await dispatch('it', {}, [
			record(() => {
				throw new Error('down');
			}),
		]);
		expect(JSON.stringify(result)).not.toMatch(/at .*dispatch\.test/);
	});

	test('the result of a tool that returns nothing is null', async () => {
		expect(await dispatch('it', {}, [record(() => undefined)])).toEqual({ id: 'call_1', output: null, isError: false });
	});

	test('a call of a tool without a function gives an error result', async () => {
		expect(await dispatch('it', {}, [record(undefined)])).toMatchObject({ isError: true });
	});

	test('an output that JSON cannot hold is an error', async () => {
		const cyclic: Record<string, unknown> = {};
		cyclic.self = cyclic;
		for (const output of [cyclic, { count: 1n }, () => 1, Symbol('s')]) {
			const result = await dispatch('it', {}, [record(() => output)]);
			expect(result).toMatchObject({ isError: true, output: expect.stringContaining('JSON') });
		}
	});

	test('the model gets the digits of a BigInt', async () => {
		expect(await dispatch('it', {}, [record(() => 2n ** 64n)])).toMatchObject({
			output: '18446744073709551616',
			isError: false,
		});
	});

	test('a call of a tool with an invalid inputSchema gives an error result', async () => {
		const own = record((input) => input, { inputSchema: { $ref: '#/$defs/none' } });
		expect(await dispatch('it', {}, [own])).toMatchObject({ isError: true });
	});
});

describe('isAvailable', () => {
	test('hides an unavailable tool from calls and from the list of known tools', async () => {
		const hidden = record(() => 'ran', { name: 'hidden', isAvailable: () => false });
		const result = await dispatch('hidden', {}, [...tools, hidden]);
		expect(result).toMatchObject({ isError: true });
		expect(result.output).toContain('greet');
		expect(String(result.output).match(/hidden/g)).toHaveLength(1);
	});

	test('gets the context of the call', async () => {
		const own = record(() => 'ran', { isAvailable: ({ sessionId }) => sessionId === 's1' });
		const call = { id: 'c', name: 'it', input: {} };
		expect(await tool.dispatch([own], call, { sessionId: 's1' })).toMatchObject({ output: 'ran' });
		expect(await tool.dispatch([own], call, { sessionId: 's2' })).toMatchObject({ isError: true });
	});

	test('makes the tool unavailable if isAvailable throws', async () => {
		const own = record(() => 'ran', {
			isAvailable: () => {
				throw new Error('no');
			},
		});
		expect(await dispatch('it', {}, [own])).toMatchObject({ isError: true });
	});
});

describe('a tool with passInput', () => {
	test('gets the whole input and the context of the call', async () => {
		const seen: { input?: unknown; context?: ToolContext } = {};
		const own = tool.define({
			name: 'it',
			description: 'd',
			inputSchema: v.object({ city: v.string() }),
			passInput: true,
			fn: (input, context) => void Object.assign(seen, { input, context }),
		});
		const skillContext = { attachments: ['a.png'] };
		await tool.dispatch(
			[own],
			{ id: 'c9', name: 'it', input: { city: 'Rome' } },
			{ sessionId: 's', runId: 'r', skillContext },
		);
		expect(seen.input).toEqual({ city: 'Rome' });
		expect(seen.context).toMatchObject({ callId: 'c9', sessionId: 's', runId: 'r', skillContext });
		expect(seen.context?.signal).toBeInstanceOf(AbortSignal);
		expect(seen.context?.emit).toBeTypeOf('function');
	});

	test('gets a context with signal, skillContext and emit by default', async () => {
		const own = record((_, context) => Object.keys(Object(context)).sort());
		const result = await dispatch('it', {}, [own]);
		expect(result.output).toEqual(expect.arrayContaining(['callId', 'emit', 'signal', 'skillContext']));
	});

	test('can ignore the context', async () => {
		expect(await dispatch('it', { a: 1 }, [record((input) => input)])).toMatchObject({ output: { a: 1 } });
	});
});

describe('a tool can have parameters that are named like properties of Object.prototype', () => {
	test.each(['__proto__', 'constructor', 'toString'])(
		'a parameter named %s gets its argument, or undefined',
		async (key) => {
			const own = fn({ name: 'own', params: [[key, v.optional(v.string())]] }, (value) => value ?? 'none');
			const ask = (json: string) => dispatch('own', JSON.parse(json), tool.forAgent([own]));
			expect(await ask(`{"${key}": "given"}`)).toMatchObject({ output: 'given' });
			expect(await ask('{}')).toMatchObject({ output: 'none' });
		},
	);

	test.each(['__proto__', 'constructor', 'toString'])(
		'a JSON Schema property named %s reaches the tool like any other',
		async (key) => {
			const properties: unknown = JSON.parse(`{"${key}": {"type": "string"}}`);
			const own = record((value = 'none') => value, { passInput: false, inputSchema: { type: 'object', properties } });
			expect(await dispatch('it', JSON.parse(`{"${key}": "given"}`), [own])).toMatchObject({ output: 'given' });
			expect(await dispatch('it', {}, [own])).toMatchObject({ output: 'none' });
			const missing = { ...own, inputSchema: { ...own.inputSchema, required: [key] } };
			expect(await dispatch('it', {}, [missing])).toMatchObject({
				isError: true,
				output: expect.stringContaining(key),
			});
		},
	);
});
