import { describe, expect, test } from 'vitest';
import { chat, providers, RunletError } from '../../../src/core/index.ts';

const messages = [chat.userMessage('Hello')];
type Delta = { readonly type: string };

async function stream(
	model: ReturnType<typeof providers.scripted>,
	...more: Parameters<typeof chat.dispatchChatStream>[4][]
) {
	const deltas: Delta[] = [];
	const take = (delta: Delta): undefined => {
		deltas.push(delta);
		return undefined;
	};
	const reply = await chat.dispatchChatStream(
		{ model: 'scripted', providers: [model] },
		messages,
		undefined,
		take,
		more[0],
	);
	return { reply, deltas };
}

describe('scripted', () => {
	test('serves every model whose name begins with scripted', () => {
		const { detect } = providers.scripted([]);
		expect([detect('scripted'), detect('scripted-b'), detect('demo')]).toEqual([true, true, false]);
	});

	test('records its requests, the oldest first, with and without streaming', async () => {
		const model = providers.scripted(['one', 'two']);
		const options = { maxOutputTokens: 5 };
		await chat.dispatchChat({ model: 'scripted', system: 'Be brief.', providers: [model] }, messages, [], options);
		await stream(model);
		expect(model.requests).toEqual([
			{ model: 'scripted', messages, system: 'Be brief.', tools: [], options, streamed: false },
			{ model: 'scripted', messages, system: undefined, tools: undefined, options: undefined, streamed: true },
		]);
	});

	test('plays a text as a reply that ends the turn', async () => {
		const { reply, deltas } = await stream(providers.scripted(['Hi']));
		expect(reply).toMatchObject({ text: 'Hi', stopReason: 'end_turn' });
		expect(deltas).toContainEqual({ type: 'text', text: 'Hi' });
		expect(deltas.at(-1)).toMatchObject({ type: 'stop', reason: 'end_turn' });
	});

	test('plays a reply with calls as tool_use, and streams the calls', async () => {
		const call = { id: 'a', name: 'look', input: { at: 1 } };
		const { reply, deltas } = await stream(providers.scripted([{ toolCalls: [call] }]));
		expect(reply).toMatchObject({ toolCalls: [call], stopReason: 'tool_use' });
		expect(deltas.filter(({ type }) => type.startsWith('tool_use'))).toEqual([
			{ type: 'tool_use_start', id: 'a', name: 'look' },
			{ type: 'tool_use_input', id: 'a', partialInputJson: '{"at":1}' },
			{ type: 'tool_use_end', id: 'a' },
		]);
	});

	test('plays deltas unchanged', async () => {
		const own = [{ type: 'text', text: 'H' }, { type: 'acme:mark' }, { type: 'text', text: 'i' }];
		const { reply, deltas } = await stream(providers.scripted([{ text: 'Hi', deltas: own }]));
		expect(deltas).toEqual(own);
		expect(reply).toEqual({ text: 'Hi', stopReason: 'end_turn' });
	});

	test('throws an error of the script', async () => {
		const broken = new RunletError('overloaded', 'busy');
		await expect(stream(providers.scripted([broken]))).rejects.toBe(broken);
	});

	test('breaks the stream off if the next reply is undefined', async () => {
		expect((await stream(providers.scripted([undefined]))).reply).toBeUndefined();
	});

	test('plays the result of a function, which gets the request and can stream', async () => {
		const model = providers.scripted([
			async ({ messages: sent }, onDelta) => {
				await onDelta({ type: 'text', text: `I got ${sent.length}` });
				return { text: `I got ${sent.length}` };
			},
			() => new Error('boom'),
			() => undefined,
		]);
		const { reply, deltas } = await stream(model);
		expect(reply?.text).toBe('I got 1');
		expect(deltas).toEqual([{ type: 'text', text: 'I got 1' }]);
		await expect(stream(model)).rejects.toThrow('boom');
		expect((await stream(model)).reply).toBeUndefined();
	});

	test('fails after the end of the script, without retries', async () => {
		const model = providers.scripted(['one']);
		await stream(model);
		await expect(stream(model)).rejects.toMatchObject({
			code: 'invalid_request',
			message: expect.stringMatching(/script/),
		});
		await expect(chat.runLoop({ model: 'scripted', providers: [model] }, 'Hi')).rejects.toMatchObject({
			code: 'invalid_request',
		});
		expect(model.requests).toHaveLength(3);
	});
});
