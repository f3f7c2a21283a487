import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { askUser, fn, halt, type Tool, tool } from '../../../src/core/index.ts';

const broken = (): never => {
	throw new Error('hook broke');
};

/** Dispatches one call of a tool with these hooks, and returns the result and the notes. */
async function run(hooks: Partial<Tool>, input: unknown = { city: 'Rome' }) {
	const notes: unknown[] = [];
	const own: Tool = {
		name: 'weather',
		inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
		passInput: true,
		fn: (args) => args,
		...hooks,
	};
	const result = await tool.dispatch([own], { id: 'c', name: 'weather', input }, { emit: (note) => notes.push(note) });
	return { notes, result };
}

describe('readArgs', () => {
	test('passes its result to the handler and to the hooks onRequest and onResult', async () => {
		const { notes, result } = await run({
			readArgs: (args) => ({ city: String(args.city).toUpperCase() }),
			onRequest: (args) => JSON.stringify(args),
			onResult: (args) => JSON.stringify(args),
		});
		expect(result).toMatchObject({ output: { city: 'ROME' }, isError: false });
		expect(notes).toEqual(['{"city":"ROME"}', '{"city":"ROME"}']);
	});

	test('runs only if the arguments are valid', async () => {
		const seen: unknown[] = [];
		const { result } = await run({ readArgs: (args) => seen.push(args) }, { city: 7 });
		expect(result.isError).toBe(true);
		expect(seen).toEqual([]);
	});

	test('gets the arguments after the schema has transformed them', async () => {
		const shout = fn({ name: 'shout', params: [['text', v.pipe(v.string(), v.toUpperCase())]] }, (text) => text);
		const own = tool.fromFn(shout, { readArgs: ({ text }) => ({ text: `${text}!` }) });
		expect(await tool.dispatch([own], { id: 'c', name: 'shout', input: { text: 'hi' } })).toMatchObject({
			output: 'HI!',
		});
	});

	test('can be async', async () => {
		expect((await run({ readArgs: async () => 'later' })).result).toMatchObject({ output: 'later' });
	});

	test('prevents the tool from running if readArgs throws', async () => {
		const { notes, result } = await run({ readArgs: broken, fn: () => 'ran', onRequest: () => 'asked' });
		expect(result).toMatchObject({ output: expect.stringContaining('hook broke'), isError: true });
		expect(notes).toEqual([]);
	});
});

describe('notes', () => {
	test('onRequest is called before the tool, and onResult is called after it with the result', async () => {
		const order: string[] = [];
		await run({
			onRequest: () => void order.push('request'),
			fn: () => order.push('fn'),
			onResult: (_, result) => void order.push(`result ${result}`),
		});
		expect(order).toEqual(['request', 'fn', 'result 2']);
	});

	test('can be a text, a pair of texts, or nothing', async () => {
		expect((await run({ onRequest: () => 'Asking', onResult: () => ['Weather', 'sunny'] })).notes).toEqual([
			'Asking',
			['Weather', 'sunny'],
		]);
		expect((await run({ onRequest: () => undefined, onResult: () => undefined })).notes).toEqual([]);
	});

	test('are dropped if their hook throws, but the result is kept', async () => {
		const { notes, result } = await run({ onRequest: broken, onResult: broken });
		expect(result).toEqual({ id: 'c', output: { city: 'Rome' }, isError: false });
		expect(notes).toEqual([]);
		const failed = await run({ fn: () => broken(), onError: broken });
		expect(failed).toMatchObject({ notes: [], result: { output: 'hook broke', isError: true } });
	});

	test('of the tool itself come between the notes of onRequest and onResult', async () => {
		const { notes } = await run({
			onRequest: () => 'first',
			fn: (_, context) => {
				const { emit } = v.parse(v.object({ emit: v.function() }), context);
				emit('half');
				emit(['way', 'there']);
			},
			onResult: () => 'last',
		});
		expect(notes).toEqual(['first', 'half', ['way', 'there'], 'last']);
	});

	test('an error in emit does not make the tool fail', async () => {
		const own = tool.define({
			name: 'it',
			description: 'd',
			inputSchema: v.object({}),
			passInput: true,
			onRequest: () => 'asked',
			fn: (_, { emit }) => {
				emit('note');
				return 'done';
			},
		});
		expect(await tool.dispatch([own], { id: 'c', name: 'it', input: {} }, { emit: broken })).toMatchObject({
			output: 'done',
		});
	});

	test('onResult gets the result of a tool that halts, but is not called for a question to the user', async () => {
		const say = (_: unknown, result: unknown) => JSON.stringify(result);
		expect((await run({ fn: () => halt('done', { ok: 1 }), onResult: say })).notes).toEqual(['{"ok":1}']);
		expect((await run({ fn: () => askUser('Sure?'), onResult: say })).notes).toEqual([]);
	});
});

describe('onError', () => {
	const failing = { fn: () => broken() };

	test('gets the arguments and the reason, and is called in place of onResult', async () => {
		const onError = (args: unknown, reason: string) => `${JSON.stringify(args)} ${reason}`;
		const { notes } = await run({ ...failing, onError, onResult: () => 'fine' });
		expect(notes).toEqual(['{"city":"Rome"} hook broke']);
	});

	test('shows the returned text or pair of texts as the note', async () => {
		expect((await run({ ...failing, onError: () => 'Oh no' })).notes).toEqual(['Oh no']);
		expect((await run({ ...failing, onError: () => ['Oh', 'no'] })).notes).toEqual([['Oh', 'no']]);
	});

	test("returning 'ignore' shows no note, and returning 'default' shows the same note as without onError", async () => {
		expect((await run({ ...failing, onError: () => 'ignore' })).notes).toEqual([]);
		const { notes } = await run({ ...failing, onError: () => 'default' });
		expect(notes).toEqual((await run(failing)).notes);
		expect(JSON.stringify(notes)).toContain('hook broke');
	});

	test('does not change the result for the model', async () => {
		expect((await run({ ...failing, onError: () => 'ignore' })).result).toMatchObject({
			output: 'hook broke',
			isError: true,
		});
	});
});
