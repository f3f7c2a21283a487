import { describe, expect, test } from 'vitest';
import { chat, type ProviderRegistration, providers, RunletError } from '../../../src/core/index.ts';

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
