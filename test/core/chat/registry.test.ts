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

describe('the registry', () => {
	test('has four built-in providers, which recognize and name models but cannot call them', () => {
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
	])('maps the model %s to the provider %s', (model, provider) => {
		expect(chat.detectProvider(model)).toBe(provider);
	});

	test('throws unknown_model for an unknown model', () => {
		expect(() => chat.detectProvider('llama3')).toThrow(RunletError);
		expect(() => chat.detectProvider('llama3')).toThrow(expect.objectContaining({ code: 'unknown_model' }));
		expect(() => chat.detectProvider('my-gpt')).toThrow(expect.objectContaining({ code: 'unknown_model' }));
	});

	test('prefers later entries', () => {
		const registry = chat.withProviders([own('first', 'gpt'), own('second', 'gpt-4')]);
		expect(chat.detectProviderFrom(registry, 'gpt-4o')?.variant).toBe('second');
		expect(chat.detectProviderFrom(registry, 'gpt-3.5')?.variant).toBe('first');
		expect(chat.detectProviderFrom(registry, 'claude-x')?.variant).toBe('anthropic');
		expect(chat.detectProviderFrom(registry, 'llama3')).toBeUndefined();
	});

	test('passes the model name in lower case to detect', () => {
		const asked: string[] = [];
		const entry = { ...own('a', 'x'), detect: (model: string) => asked.push(model) > 0 };
		chat.detectProviderFrom([entry], 'My-Model');
		expect(asked).toEqual(['my-model']);
	});

	test('appends extra providers to the built-in providers', () => {
		const extra = own('mine', 'mine/');
		expect(chat.withProviders([extra])).toEqual([...chat.builtinProviders(), extra]);
		expect(chat.withProviders([])).toEqual(chat.builtinProviders());
	});

	test('recognizes a prefix in upper or lower case, but only at the beginning', () => {
		const detect = chat.prefixDetector('Groq/');
		expect([detect('groq/llama'), detect('GROQ/Llama'), detect('my-groq/')]).toEqual([true, true, false]);
	});

	test('uses the id of an unknown provider as its name', () => {
		expect(chat.providerName('gemini')).toBe('Google Gemini');
		expect(chat.providerName('mistral')).toBe('mistral');
	});
});

describe('resolveRegistration', () => {
	test('searches the passed providers first', () => {
		expect(chat.resolveRegistration({ model: 'gpt-4o', providers: [own('proxy', 'gpt')] })?.variant).toBe('proxy');
	});

	test('searches the built-in entries after the passed providers', () => {
		expect(chat.resolveRegistration({ model: 'gpt-4o' })?.variant).toBe('openai');
		expect(chat.resolveRegistration({ model: 'claude-x', providers: [own('proxy', 'gpt')] })?.variant).toBe(
			'anthropic',
		);
	});

	test('returns undefined for an unknown model', () => {
		expect(chat.resolveRegistration({ model: 'llama3' })).toBeUndefined();
	});
});

describe('a model without a usable provider', () => {
	test('fails with unknown_model, and the error lists the configured providers', async () => {
		const options = { model: 'llama3', providers: [providers.demo(), own('proxy', 'gpt')] };
		const error = await chat.runLoop(options, 'Hi').catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({ code: 'unknown_model' });
		expect(String(error)).toContain('llama3');
		expect(String(error)).toContain('Demo');
		expect(String(error)).toContain('PROXY');
	});

	test('fails with unknown_model if its provider is known but not configured', async () => {
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
	test('prefers chatFn to the providers', async () => {
		const options = { model: 'mine', providers: [registered], chatFn: saying('explicit') };
		expect((await chat.dispatchChat(options, messages, tools))?.text).toBe('explicit');
	});

	test('calls the provider of the model if there is no chatFn', async () => {
		expect((await chat.dispatchChat({ model: 'mine', providers: [registered] }, messages, tools))?.text).toBe(
			'registered',
		);
	});

	test('rejects with unknown_model if no provider has the model', async () => {
		expect((await refusal(chat.dispatchChat({ model: 'claude-x' }, messages))).code).toBe('unknown_model');
	});

	test('uses chatStreamFn if there is no chatFn', async () => {
		const options = { model: 'mine', chatStreamFn: streaming('by stream') };
		expect((await chat.dispatchChat(options, messages, tools))?.text).toBe('by stream');
	});

	test('passes model, messages, system, tools and the options of the call to chatFn', async () => {
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
	test('prefers chatStreamFn to the providers', async () => {
		const deltas: unknown[] = [];
		const options = { model: 'mine', providers: [registered], chatStreamFn: streaming('explicit') };
		const reply = await chat.dispatchChatStream(options, messages, tools, (delta) => {
			deltas.push(delta);
			return undefined;
		});
		expect(reply?.text).toBe('explicit');
		expect(deltas).toEqual([{ type: 'text', text: 'explicit' }]);
	});

	test('prefers chatFn to the streaming of the providers', async () => {
		const options = { model: 'mine', providers: [registered], chatFn: saying('explicit') };
		expect((await chat.dispatchChatStream(options, messages, tools))?.text).toBe('explicit');
	});

	test('streams from the provider of the model', async () => {
		const reply = await chat.dispatchChatStream({ model: 'mine', providers: [registered] }, messages, tools);
		expect(reply?.text).toBe('registered stream');
	});

	test('returns the whole reply of a provider that cannot stream', async () => {
		const whole = { ...registered, chatStreamFn: undefined };
		const reply = await chat.dispatchChatStream({ model: 'mine', providers: [whole] }, messages, tools);
		expect(reply?.text).toBe('registered');
	});

	test('rejects with unknown_model if no provider has the model', async () => {
		expect((await refusal(chat.dispatchChatStream({ model: 'claude-x' }, messages, []))).code).toBe('unknown_model');
	});

	test('passes model, messages, system, tools and onDelta to chatStreamFn', async () => {
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

test('noopOnDelta discards deltas', () => {
	const discard: (delta: ReplyDelta) => undefined = chat.noopOnDelta;
	expect(discard({ type: 'text', text: 'a' })).toBeUndefined();
});
