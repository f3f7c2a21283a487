/** The cost of vectors (docs/budgets.md, "Vectors"). */
import { env } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Limit } from '../../../src/cloudflare/objects/budget.ts';
import { Embeddings } from '../../../src/cloudflare/session/run/meter.ts';
import type { Meter, ProviderRegistration } from '../../../src/core/chat/index.ts';
import { readState, request } from '../../client.ts';
import { embedding, play } from '../../script.ts';
import { createSessionFor, createUser, putMemory, say } from './people.ts';

const model = 'scripted-vectors';
let embedded: string[][] = [];

beforeEach(() => {
	embedded = [];
	embedding.fn = (texts) => {
		embedded.push([...texts]);
		return texts.map(() => [1, 0]);
	};
});
afterEach(() => {
	embedding.usage = undefined;
});

const usage = { inputTokens: 40, outputTokens: 10 };

describe('embedding in a run', () => {
	test('charges the session for the reported tokens, in a separate row', async () => {
		const user = createUser();
		await putMemory(user, 'garage.md', 'Drives an automobile.');
		embedding.usage = { inputTokens: 17 };
		play({ text: 'Yes.', usage });
		const id = await createSessionFor(user, 'keeper-near');
		await say(id, 'Which car?');
		expect(embedded).toHaveLength(1);
		expect(await readState(id)).toMatchObject({
			status: 'completed',
			budget: { spent: { tokens: 67 }, reserved: { tokens: 0 } },
		});
		const { spending } = await (await request(`/v1/sessions/${id}/export`)).json<{ spending: unknown }>();
		expect(spending).toMatchObject([
			{ model, tokens: 17, isSettled: true },
			{ model: 'scripted', tokens: 50, isSettled: true },
		]);
	});

	test('charges an estimate if the provider reports no tokens', async () => {
		const user = createUser();
		await putMemory(user, 'garage.md', 'Drives an automobile.');
		play({ text: 'Yes.', usage });
		const id = await createSessionFor(user, 'keeper-near');
		await say(id, 'Which car?');
		const { tokens } = (await readState(id)).budget.spent;
		expect(tokens).toBeGreaterThan(50 + 10);
		expect(tokens).toBeLessThan(50 + 40);
	});

	test('makes no request if the session has no budget left', async () => {
		const user = createUser();
		await putMemory(user, 'garage.md', 'Drives a car.');
		const id = await createSessionFor(user, 'keeper-near');
		await request(`/v1/sessions/${id}`, { budget: { tokens: 5 } }, {}, 'PATCH');
		const { requests } = play('never');
		for (let n = 0; n < 11; n++) {
			const refused = await request(`/v1/sessions/${id}/messages`, { text: 'Which car do I drive?' });
			expect(refused.status).toBe(402);
		}
		expect([embedded, requests]).toEqual([[], []]);
		expect((await readState(id)).budget).toMatchObject({ spent: { tokens: 0 }, reserved: { tokens: 0 } });
	});

	test('sends one request at a time for parallel tool calls, and is charged for each call', async () => {
		const user = createUser();
		embedding.usage = { inputTokens: 7 };
		const calls = ['a', 'b', 'c'].map((name) => ({ id: name, name: 'recall', input: { query: name } }));
		play({ toolCalls: calls, usage }, { text: 'Yes.', usage });
		const id = await createSessionFor(user, 'keeper-near');
		await say(id, 'Hm.');
		expect(embedded.map(([text]) => text)).toEqual(['Hm.', 'a', 'b', 'c']);
		expect((await readState(id)).budget.spent.tokens).toBe(2 * 50 + 4 * 7);
	});
});

/** A provider of vectors that answers when the test lets it. */
function createVectors(answer: () => Promise<readonly (readonly number[])[]>) {
	const asked: (readonly string[])[] = [];
	const provider: ProviderRegistration = {
		variant: 'vectors',
		displayName: 'Vectors',
		detect: () => true,
		computePrice: (_, { inputTokens = 0 }) => inputTokens / 1_000,
		embedFn: async (_, texts, options) => {
			asked.push(texts);
			options?.onUsage?.({ inputTokens: 30 });
			return answer();
		},
	};
	return { provider, asked };
}

function createOwner(limit: Limit) {
	const id = env.LEDGERS.idFromName(crypto.randomUUID());
	const ledger = () => env.LEDGERS.get(id);
	return { ledger, findLimit: async () => limit, user: undefined };
}

