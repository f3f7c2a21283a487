import { describe, expect, test } from 'vitest';
import { chat, type ProviderRegistration, providers, RunletError } from '../../../src/core/index.ts';

const vectors: ProviderRegistration = {
	variant: 'vectors',
	displayName: 'Vectors',
	detect: (model) => model.startsWith('v-'),
	embedFn: async (_model, texts) => texts.map((text) => [text.length]),
};

describe('chat.embed', () => {
	test('returns a vector for each text, in order', async () => {
		const given = await chat.embed({ model: 'v-1', providers: [vectors] }, ['a', 'bbb', 'cc']);
		expect(given).toEqual([[1], [3], [2]]);
	});

	test('reports each request to the meter before sending it, and the cost of the request afterwards', async () => {
		const told: unknown[] = [];
		const meter: chat.Meter = {
			reserve: ({ model, isEmbedding, inputTokens }) => void told.push([model, isEmbedding, inputTokens > 300]),
			lost: (usage, isCut) => void told.push([usage?.inputTokens, isCut]),
		};
		const post = async () => Response.json({ data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 321 } });
		const openai = providers.openai({ apiKey: 'k', fetch: post });
		const model = 'text-embedding-3-small';
		await chat.embed({ model, providers: [openai], meter }, ['word '.repeat(300)]);
		expect(told).toEqual([
			[model, true, true],
			[321, false],
		]);
		const failing = { ...vectors, embedFn: async () => Promise.reject(new RunletError('auth', 'no')) };
		await chat.embed({ model: 'v-1', providers: [failing], meter }, ['a']).catch(() => {});
		expect(told.slice(2)).toEqual([
			['v-1', true, false],
			[undefined, false],
		]);
	});

	test('sends no request for an empty list of texts', async () => {
		const embedFn = (): never => {
			throw new Error('asked');
		};
		expect(await chat.embed({ model: 'v-1', providers: [{ ...vectors, embedFn }] }, [])).toEqual([]);
	});

	test('retries a temporary failure up to maxRetries times', async () => {
		let tries = 0;
		const embedFn = async () => {
			if (++tries < 3) throw new RunletError('overloaded', 'busy', { retryAfter: 0 });
			return [[1]];
		};
		const options = { model: 'v-1', providers: [{ ...vectors, embedFn }] };
		expect(await chat.embed(options, ['a'])).toEqual([[1]]);
		tries = 0;
		await expect(chat.embed({ ...options, maxRetries: 1 }, ['a'])).rejects.toMatchObject({ code: 'overloaded' });
		expect(tries).toBe(2);
	});

	test('does not retry a permanent failure', async () => {
		let tries = 0;
		const embedFn = async (): Promise<never> => {
			tries++;
			throw new RunletError('auth', 'no');
		};
		const asked = chat.embed({ model: 'v-1', providers: [{ ...vectors, embedFn }] }, ['a']);
		await expect(asked).rejects.toMatchObject({ code: 'auth' });
		expect(tries).toBe(1);
	});

	test('ends when its signal aborts, even if the provider ignores the signal', async () => {
		const controller = new AbortController();
		const embedFn = () => new Promise<never>(() => {});
		const asked = chat.embed({ model: 'v-1', providers: [{ ...vectors, embedFn }], signal: controller.signal }, ['a']);
		controller.abort();
		await expect(asked).rejects.toMatchObject({ code: 'cancelled' });
	});

	test('fails if the number of vectors differs from the number of texts', async () => {
		const embedFn = async () => [[1]];
		const asked = chat.embed({ model: 'v-1', providers: [{ ...vectors, embedFn }] }, ['a', 'b']);
		await expect(asked).rejects.toMatchObject({ code: 'provider_error', message: expect.stringContaining('2 texts') });
	});

	test('fails with an error that names the missing provider, key or embeddings', async () => {
		await expect(chat.embed({ model: 'nobody' }, ['a'])).rejects.toMatchObject({ code: 'unknown_model' });
		const keyless = { ...vectors, embedFn: undefined, needs: 'VECTORS_API_KEY' };
		await expect(chat.embed({ model: 'v-1', providers: [keyless] }, ['a'])).rejects.toMatchObject({
			code: 'not_configured',
			message: expect.stringContaining('VECTORS_API_KEY'),
		});
		const talks = { ...vectors, embedFn: undefined, chatFn: async () => undefined };
		await expect(chat.embed({ model: 'v-1', providers: [talks] }, ['a'])).rejects.toMatchObject({
			code: 'invalid_request',
			message: expect.stringContaining('no embeddings'),
		});
	});

	test('ranks texts with the demo model', async () => {
		const texts = ['The train to Paris is late', 'Trains are late', 'A recipe for apple cake'];
		const [a = [], b = [], c = []] = await chat.embed({ model: 'demo', providers: [providers.demo()] }, texts);
		const dot = (x: readonly number[], y: readonly number[]) =>
			x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
		expect(dot(a, a)).toBeCloseTo(1);
		expect(dot(a, b)).toBeGreaterThan(dot(a, c));
		expect(await chat.embed({ model: 'demo', providers: [providers.demo()] }, texts)).toEqual([a, b, c]);
	});
});
