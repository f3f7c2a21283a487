import { describe, expect, test } from 'vitest';
import {
	type ChatReply,
	chat,
	type Message,
	type ProviderRegistration,
	providers,
	type ReplyDelta,
	RunletError,
	type Tool,
} from '../../../src/core/index.ts';
import { readTool, refusal } from './support.ts';

const own = (variant: string, prefix: string): ProviderRegistration => ({
	variant,
	displayName: variant.toUpperCase(),
	detect: chat.prefixDetector(prefix),
	chatFn: () => ({ text: variant, stopReason: 'end_turn' }),
});

describe('detecting a provider', () => {
	test('there are four built-in providers, which detect and name but cannot talk', () => {
		const builtins = chat.builtinProviders();
		expect(builtins.map(({ displayName }) => displayName)).toEqual(['Anthropic', 'OpenAI', 'xAI', 'Google Gemini']);
		for (const { chatFn, chatStreamFn } of builtins) expect([chatFn, chatStreamFn]).toEqual([undefined, undefined]);
	});

	test.each([
		['claude-sonnet-4-5', 'anthropic'],
		['Claude-Opus', 'anthropic'],
		['gpt-4o', 'openai'],
		['o1-mini', 'openai'],
		['o3', 'openai'],
		['o4-mini', 'openai'],
		['chatgpt-4o-latest', 'openai'],
		['grok-4', 'xai'],
		['gemini-2.5-pro', 'gemini'],
	])('%s is of %s', (model, provider) => {
		expect(chat.detectProvider(model)).toBe(provider);
	});

	test('a model that nobody knows is unknown_model', () => {
		expect(() => chat.detectProvider('llama3')).toThrow(RunletError);
		expect(() => chat.detectProvider('llama3')).toThrow(expect.objectContaining({ code: 'unknown_model' }));
		expect(() => chat.detectProvider('my-gpt')).toThrow(expect.objectContaining({ code: 'unknown_model' }));
	});

	test('a registry is searched from its end, so a later entry overrides', () => {
		const registry = chat.withProviders([own('first', 'gpt'), own('second', 'gpt-4')]);
		expect(chat.detectProviderFrom(registry, 'gpt-4o')?.variant).toBe('second');
		expect(chat.detectProviderFrom(registry, 'gpt-3.5')?.variant).toBe('first');
		expect(chat.detectProviderFrom(registry, 'claude-x')?.variant).toBe('anthropic');
		expect(chat.detectProviderFrom(registry, 'llama3')).toBeUndefined();
	});

	test('an entry is asked about the name in lower case', () => {
		const asked: string[] = [];
		const entry = { ...own('a', 'x'), detect: (model: string) => asked.push(model) > 0 };
		chat.detectProviderFrom([entry], 'My-Model');
		expect(asked).toEqual(['my-model']);
	});

	test('withProviders is the built-in entries and then the extras', () => {
		const extra = own('mine', 'mine/');
		expect(chat.withProviders([extra])).toEqual([...chat.builtinProviders(), extra]);
		expect(chat.withProviders([])).toEqual(chat.builtinProviders());
	});

	test('a prefix is detected in any case, and only in front', () => {
		const detect = chat.prefixDetector('Groq/');
		expect([detect('groq/llama'), detect('GROQ/Llama'), detect('my-groq/')]).toEqual([true, true, false]);
	});

	test('a provider of another package is named by its own text', () => {
		expect(chat.providerName('gemini')).toBe('Google Gemini');
		expect(chat.providerName('mistral')).toBe('mistral');
	});
});

describe('resolveRegistration', () => {
	test('it takes from the providers given first', () => {
		expect(chat.resolveRegistration({ model: 'gpt-4o', providers: [own('proxy', 'gpt')] })?.variant).toBe('proxy');
	});

	test('it falls back to the built-in registry', () => {
		expect(chat.resolveRegistration({ model: 'gpt-4o' })?.variant).toBe('openai');
		expect(chat.resolveRegistration({ model: 'claude-x', providers: [own('proxy', 'gpt')] })?.variant).toBe(
			'anthropic',
		);
	});

	test('it is undefined where nobody knows the model', () => {
		expect(chat.resolveRegistration({ model: 'llama3' })).toBeUndefined();
	});
});

describe('a model that nobody can talk to', () => {
	test('is unknown_model, and the message lists what is configured', async () => {
		const options = { model: 'llama3', providers: [providers.demo(), own('proxy', 'gpt')] };
		const error = await chat.runLoop(options, 'Hi').catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({ code: 'unknown_model' });
		expect(String(error)).toContain('llama3');
		expect(String(error)).toContain('Demo');
		expect(String(error)).toContain('PROXY');
	});

	test('is unknown_model too where its provider is known and not configured', async () => {
		const error = await chat.runLoop({ model: 'claude-x' }, 'Hi').catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({ code: 'unknown_model' });
		expect(String(error)).toContain('Anthropic');
	});
});

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
