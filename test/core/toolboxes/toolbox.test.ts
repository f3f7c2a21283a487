import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { fn, type Tool, tool, toolbox } from '../../../src/core/index.ts';
import { refusal } from '../tool/support.ts';

const rename = fn(
	{
		name: 'rename',
		doc: 'Rename a file.',
		params: [
			['from', v.string()],
			['to', v.string()],
			['force', v.optional(v.boolean())],
		],
	},
	(from, to, force) => `${from} ${to} ${force}`,
);
const log: Tool = {
	name: 'log',
	inputSchema: { type: 'object' },
	sequential: true,
	passInput: true,
	fn: (args) => args,
};
const box = toolbox.build([rename, log]);
const prototypeNames = ['__proto__', 'constructor', 'toString'];
const broken = (): never => {
	throw new Error('hook broke');
};

describe('build', () => {
	test('makes a record with the names of the given functions and tools as keys', () => {
		expect(Object.keys(box)).toEqual(['rename', 'log']);
		expect(box.rename).toMatchObject({ name: 'rename', fn: rename });
	});

	test('accepts a box, and undefined', () => {
		expect(toolbox.build(box)).toEqual(box);
		expect(toolbox.build(undefined)).toEqual({});
		expect(toolbox.build([])).toEqual({});
	});

	test('leaves out tools that are unavailable in the context', () => {
		const own = { ...log, isAvailable: ({ sessionId }: { sessionId?: string }) => sessionId === 's' };
		expect(toolbox.build([own])).toEqual({});
		expect(Object.keys(toolbox.build([own], { sessionId: 's' }))).toEqual(['log']);
	});

	test('refuses a duplicate tool', () => {
		expect(refusal(() => toolbox.build([log, { ...log }])).code).toBe('duplicate_tool');
	});

	test('keeps and finds tools with names such as __proto__ and constructor', () => {
		const own = toolbox.build(prototypeNames.map((name) => ({ ...log, name })));
		expect(Object.keys(own)).toEqual(prototypeNames);
		expect(prototypeNames.map((name) => toolbox.find(name, own)?.name)).toEqual(prototypeNames);
	});
});

describe('find and isSequential', () => {
	test('find returns the tool, or undefined', () => {
		expect(toolbox.find('log', box)?.name).toBe('log');
		for (const name of ['gone', '', ...prototypeNames]) expect(toolbox.find(name, box)).toBeUndefined();
	});

	test('isSequential returns the field sequential of the tool, or false', () => {
		const asked = ['log', 'rename', 'gone', 'constructor'].map((name) => toolbox.isSequential(name, box));
		expect(asked).toEqual([true, false, false, false]);
	});
});

