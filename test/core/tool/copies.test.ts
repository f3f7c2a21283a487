import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { askUser, chat, halt, providers, type Tool, tool, toolbox } from '../../../src/core/index.ts';
import { copyData, freezeData } from '../../../src/core/tool/state.ts';

const input = () => ({ list: ['a'], deep: { by: { key: 1 } } });

/** Changes everything in a value, at every depth that it can reach. */
function spoil(args: unknown): void {
	if (typeof args !== 'object' || args === null) return;
	for (const inner of Object.values(args)) spoil(inner);
	if (Array.isArray(args)) args.push('spoiled');
	else Object.assign(args, { spoiled: true });
}

/** Runs a call of a tool with these fields. Returns the call in the history and the results for the model. */
async function played(more: Partial<Tool>) {
	const own: Tool = { name: 'own', inputSchema: { type: 'object' }, passInput: true, fn: (args) => args, ...more };
	const model = providers.scripted([
		{ toolCalls: [{ id: 'c', name: 'own', input: input() }], stopReason: 'tool_use' },
		'done',
	]);
	const run = chat.run({ model: 'scripted', providers: [model], tools: [own] }, [chat.userMessage('go')]);
	const { messages } = await run.result;
	const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
	const outputs = messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
	return { calls, outputs, sent: model.requests.at(-1)?.messages };
}

describe('the arguments of a tool are copies', () => {
	const functions: Record<string, Partial<Tool>> = {
		'a handler': { fn: (args) => spoil(args) },
		'a handler without passInput': {
			passInput: false,
			inputSchema: { type: 'object', properties: { list: {}, deep: {} } },
			fn: (...args) => spoil(args),
		},
		readArgs: { readArgs: (args) => spoil(args) },
		'readArgs that returns its arguments': { readArgs: (args) => args, fn: (args) => spoil(args) },
		onRequest: { onRequest: (args) => void spoil(args) },
		onResult: { onResult: (args) => void spoil(args) },
		'onError of a tool that fails': {
			fn: () => {
				throw new Error('no');
			},
			onError: (args) => {
				spoil(args);
				return 'ignore';
			},
		},
		'onError of invalid arguments': {
			inputSchema: { type: 'object', required: ['missing'] },
			onError: (args) => {
				spoil(args);
				return 'ignore';
			},
		},
		needsApproval: {
			needsApproval: (args) => {
				spoil(args);
				return false;
			},
		},
		'a handler with a valibot schema': {
			...tool.define({ name: 'own', description: 'd', inputSchema: v.looseObject({ deep: v.unknown() }) }),
			fn: (args) => spoil(args),
		},
	};
	test.each(Object.entries(functions))('a change by %s does not reach the history', async (_, more) => {
		const { calls, sent } = await played(more);
		expect(calls).toEqual([{ id: 'c', name: 'own', input: input() }]);
		expect(JSON.stringify(sent)).not.toContain('spoiled');
	});

	test('a hook that changes its arguments does not change the arguments of the handler', async () => {
		const { outputs } = await played({ onRequest: (args) => void spoil(args) });
		expect(outputs).toEqual([input()]);
	});

	test('a hook that changes the result does not change the result for the model', async () => {
		const { outputs } = await played({ onResult: (_, result) => void spoil(result) });
		expect(outputs).toEqual([input()]);
	});

	test('except for an object that readArgs returns: the handler gets the object itself', async () => {
		const { outputs } = await played({
			readArgs: () => new URL('https://example.com/'),
			fn: (url) => url instanceof URL,
		});
		expect(outputs).toEqual([true]);
	});

	test('the hooks of a toolbox get copies', () => {
		const own: Tool = {
			name: 'own',
			inputSchema: { type: 'object' },
			fn: () => 1,
			onRequest: (args) => void spoil(args),
			onResult: (args, result) => void spoil([args, result]),
			onError: (args) => {
				spoil(args);
				return 'ignore';
			},
		};
		const args = input();
		const result = input();
		const box = toolbox.build([own]);
		toolbox.onRequest('own', args, box);
		toolbox.onResult('own', args, result, box);
		toolbox.onError('own', args, 'why', box);
		expect([args, result]).toEqual([input(), input()]);
	});
});

class Money {
	readonly amount = 5;
	toJSON() {
		return '5.00 EUR';
	}
}

describe('a result is stored in the form that JSON.stringify writes', () => {
	const given: Record<string, unknown> = {
		'a class with toJSON': new Money(),
		'an object and a list with such a class': { price: new Money(), list: [new Money()] },
		'a date': new Date(0),
		'a map and a set': { map: new Map([['a', 1]]), set: new Set([1]) },
		'a URL': { at: new URL('https://example.com/') },
		'undefined and functions among the fields': { a: undefined, b: () => 1, c: [undefined] },
		'numbers that JSON cannot hold': [Number.NaN, Number.POSITIVE_INFINITY, -0],
		'a class': new (class {
			own = 1;
			get computed() {
				return 2;
			}
		})(),
	};
	test.each(Object.entries(given))('holds for %s that a tool returns or passes to halt', async (_, value) => {
		const { outputs } = await played({ fn: () => value });
		expect(outputs).toEqual([JSON.parse(JSON.stringify(value))]);
		const halted = await played({ fn: () => halt('enough', value) });
		expect(halted.outputs).toEqual([JSON.parse(JSON.stringify(value))]);
	});

	test('a number that JSON cannot hold becomes null', async () => {
		expect((await played({ fn: () => Number.NaN })).outputs).toEqual([null]);
	});

	test('the options of a question are stored in the same way', async () => {
		const choices = [new Money()];
		const own: Tool = { name: 'own', inputSchema: { type: 'object' }, fn: () => askUser('Which?', { choices }) };
		const result = await tool.dispatch([own], { id: 'c', name: 'own', input: {} });
		expect(result.output).toMatchObject({ question: 'Which?', options: { choices: ['5.00 EUR'] } });
	});

	test('a circular value is an error that names the tool', async () => {
		const circle: { self?: unknown } = {};
		circle.self = circle;
		const { outputs } = await played({ fn: () => circle });
		expect(outputs).toEqual([expect.stringContaining('own returned what JSON cannot hold')]);
	});
});

describe('a copy of data', () => {
	test('keeps fields of any name, even __proto__, and has a normal prototype', () => {
		const given: unknown = JSON.parse('{"__proto__":{"admin":true},"constructor":1}');
		const copy = copyData(given);
		expect(JSON.stringify(copy)).toBe(JSON.stringify(given));
		expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
	});

	test('can have any depth and circular references', () => {
		let deep: unknown = 'end';
		for (let n = 0; n < 200_000; n++) deep = [deep];
		expect(Array.isArray(copyData(deep))).toBe(true);
		const circle: { self?: unknown } = {};
		circle.self = circle;
		const copy = copyData(circle);
		expect(copy.self).toBe(copy);
		expect(copy).not.toBe(circle);
	});
});

test('frozen data cannot be changed at any depth', () => {
	const data = freezeData({ list: [{ key: 1 }], none: null });
	expect(() => spoil(data)).toThrow(TypeError);
	expect(() => spoil(data.list[0])).toThrow(TypeError);
	let deep: unknown = 'end';
	for (let n = 0; n < 200_000; n++) deep = [deep];
	expect(Object.isFrozen(freezeData(deep))).toBe(true);
});
