import * as v from 'valibot';
import { expect, test } from 'vitest';
import { chat, fn, providers, tool } from '../../../src/core/index.ts';

const record = { name: 'book', description: 'Books a table.' };

test('refuses an inputSchema that describes no object, and names the tool', () => {
	for (const inputSchema of [v.string(), { type: 'string' }, { people: 'number' }]) {
		expect(() => tool.define({ ...record, inputSchema })).toThrow(/^inputSchema: .*object.*\(tool book\)/);
	}
});

test('accepts an inputSchema that is empty, nullable, a union or a reference', () => {
	for (const inputSchema of [
		{},
		{ type: ['object', 'null'] },
		{ anyOf: [{ type: 'object' }] },
		{ $ref: '#/$defs/a', $defs: { a: { type: 'object' } } },
	]) {
		expect(tool.define({ ...record, inputSchema }).inputSchema).toEqual(inputSchema);
	}
});

test('names the remedy if a run has no model, or if its providers contain `demo` instead of `demo()`', async () => {
	const messages = [chat.userMessage('hi')];
	await expect(chat.run({ model: '' }, messages).result).rejects.toMatchObject({
		code: 'invalid_request',
		message: expect.stringMatching(/^model: missing/),
	});
	const uncalled = [providers.demo] as unknown as ReturnType<typeof providers.demo>[];
	await expect(chat.run({ model: 'demo', providers: uncalled }, messages).result).rejects.toThrow(
		/^providers: entry 0.*demo\(\)/,
	);
});

/** Adds fields that plain JavaScript, or a value from outside, may contain. */
const withMore = <T extends object>(value: T, more: object): T => ({ ...value, ...more });

test('refuses an unknown field of a tool, and names the most similar field', () => {
	const pay = withMore({ ...record, name: 'pay', inputSchema: {} }, { needApproval: true });
	for (const make of [() => tool.define(pay), () => tool.forAgent([pay])])
		expect(make).toThrow(
			expect.objectContaining({
				code: 'invalid_tool',
				message: 'needApproval: no such field (tool pay). Did you mean needsApproval?',
			}),
		);
});

test('refuses an unknown field in the first argument of fn, also in its `tool` and its `skill`', () => {
	const made = (more: object) => () => fn(withMore({ name: 'add' }, more), () => 1);
	expect(made({ param: [] })).toThrow('param: no such field (fn add). Did you mean params?');
	expect(made({ tool: { nam: 'plus' } })).toThrow('nam: no such field (tool of fn add). Did you mean name?');
	expect(made({ skill: { description: 'Adds.', require: [] } })).toThrow(
		'require: no such field (skill of fn add). Did you mean requires?',
	);
});

test('refuses an unknown option of a run before the first request, and names the most similar option', async () => {
	const model = providers.scripted(['Hi']);
	const run = (more: object) =>
		chat.run(withMore({ model: 'scripted', providers: [model] }, more), [chat.userMessage('hi')]).result;
	await expect(run({ maxIteration: 3 })).rejects.toMatchObject({
		code: 'invalid_request',
		message: 'maxIteration: no such field (options of a run). Did you mean maxIterations?',
	});
	await expect(run({ timeouts: { toolMS: 3 } })).rejects.toThrow(
		'toolMS: no such field (timeouts). Did you mean toolMs?',
	);
	expect(model.requests).toEqual([]);
});

test.each<[field: string, value: unknown, says: string]>([
	['description', 7, 'a text that tells the model when to call it, got a number'],
	['fn', 'f', 'a function, got a string'],
	['passInput', 1, 'true or false, got a number'],
	['sequential', 'yes', 'true or false, got a string'],
	['metadata', [], 'a record, got a list'],
	['isAvailable', true, 'a function, got a boolean'],
	['readArgs', {}, 'a function, got an object without fields'],
	['onRequest', 'note', 'a function, got a string'],
	['retry', 'always', "'safe' or 'never', got a string"],
	['timeoutMs', 0, 'a number of milliseconds from 1 on, got a number'],
	['needsApproval', 'yes', 'true, false or a function, got a string'],
])('refuses a tool whose %s is %j, and names the tool', (field, value, says) => {
	const wrong = withMore({ ...record, inputSchema: {} }, { [field]: value });
	expect(() => tool.forAgent([wrong])).toThrow(
		expect.objectContaining({ code: 'invalid_tool', message: `${field}: expected ${says} (tool book).` }),
	);
});

test('fn requires a list of pairs and a function', () => {
	const given = (meta: object, f: unknown) => () => Reflect.apply(fn, undefined, [{ name: 'add', ...meta }, f]);
	for (const params of [{ x: 1 }, [['x', 'number']], ['x']])
		expect(given({ params }, () => 1)).toThrow(/^params: expected a list of \[name, schema\].*\(fn add\)/);
	expect(given({}, 3)).toThrow(/^implementation: .*\(fn add\)/);
});

test("the stack of an error begins with the caller's line", () => {
	const wrong = withMore({ ...record, inputSchema: {} }, { needApproval: true });
	for (const make of [() => tool.define(wrong), () => fn(withMore({ name: 'a' }, { param: [] }), () => 1)]) {
		let stack = '';
		try {
			make();
		} catch (error) {
			stack = String(Object(error).stack);
		}
		expect(stack.split('\n').find((line) => /^\s+at /.test(line))).toContain('mistakes.test.ts');
	}
});

test('tool.define reports a misspelt field, not a missing field', () => {
	const given = withMore({ name: 'book', inputSchema: {} }, { descripton: 'Books.' });
	expect(() => Reflect.apply(tool.define, undefined, [given])).toThrow(
		'descripton: no such field (tool book). Did you mean description?',
	);
});