describe('perform', () => {
	test('returns the value of the tool', async () => {
		expect(await toolbox.perform('rename', { from: 'a', to: 'b' }, box)).toEqual({ ok: true, value: 'a b undefined' });
	});

	test.each(['gone', ...prototypeNames])('fails with unknown_tool for %s', async (name) => {
		const outcome = await toolbox.perform(name, {}, box);
		expect(outcome).toMatchObject({
			ok: false,
			error: { kind: 'unknown_tool', message: expect.stringContaining('rename') },
		});
	});

	test('treats an unavailable tool as unknown', async () => {
		const own = { log: { ...log, isAvailable: () => false } };
		expect(await toolbox.perform('log', {}, own)).toMatchObject({ error: { kind: 'unknown_tool' } });
	});

	test.each([{ from: 'a' }, { from: 'a', to: '' }, { from: 'a', to: null }, { from: 'a', to: undefined }])(
		'fails with missing_argument and the name of the argument: %j',
		async (args) => {
			const outcome = await toolbox.perform('rename', args, box);
			expect(outcome).toMatchObject({
				ok: false,
				error: { kind: 'missing_argument', message: expect.stringContaining('to') },
			});
		},
	);

	test('returns invalid_argument with the name of an invalid argument', async () => {
		const outcome = await toolbox.perform('rename', { from: 'a', to: 7 }, box);
		expect(outcome).toMatchObject({
			ok: false,
			error: { kind: 'invalid_argument', message: expect.stringMatching(/^to: /) },
		});
	});

	test('returns invalid_argument if readArgs throws', async () => {
		const outcome = await toolbox.perform('log', {}, { log: { ...log, readArgs: broken } });
		expect(outcome).toMatchObject({ ok: false, error: { kind: 'invalid_argument', message: 'hook broke' } });
	});

	test('returns failed if the tool throws', async () => {
		const outcome = await toolbox.perform('log', {}, { log: { ...log, fn: broken } });
		expect(outcome).toEqual({ ok: false, error: { kind: 'failed', message: 'hook broke' } });
	});

	test('passes the context to the tool', async () => {
		const own = {
			log: { ...log, fn: (_: unknown, context: unknown) => v.parse(v.object({ sessionId: v.string() }), context) },
		};
		expect(await toolbox.perform('log', {}, own, { sessionId: 's' })).toMatchObject({ value: { sessionId: 's' } });
	});

	test('throws a cancelled error if the signal is aborted', async () => {
		const signal = AbortSignal.abort();
		await expect(toolbox.perform('log', {}, box, { signal })).rejects.toMatchObject({ code: 'cancelled' });
	});
});

describe('arguments', () => {
	test('getArg returns the value, even if it is false or 0', () => {
		expect(toolbox.getArg({ a: 'x' }, 'a')).toEqual({ ok: true, value: 'x' });
		expect(toolbox.getArg({ a: false }, 'a')).toEqual({ ok: true, value: false });
		expect(toolbox.getArg({ a: 0 }, 'a')).toEqual({ ok: true, value: 0 });
	});

	test('getArg reports undefined, null, an empty string and inherited fields as missing', () => {
		for (const args of [{}, { a: undefined }, { a: null }, { a: '' }]) {
			expect(toolbox.getArg(args, 'a')).toEqual(toolbox.missingArgument('a'));
		}
		for (const key of prototypeNames) expect(toolbox.getArg({}, key)).toEqual(toolbox.missingArgument(key));
	});

	test('missingArgument returns a missing_argument error with the name', () => {
		expect(toolbox.missingArgument('city')).toMatchObject({
			ok: false,
			error: { kind: 'missing_argument', message: expect.stringContaining('city') },
		});
	});

	test('validateRequired reports a missing argument and an unknown tool', () => {
		expect(toolbox.validateRequired('rename', { from: 'a', to: 'b' }, box)).toMatchObject({ ok: true });
		expect(toolbox.validateRequired('rename', { from: 'a', to: '' }, box)).toEqual(toolbox.missingArgument('to'));
		expect(toolbox.validateRequired('gone', {}, box)).toMatchObject({ error: { kind: 'unknown_tool' } });
	});

	test('withArgs calls the given function with the arguments that a handler would get, and returns the result', async () => {
		const own = { log: { ...log, readArgs: () => ({ read: true }) } };
		expect(await toolbox.withArgs('log', {}, async ({ read }) => read, own)).toEqual({ ok: true, value: true });
	});

	test('withArgs does not call the function for invalid arguments', async () => {
		const use = () => 'used';
		const kinds = [{ from: 'a' }, { from: 'a', to: 7 }].map(async (args) => toolbox.withArgs('rename', args, use, box));
		expect(await Promise.all(kinds)).toMatchObject([
			{ error: { kind: 'missing_argument' } },
			{ error: { kind: 'invalid_argument' } },
		]);
		expect(await toolbox.withArgs('gone', {}, use, box)).toMatchObject({ error: { kind: 'unknown_tool' } });
	});

	test('withArgs returns failed if the function throws', async () => {
		expect(await toolbox.withArgs('log', {}, broken, box)).toMatchObject({
			error: { kind: 'failed', message: 'hook broke' },
		});
	});
});

