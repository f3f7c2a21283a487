import { env } from 'cloudflare:test';
import OpenAI from 'openai';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { embeddings as plugin } from '../../../src/cloudflare/embeddings/index.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { demo } from '../../../src/core/providers/index.ts';
import { createKeys } from '../../credentials.ts';
import { embedding } from '../../script.ts';
import worker, { runtime } from '../../worker.ts';

const model = 'scripted-vectors';

let keys: Readonly<Record<'server' | 'poor' | 'customer', string>>;
let bindings: Record<string, unknown>;
beforeAll(async () => {
	({ keys, bindings } = await createKeys({
		server: { owner: 'vectors', role: 'staff' },
		poor: { owner: 'poor-vectors' },
		customer: { owner: 'vectors', user: 'ada', role: 'customer' },
	}));
});
beforeEach(() => {
	embedding.fn = (texts) => texts.map((text) => [text.length, 0.5]);
	embedding.usage = { inputTokens: 7 };
});

const createClient = (name: keyof typeof keys, more: object = {}, app = worker) =>
	new OpenAI({
		apiKey: keys[name],
		baseURL: 'https://runlet.example.com/v1',
		maxRetries: 0,
		fetch: async (url, init) => app.request(String(url), init ?? {}, { ...bindings, ...more }),
	});

const thrown = (work: PromiseLike<unknown>): Promise<unknown> =>
	Promise.resolve(work).then(
		() => expect.unreachable('nothing was thrown'),
		(error: unknown) => error,
	);

const readSpent = async (owner: string, user?: string) => {
	const ledger = env.LEDGERS.get(env.LEDGERS.idFromName(owner));
	if (user !== undefined) return (await ledger.userState(user)).total.spent;
	return (await ledger.state({})).spent;
};

describe('the unchanged openai package', () => {
	test('gets a vector for each text, in both encodings', async () => {
		const { embeddings } = createClient('server');
		const input = ['a', 'bb'];
		const floats = await embeddings.create({ model, input, encoding_format: 'float' });
		expect(floats).toEqual({
			object: 'list',
			data: [
				{ object: 'embedding', index: 0, embedding: [1, 0.5] },
				{ object: 'embedding', index: 1, embedding: [2, 0.5] },
			],
			model,
			usage: { prompt_tokens: 7, total_tokens: 7 },
		});
		// Without a format the package asks for base64, and unpacks it.
		expect((await embeddings.create({ model, input })).data).toEqual(floats.data);
		const packed = await embeddings.create({ model, input: 'a', encoding_format: 'base64' });
		expect(packed.data[0]?.embedding).toBe('AACAPwAAAD8=');
	});

	test('gets vectors of the demo model without a key and a network', async () => {
		const app = createApp({ ...runtime, providers: () => [demo()] }, [plugin]);
		const { data, usage } = await createClient('server', {}, app).embeddings.create({ model: 'demo', input: 'a car' });
		expect(data[0]?.embedding.length).toBeGreaterThan(10);
		expect(usage.prompt_tokens).toBeGreaterThan(0);
	});
});

describe('the cost of vectors', () => {
	test('is charged to the owner’s day and to the user that the request names', async () => {
		const { embeddings } = createClient('server');
		const before = await readSpent('vectors');
		await embeddings.create({ model, input: 'hello', user: 'ben' });
		expect(await readSpent('vectors')).toEqual({ tokens: before.tokens + 7, usd: before.usd + 0.007 });
		expect(await readSpent('vectors', 'ben')).toEqual({ tokens: 7, usd: 0.007 });
	});

	test('is refused above the budget, and no request is made', async () => {
		let asked = 0;
		embedding.fn = () => {
			asked++;
			return [];
		};
		const { embeddings } = createClient('poor', { DAY_BUDGET_TOKENS: '10' });
		expect(await thrown(embeddings.create({ model, input: 'many words '.repeat(50) }))).toMatchObject({
			status: 402,
			type: 'insufficient_quota',
		});
		expect(asked).toBe(0);
		expect(await readSpent('poor-vectors')).toEqual({ tokens: 0, usd: 0 });
	});

	test('of a request that the provider refuses is none', async () => {
		embedding.usage = undefined;
		embedding.fn = () => {
			throw Object.assign(new Error('no'), { status: 401 });
		};
		const { embeddings } = createClient('poor');
		// The key of the Worker was refused, and not the key of the client.
		expect(await thrown(embeddings.create({ model, input: 'hello' }))).toMatchObject({ status: 502 });
		expect(await readSpent('poor-vectors')).toEqual({ tokens: 0, usd: 0 });
	});
});

describe('a request', () => {
	test.each<[string, object, string]>([
		['with tokens', { input: [1, 2] }, 'input[0]'],
		['with lists of tokens', { input: [[1, 2]] }, 'input[0]'],
		['with an empty text', { input: '' }, 'input'],
		['with an empty text in a list', { input: ['a', ''] }, 'input[1]'],
		['without a text', { input: [] }, 'input'],
		['without an input', {}, 'input'],
		['with too many texts', { input: Array(2_049).fill('a') }, 'input'],
		['with another encoding', { input: 'a', encoding_format: 'hex' }, 'encoding_format'],
		['with no dimensions', { input: 'a', dimensions: 0 }, 'dimensions'],
		['with dimensions that the model does not make', { input: 'a', dimensions: 3 }, 'dimensions'],
	])('%s is refused, and the error names the field', async (_, body, param) => {
		const { embeddings } = createClient('server');
		expect(await thrown(embeddings.create({ model, ...body } as never))).toMatchObject({ status: 400, param });
	});

	test('for a model without embeddings is refused', async () => {
		const { embeddings } = createClient('server');
		for (const name of ['claude-sonnet-4-6', 'nobody-knows'])
			expect(await thrown(embeddings.create({ model: name, input: 'a' }))).toMatchObject({
				status: 404,
				param: 'model',
				code: 'model_not_found',
			});
	});

	test('of a customer is refused', async () => {
		expect(await thrown(createClient('customer').embeddings.create({ model, input: 'a' }))).toMatchObject({
			status: 403,
			message: expect.stringContaining('staff'),
		});
	});

	test('to a Worker without the plugin gets an error that names the plugin', async () => {
		const { embeddings } = createClient('server', {}, createApp(runtime));
		expect(await thrown(embeddings.create({ model, input: 'a' }))).toMatchObject({
			status: 404,
			message: expect.stringContaining("from 'runlet/cloudflare/embeddings'"),
		});
	});
});
