import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { createKeys } from '../../credentials.ts';
import worker, { runtime } from '../../worker.ts';

let keys: Readonly<Record<'customer' | 'staff' | 'admin', string>>;
let bindings: Record<string, unknown>;
beforeAll(async () => {
	({ keys, bindings } = await createKeys({
		customer: { user: 'ada', role: 'customer' },
		staff: { user: 'kim', role: 'staff' },
		admin: ['run'],
	}));
});

const serve = (app = worker) => ({
	baseURL: 'https://runlet.example.com',
	maxRetries: 0,
	fetch: async (url: unknown, init?: RequestInit) => app.request(String(url), init ?? {}, bindings),
});

const openai = (apiKey: string, app = worker) =>
	new OpenAI({ ...serve(app), apiKey, baseURL: 'https://runlet.example.com/v1' });
const anthropic = (apiKey: string) => new Anthropic({ ...serve(), apiKey });

const thrown = (work: PromiseLike<unknown>): Promise<unknown> =>
	Promise.resolve(work).then(
		() => expect.unreachable('nothing was thrown'),
		(error: unknown) => error,
	);

describe('an agent as a model', () => {
	test('has what is known of the agent’s model', async () => {
		expect(await openai(keys.staff).models.retrieve('searcher')).toEqual({
			...{ id: 'searcher', object: 'model', created: 0, owned_by: 'runlet' },
			description: 'Uses tools of its provider.',
			context_length: expect.any(Number),
			architecture: { input_modalities: ['text', 'file', 'image'], output_modalities: ['text'] },
			supported_parameters: expect.arrayContaining(['tools', 'response_format']),
			pricing: { prompt: '0.000003', completion: '0.000015', input_cache_read: '0.0000003' },
		});
	});

	test('under the name of another model of the agent has the facts of that model', async () => {
		const { pricing } = Object(await openai(keys.admin).models.retrieve('searcher:gpt-5.4'));
		expect(pricing).toMatchObject({ prompt: '0.0000025', completion: '0.000015' });
	});

	test('has the limits of the agent', async () => {
		expect(await openai(keys.admin).models.retrieve('full-fail')).toMatchObject({ context_length: 1_000 });
		expect(await openai(keys.admin).models.retrieve('writer')).toMatchObject({ max_completion_tokens: 100 });
	});

	test('without a known price has no prices', async () => {
		expect(await openai(keys.admin).models.retrieve('scripted:scripted-unpriced')).not.toHaveProperty('pricing');
	});

	test('has no prices for a customer, in any form', async () => {
		const all = await Array.fromAsync(openai(keys.customer).models.list());
		expect(all.length).toBeGreaterThan(20);
		expect(JSON.stringify(all)).not.toContain('pricing');
		expect(JSON.stringify(await openai(keys.customer).models.retrieve('searcher'))).not.toContain('pricing');
		expect(JSON.stringify(await Array.fromAsync(openai(keys.staff).models.list()))).toContain('pricing');
	});
});

describe('the unchanged @anthropic-ai/sdk', () => {
	test('lists the agents in pages', async () => {
		const client = anthropic(keys.customer);
		const all = (await Array.fromAsync(client.models.list({ limit: 7 }))).map(({ id }) => id);
		const names = (await Array.fromAsync(openai(keys.customer).models.list())).map(({ id }) => id);
		expect(all).toEqual(names);
		const page = await client.models.list({ limit: 3, after_id: names[1] });
		expect(page).toMatchObject({ first_id: names[2], last_id: names[4], has_more: true });
		const before = await client.models.list({ limit: 2, before_id: names[4] });
		expect(before).toMatchObject({ first_id: names[2], last_id: names[3], has_more: true });
		expect(await client.models.list({ before_id: names[1] })).toMatchObject({ last_id: names[0], has_more: false });
	});

	test('reads an agent as a model', async () => {
		expect(await anthropic(keys.customer).models.retrieve('writer')).toEqual({
			...{ type: 'model', id: 'writer', display_name: 'writer', description: 'Writes.' },
			...{ created_at: '1970-01-01T00:00:00Z', max_input_tokens: null, max_tokens: 100 },
		});
	});

	test('gets failures in Anthropic’s form', async () => {
		const client = anthropic(keys.customer);
		expect(await thrown(client.models.retrieve('gpt-5'))).toMatchObject({
			status: 404,
			error: { type: 'error', error: { type: 'not_found_error', code: 'model_not_found' } },
		});
		expect(await thrown(client.models.list({ after_id: 'nobody' }))).toMatchObject({
			status: 400,
			error: { error: { message: expect.stringContaining('after_id') } },
		});
		expect(await thrown(client.models.list({ limit: 0 }))).toMatchObject({ status: 400 });
		expect(await thrown(anthropic('rl_no_key').models.list())).toMatchObject({
			status: 401,
			error: { error: { type: 'authentication_error' } },
		});
	});
});

test('a Worker without the plugin `messages` answers every client in OpenAI’s form', async () => {
	const headers = { 'anthropic-version': '2023-06-01', authorization: `Bearer ${keys.admin}` };
	const ask = (path: string) => createApp(runtime).request(`https://x.example${path}`, { headers }, bindings);
	expect(await (await ask('/v1/models')).json()).toMatchObject({ object: 'list' });
	expect(await (await ask('/v1/models/none')).json()).toMatchObject({ error: { code: 'model_not_found' } });
});