describe('the embeddings of a run', () => {
	const order: string[] = [];
	const account = {
		call: undefined,
		reserve: async ({ model: name }: Parameters<Meter['reserve']>[0]) => void order.push(`reserve ${name}`),
		lost: (_: unknown, isCut: boolean) => void order.push(isCut ? 'cut' : 'lost'),
		settle: () => void order.push('settle'),
	};
	const signal = new AbortController().signal;

	test('that are still open are aborted and charged before the run calls the model', async () => {
		order.length = 0;
		const { provider, asked } = createVectors(() => new Promise(() => {}));
		const embeddings = new Embeddings({ providers: [provider], owner: createOwner({}) });
		const meter = embeddings.attach({ ...account, settle: () => undefined });
		const late = embeddings.embed('v', ['a']);
		late.catch(() => {});
		await expect.poll(() => asked.length).toBe(1);
		const waits = embeddings.embed('v', ['b']);
		waits.catch(() => {});
		await meter.reserve({ model: 'chat', inputTokens: 1, signal });
		await expect(late).rejects.toMatchObject({ code: 'cancelled' });
		await expect(waits).rejects.toMatchObject({ code: 'cancelled' });
		await expect(embeddings.embed('v', ['c'])).rejects.toMatchObject({ code: 'cancelled' });
		expect([order, asked]).toEqual([['reserve v', 'cut', 'reserve chat'], [['a']]]);
		meter.lost(undefined, false, 0);
		await meter.reserve({ model: 'chat', inputTokens: 1, signal });
		expect(order.slice(3)).toEqual(['lost', 'reserve chat']);
	});

	test('that are still open are aborted at the end of the run, and no later request starts', async () => {
		order.length = 0;
		const { provider, asked } = createVectors(() => new Promise(() => {}));
		const embeddings = new Embeddings({ providers: [provider], owner: createOwner({}) });
		embeddings.attach({ ...account, settle: () => undefined });
		const late = embeddings.embed('v', ['a']);
		late.catch(() => {});
		await expect.poll(() => asked.length).toBe(1);
		embeddings.end();
		await expect(late).rejects.toMatchObject({ code: 'cancelled' });
		await expect(embeddings.embed('v', ['b'])).rejects.toMatchObject({ code: 'cancelled' });
		expect(order).toEqual(['reserve v', 'cut']);
	});
});

describe('embedding outside of a run', () => {
	test('is charged to the owner’s daily budget, and refused beyond its cap', async () => {
		const { provider, asked } = createVectors(async () => [[1]]);
		const owner = createOwner({ tokens: 100 });
		const embeddings = new Embeddings({ providers: [provider], owner });
		for (const text of ['a', 'b', 'c']) await embeddings.embed('v', [text]);
		const state = await owner.ledger().state({ tokens: 100 });
		expect(state).toMatchObject({ spent: { tokens: 90, usd: 0.09 }, reserved: { tokens: 0 } });
		await expect(embeddings.embed('v', ['word '.repeat(20)])).rejects.toMatchObject({
			code: 'budget_exceeded',
			data: { scope: 'day' },
		});
		expect(asked).toHaveLength(3);
	});

	test('costs nothing if the request fails, and costs its input if the request is aborted', async () => {
		const owner = createOwner({});
		const failing = createVectors(() => Promise.reject(Object.assign(new Error('no'), { status: 401 })));
		const quiet = {
			...failing.provider,
			embedFn: () => Promise.reject(Object.assign(new Error('no'), { status: 401 })),
		};
		const of = (provider: ProviderRegistration) => new Embeddings({ providers: [provider], owner });
		await expect(of(quiet).embed('v', ['a'])).rejects.toMatchObject({ code: 'auth' });
		expect(await owner.ledger().state({})).toMatchObject({ spent: { tokens: 0 } });
		const stop = new AbortController();
		const embedFn = async (): Promise<never> => {
			stop.abort();
			return new Promise(() => {});
		};
		const hangs = of({ ...quiet, embedFn });
		await expect(hangs.embed('v', ['word '.repeat(100)], stop.signal)).rejects.toMatchObject({ code: 'cancelled' });
		expect((await owner.ledger().state({})).spent.tokens).toBeGreaterThan(100);
	});

	test('is charged for each attempt of a request that is repeated after a failure', async () => {
		const owner = createOwner({});
		const { provider } = createVectors(async () => [[1]]);
		let failures = 1;
		const embedFn: ProviderRegistration['embedFn'] = async (_, texts, options) => {
			options?.onUsage?.({ inputTokens: 30 });
			if (failures-- > 0) throw Object.assign(new Error('busy'), { status: 503, retryAfter: 0 });
			return texts.map(() => [1]);
		};
		await new Embeddings({ providers: [{ ...provider, embedFn }], owner }).embed('v', ['a']);
		expect(await owner.ledger().state({})).toMatchObject({ spent: { tokens: 60 }, reserved: { tokens: 0 } });
	});

	test('appears in the spending under its model, and tokens without a known price are counted separately', async () => {
		const owner = createOwner({});
		const { provider } = createVectors(async () => [[1]]);
		await new Embeddings({ providers: [provider], owner }).embed('v', ['a']);
		const unpriced = { ...provider, computePrice: () => undefined };
		await new Embeddings({ providers: [unpriced], owner }).embed('w', ['a']);
		expect(await owner.ledger().parts(['model'], 1)).toMatchObject([
			{ model: 'v', tokens: 30, usd: 0.03, unpricedTokens: 0, inputTokens: 30 },
			{ model: 'w', tokens: 30, usd: 0, unpricedTokens: 30 },
		]);
	});

	test('is refused for a model without a known price if the owner has a cap in dollars', async () => {
		const { provider, asked } = createVectors(async () => [[1]]);
		const unpriced = { ...provider, computePrice: () => undefined };
		const embeddings = new Embeddings({ providers: [unpriced], owner: createOwner({ usd: 1 }) });
		await expect(embeddings.embed('v', ['a'])).rejects.toMatchObject({ code: 'budget_exceeded' });
		expect(asked).toEqual([]);
	});
});
