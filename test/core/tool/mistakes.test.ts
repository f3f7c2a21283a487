import * as v from 'valibot';
import { expect, test } from 'vitest';
import { chat, providers, tool } from '../../../src/core/index.ts';

const record = { name: 'book', description: 'Books a table.' };

test('an inputSchema that describes no object is refused, with the tool it belongs to', () => {
	for (const inputSchema of [v.string(), { type: 'string' }, { people: 'number' }]) {
		expect(() => tool.define({ ...record, inputSchema })).toThrow(/^inputSchema: .*object.*\(tool book\)/);
	}
});

test('an inputSchema that says nothing, or says it by reference or choice, is taken', () => {
	for (const inputSchema of [
		{},
		{ type: ['object', 'null'] },
		{ anyOf: [{ type: 'object' }] },
		{ $ref: '#/$defs/a', $defs: { a: { type: 'object' } } },
	]) {
		expect(tool.define({ ...record, inputSchema }).inputSchema).toEqual(inputSchema);
	}
});

test('a run without a model, or with a provider that was not called, says what to do', async () => {
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