describe('notes', () => {
	const noting = {
		log: tool.define({
			name: 'log',
			description: 'd',
			inputSchema: { type: 'object' },
			onRequest: (args) => ['asked', JSON.stringify(args)],
			onResult: (args, result) => `${JSON.stringify(args)} ${result}`,
			onError: (_, reason) => `no: ${reason}`,
		}),
	};

	test('are returned unchanged from the hook of the tool', () => {
		expect(toolbox.onRequest('log', { a: 1 }, noting)).toEqual(['asked', '{"a":1}']);
		expect(toolbox.onResult('log', { a: 1 }, 2, noting)).toBe('{"a":1} 2');
		expect(toolbox.onError('log', {}, 'why', noting)).toBe('no: why');
	});

	test('onRequest gets the result of readArgs, as it does in a call', async () => {
		const schema = { type: 'object', properties: { a: {} }, required: ['a'] };
		const own = (readArgs: Tool['readArgs']) => ({
			log: { ...noting.log, inputSchema: schema, ...(readArgs && { readArgs }) },
		});
		const read = own(({ a }) => ({ a: Number(a) + 1 }));
		expect(toolbox.onRequest('log', { a: 1 }, read)).toEqual(['asked', '{"a":2}']);
		expect(
			await toolbox.onRequest(
				'log',
				{ a: 1 },
				own(async () => 'later'),
			),
		).toEqual(['asked', '"later"']);
		expect(toolbox.onRequest('log', { a: 1 }, own(broken))).toBeUndefined();
		expect(
			await toolbox.onRequest(
				'log',
				{ a: 1 },
				own(async () => broken()),
			),
		).toBeUndefined();
	});

	test('the hooks get the default values of the schema, as the handler does', async () => {
		const inputSchema = v.object({ n: v.optional(v.number(), 7) });
		const own = {
			log: tool.define({
				name: 'log',
				description: 'd',
				inputSchema,
				passInput: true,
				fn: (args) => JSON.stringify(args),
				onRequest: (args) => JSON.stringify(args),
				onResult: (args) => JSON.stringify(args),
				onError: (args) => JSON.stringify(args),
			}),
		};
		const handler = await toolbox.perform('log', {}, own);
		expect(handler.ok && handler.value).toBe('{"n":7}');
		expect(toolbox.onRequest('log', {}, own)).toBe('{"n":7}');
		expect(toolbox.onResult('log', {}, 1, own)).toBe('{"n":7}');
		expect(toolbox.onError('log', {}, 'why', own)).toBe('{"n":7}');
		expect(toolbox.onRequest('log', { n: 'x' }, own)).toBeUndefined();
	});

	test('onRequest returns no note if a required argument is missing', () => {
		const schema = { type: 'object', properties: { a: {} }, required: ['a'] };
		const seen: unknown[] = [];
		const own = { log: { ...noting.log, inputSchema: schema, readArgs: (args: unknown) => seen.push(args) } };
		for (const args of [{}, { a: '' }, { a: null }, { b: 1 }])
			expect(toolbox.onRequest('log', args, own)).toBeUndefined();
		expect(seen).toEqual([]);
	});

	test("are missing without a hook or without a tool, but onError then returns 'default'", () => {
		for (const name of ['log', 'gone', 'constructor']) {
			expect(toolbox.onRequest(name, {}, box)).toBeUndefined();
			expect(toolbox.onResult(name, {}, 1, box)).toBeUndefined();
			expect(toolbox.onError(name, {}, 'why', box)).toBe('default');
		}
	});

	test("are left out if their hook throws, but onError then returns 'default'", () => {
		const own = { log: { ...log, onRequest: broken, onResult: broken, onError: broken } };
		expect(toolbox.onRequest('log', {}, own)).toBeUndefined();
		expect(toolbox.onResult('log', {}, 1, own)).toBeUndefined();
		expect(toolbox.onError('log', {}, 'why', own)).toBe('default');
	});
});
