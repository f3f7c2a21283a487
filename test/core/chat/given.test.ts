import { describe, expect, test } from 'vitest';
import { startRun } from '../../../src/core/chat/run.ts';
import { chat, type Message, type MessagePart, providers, toolbox } from '../../../src/core/index.ts';
import { freezeData } from '../../../src/core/tool/state.ts';
import { calling, echo, echoCall, finish, only } from './support.ts';

describe('the messages of a caller', () => {
	test('are copied at once, so later changes have no effect', async () => {
		const parts: MessagePart[] = [{ kind: 'text', text: 'Hello' }];
		const messages: Message[] = [chat.userMessage(parts)];
		const model = providers.scripted(['Hi']);
		const run = chat.run({ model: 'scripted', providers: [model] }, messages);
		parts[0] = { kind: 'text', text: 'Bye' };
		Object.assign(messages[0] ?? {}, { content: 'Bye' });
		messages.push(chat.userMessage('More'));
		const { messages: history } = await run.result;
		expect(history.map(chat.messageText)).toEqual(['Hello', 'Hi']);
		expect(model.requests[0]?.messages).toEqual([chat.userMessage([chat.textPart('Hello')])]);
	});

	test('are not copied if they are frozen', async () => {
		const given = freezeData([chat.userMessage('Hello')]);
		const model = providers.scripted(['Hi']);
		const { messages } = await startRun({ model: 'scripted', providers: [model] }, given, { isFrozen: true }).result;
		expect(messages[0]).toBe(given[0]);
	});

	test('are not changed by the run', async () => {
		const messages = [chat.userMessage('Hello')];
		const before = JSON.stringify(messages);
		await finish(['Hi'], {}, messages);
		expect(JSON.stringify(messages)).toBe(before);
	});
});

test('a toolbox can be passed as the tools of a run', async () => {
	const box = toolbox.build([echo]);
	const { requests, events } = await finish([calling(echoCall('a')), 'done'], { tools: box });
	expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(['echo']);
	expect(only(events, 'tool_result')).toMatchObject([{ id: 'a', output: 'a', isError: false }]);
});

describe('a model function that returns a text', () => {
	const chatFn = async () => 'Hi there';

	test('replies with that text, with and without streaming', async () => {
		const run = chat.run({ model: 'own', chatFn }, [chat.userMessage('Hello')]);
		const texts: string[] = [];
		for await (const event of run.events) if (event.type === 'text') texts.push(event.text);
		expect(texts.join('')).toBe('Hi there');
		expect(await run.result).toMatchObject({ status: 'completed', text: 'Hi there' });
		expect(await chat.runLoop({ model: 'own', chatFn }, 'Hello')).toBe('Hi there');
		expect(await chat.dispatchChat({ model: 'own', chatFn }, [])).toMatchObject({ text: 'Hi there' });
		expect(await chat.runLoop({ model: 'own', chatFn: () => '' }, 'Hello')).toBe('');
	});

	test('can also stream that text, and the text is shown only once', async () => {
		const run = chat.run(
			{
				model: 'own',
				chatStreamFn: async (_model, _messages, _system, _tools, onDelta) => {
					await onDelta({ type: 'text', text: 'Hi' });
					return 'Hi';
				},
			},
			[chat.userMessage('Hello')],
		);
		const texts: string[] = [];
		for await (const event of run.events) if (event.type === 'text') texts.push(event.text);
		expect(texts).toEqual(['Hi']);
		expect((await run.result).text).toBe('Hi');
	});
});
