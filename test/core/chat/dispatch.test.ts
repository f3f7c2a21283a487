import { describe, expect, test } from 'vitest';
import { type ChatReply, chat, type Message, type ReplyDelta, type Tool } from '../../../src/core/index.ts';
import { readTool, refusal } from './support.ts';

const messages: Message[] = [chat.userMessage('Hi')];
const tools: Tool[] = [readTool('look', () => 'seen')];
const saying = (text: string) => (): ChatReply => ({ text, stopReason: 'end_turn' });
const streaming =
	(text: string) =>
	async (...args: unknown[]): Promise<ChatReply> => {
		const onDelta = args[4];
		if (typeof onDelta === 'function') await onDelta({ type: 'text', text });
		return { text, stopReason: 'end_turn' };
	};
const registered = {
	variant: 'mine',
	displayName: 'Mine',
	detect: chat.prefixDetector('mine'),
	chatFn: saying('registered'),
	chatStreamFn: streaming('registered stream'),
};

describe('dispatchChat', () => {
	test('an explicit chatFn wins over the providers', async () => {
		const options = { model: 'mine', providers: [registered], chatFn: saying('explicit') };
		expect((await chat.dispatchChat(options, messages, tools))?.text).toBe('explicit');
	});

	test('without a function of its own the provider of the model is asked', async () => {
		expect((await chat.dispatchChat({ model: 'mine', providers: [registered] }, messages, tools))?.text).toBe(
			'registered',
		);
	});

	test('without a provider that knows the model it rejects with unknown_model', async () => {
		expect((await refusal(chat.dispatchChat({ model: 'claude-x' }, messages))).code).toBe('unknown_model');
	});

	test('a chatStreamFn serves where there is no chatFn', async () => {
		const options = { model: 'mine', chatStreamFn: streaming('by stream') };
		expect((await chat.dispatchChat(options, messages, tools))?.text).toBe('by stream');
	});

	test('a chatFn gets model, messages, system and tools by position, and then the options of the call', async () => {
		const seen: unknown[][] = [];
		const chatFn = (...args: unknown[]): ChatReply => {
			seen.push(args);
			return { text: '', stopReason: 'end_turn' };
		};
		const call = { maxOutputTokens: 5 };
		await chat.dispatchChat({ model: 'mine', chatFn, system: 'Be brief.' }, messages, tools, call);
		expect(seen).toEqual([['mine', messages, 'Be brief.', tools, call]]);
	});
});

describe('dispatchChatStream', () => {
	test('an explicit chatStreamFn wins over the providers', async () => {
		const deltas: unknown[] = [];
		const options = { model: 'mine', providers: [registered], chatStreamFn: streaming('explicit') };
		const reply = await chat.dispatchChatStream(options, messages, tools, (delta) => {
			deltas.push(delta);
			return undefined;
		});
		expect(reply?.text).toBe('explicit');
		expect(deltas).toEqual([{ type: 'text', text: 'explicit' }]);
	});

	test('an explicit chatFn alone wins over the streaming of the providers', async () => {
		const options = { model: 'mine', providers: [registered], chatFn: saying('explicit') };
		expect((await chat.dispatchChatStream(options, messages, tools))?.text).toBe('explicit');
	});

	test('else the provider of the model streams', async () => {
		const reply = await chat.dispatchChatStream({ model: 'mine', providers: [registered] }, messages, tools);
		expect(reply?.text).toBe('registered stream');
	});

	test('a provider that cannot stream gives its whole reply', async () => {
		const whole = { ...registered, chatStreamFn: undefined };
		const reply = await chat.dispatchChatStream({ model: 'mine', providers: [whole] }, messages, tools);
		expect(reply?.text).toBe('registered');
	});

	test('without a provider that knows the model it rejects with unknown_model', async () => {
		expect((await refusal(chat.dispatchChatStream({ model: 'claude-x' }, messages, []))).code).toBe('unknown_model');
	});

	test('a chatStreamFn gets model, messages, system, tools and onDelta by position', async () => {
		const seen: unknown[][] = [];
		const chatStreamFn = (...args: unknown[]): ChatReply => {
			seen.push(args);
			return { text: '', stopReason: 'end_turn' };
		};
		const onDelta = (_: unknown): undefined => undefined;
		await chat.dispatchChatStream({ model: 'mine', chatStreamFn, system: 'Be brief.' }, messages, tools, onDelta);
		expect(seen[0]?.slice(0, 5)).toEqual(['mine', messages, 'Be brief.', tools, onDelta]);
	});
});

test('noopOnDelta discards what it gets', () => {
	const discard: (delta: ReplyDelta) => undefined = chat.noopOnDelta;
	expect(discard({ type: 'text', text: 'a' })).toBeUndefined();
});
