import { env } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { links } from '../../../src/cloudflare/links/index.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { anthropic, demo, gemini } from '../../../src/core/providers/index.ts';
import { createKeys } from '../../credentials.ts';

const app = (...agents: Parameters<typeof defineAgent>[0][]) =>
	createApp({ agents: agents.map(defineAgent), providers: () => [demo()] });
const good = app({ name: 'good', description: 'Works.', model: 'demo' });

async function look(worker: typeof good, bindings: object, headers: Record<string, string> = {}) {
	const url = 'http://127.0.0.1:8787/healthz?deep';
	const response = await worker.request(url, { headers }, { ...env, ...bindings });
	const { problems = [] }: { problems?: { where: string; message: string }[] } = JSON.parse(await response.text());
	return { status: response.status, problems };
}

test('a Worker without problems answers ok, also with ?deep', async () => {
	expect(await look(good, {})).toEqual({ status: 200, problems: [] });
});

test('names every invalid variable with its remedy', async () => {
	const { status, problems } = await look(good, {
		MODEL: '',
		DAY_BUDGET_USD: 'lots',
		DAY_BUDGET_TOKENS: '-1',
		CORS_ORIGINS: 'app.example.com',
		OPENAI_BASE_URL: 'gateway',
	});
	expect(status).toBe(503);
	expect(problems.map(({ where }) => where)).toEqual([
		'MODEL',
		'DAY_BUDGET_TOKENS',
		'DAY_BUDGET_USD',
		'CORS_ORIGINS',
		'OPENAI_BASE_URL',
	]);
	for (const { message } of problems) expect(message).toMatch(/such as|Set it/);
});

test('names an unknown model in a variable or in an agent', async () => {
	const worker = app(
		{ name: 'plain', description: 'On MODEL.' },
		{ name: 'own', description: 'On its own.', model: 'gtp-4', models: ['demo', 'gtp-5'], fallbacks: ['gtp-6'] },
	);
	const { problems } = await look(worker, { MODEL: 'nope-1', DAY_BUDGET_TOKENS: 'many' });
	expect(problems.map(({ where, message }) => `${where}: ${/"[^"]*"/.exec(message)}`)).toEqual([
		'DAY_BUDGET_TOKENS: null',
		'MODEL: "nope-1"',
		'agent own: "gtp-4"',
		'agent own: "gtp-5"',
		'agent own: "gtp-6"',
	]);
});

test('names a provider tool that the provider of a model does not have', async () => {
	const providers = () => [demo(), anthropic({ apiKey: undefined }), gemini({ apiKey: undefined })];
	const about = { name: 'drawing', description: 'Draws.', providerTools: ['web_search', 'image_generation'] } as const;
	const agent = defineAgent({
		...about,
		model: 'demo',
		models: ['claude-sonnet-4-6'],
		fallbacks: ['gemini-3.5-flash'],
	});
	expect(await look(createApp({ agents: [agent], providers }), {})).toEqual({
		status: 503,
		problems: [
			{
				where: 'agent drawing',
				message: expect.stringMatching(
					/^its model "claude-sonnet-4-6" .* Anthropic has no image_generation. Leave it out/,
				),
			},
			{
				where: 'agent drawing',
				message: expect.stringMatching(/^its model "gemini-3.5-flash" .* Gemini has no image_gen/),
			},
		],
	});
});

test('names two agents with the same name, and a missing skill', async () => {
	const worker = app(
		{ name: 'twin', description: 'One.', model: 'demo' },
		{ name: 'twin', description: 'Two.', model: 'demo', skills: ['no-such-skill'] },
	);
	const { status, problems } = await look(worker, {});
	expect(status).toBe(503);
	expect(problems).toEqual([
		{ where: 'agent twin', message: expect.stringContaining('two agents') },
		{ where: 'agent twin', message: expect.stringContaining('skills/no-such-skill/SKILL.md') },
	]);
});

test('?deep needs a key, even if a variable is invalid, and the check without ?deep needs no key', async () => {
	const { keys, bindings } = await createKeys({ alice: ['run'] }, { DAY_BUDGET_USD: 'lots' });
	expect((await look(good, bindings)).status).toBe(401);
	expect((await look(good, bindings, { authorization: 'Bearer rl_no' })).status).toBe(401);
	const { status, problems } = await look(good, bindings, { authorization: `Bearer ${keys.alice}` });
	expect([status, problems.map(({ where }) => where)]).toEqual([503, ['DAY_BUDGET_USD']]);
	expect((await good.request('/healthz', {}, { ...env, ...bindings })).status).toBe(200);
	expect((await look(good, { LOCAL: 'false' })).status).toBe(401);
	expect((await look(good, { LOCAL: 's'.repeat(40) })).status).toBe(401);
	expect((await look(good, { LOCAL: 's'.repeat(40) }, { 'x-runlet-local': 's'.repeat(40) })).status).toBe(200);
});

describe('names an unmet requirement of an agent with its remedy:', () => {
	const about = { name: 'busy', description: 'Implies much.', model: 'demo' } as const;
	const without = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, undefined]));
	const find = async (agent: object, bindings: object, query = 'deep', runtime: object = {}) => {
		const agents = [defineAgent({ ...about, ...agent })];
		const worker = createApp({ agents, providers: () => [demo(), anthropic({ apiKey: undefined })], ...runtime });
		const response = await worker.request(`http://127.0.0.1:8787/healthz?${query}`, {}, { ...env, ...bindings });
		const { problems = [] }: { problems?: readonly object[] } = JSON.parse(await response.text());
		expect(response.status).toBe(problems.length === 0 ? 200 : 503);
		return problems;
	};

	test('the API key for the model in MODEL', async () => {
		expect(await find({ model: undefined }, { MODEL: 'claude-sonnet-4-6' })).toEqual([
			{ where: 'MODEL', unset: 'ANTHROPIC_API_KEY', message: expect.stringContaining('set ANTHROPIC_API_KEY') },
		]);
	});

	test('the API key for a fallback model', async () => {
		expect(await find({ fallbacks: ['claude-sonnet-4-6'] }, {})).toEqual([
			{ where: 'agent busy', unset: 'ANTHROPIC_API_KEY', message: expect.stringContaining('set ANTHROPIC_API_KEY') },
		]);
	});

	test('the secret that signs the callbacks of onWaiting', async () => {
		const onWaiting = { callback: 'https://shop.example.com/waits' };
		expect(await find({ onWaiting }, {})).toEqual([]);
		expect(await find({ onWaiting }, without('CALLBACK_SECRET'))).toEqual([
			{
				where: 'agent busy',
				unset: 'CALLBACK_SECRET',
				message: expect.stringContaining('CALLBACK_SECRET: not set. Set it:'),
			},
		]);
	});

	test('the address of decision links', async () => {
		const missing = {
			where: 'links',
			unset: 'PUBLIC_URL',
			message: expect.stringMatching(/^PUBLIC_URL: not set.*under \[vars\]/),
		};
		const onWaiting = { callback: 'https://shop.example.com/waits', links: true };
		expect(await find({}, {}, 'deep', { links })).toEqual([]);
		for (const query of ['deep', 'deep=deployed'])
			for (const agent of [{}, { onWaiting }])
				expect(await find(agent, without('PUBLIC_URL'), query, { links })).toEqual([missing]);
		expect(await find({}, without('PUBLIC_URL'))).toEqual([]);
	});

	test('the secret of a webhook', async () => {
		const webhooks = { stripe: () => 'Hello' };
		expect(await find({ webhooks }, {})).toEqual([]);
		expect(
			await find({ webhooks }, { STRIPE_WEBHOOK_SECRET_BUSY: 'whsec', ...without('STRIPE_WEBHOOK_SECRET') }),
		).toEqual([]);
		expect(await find({ webhooks }, without('STRIPE_WEBHOOK_SECRET'))).toEqual([
			expect.objectContaining({ where: 'agent busy', unset: 'STRIPE_WEBHOOK_SECRET' }),
		]);
	});

	test('the memory binding, and the provider of the embedding model', async () => {
		expect(await find({ memory: true }, without('MEMORIES'))).toEqual([
			{ where: 'agent busy', message: expect.stringContaining('MEMORIES: this binding is missing') },
		]);
		const noSql = new Error('SQL is not enabled for this Durable Object class.');
		const broken = { idFromName: () => ({}), get: () => ({ list: async () => Promise.reject(noSql) }) };
		expect(await find({ memory: true }, { MEMORIES: broken })).toEqual([
			{ where: 'MEMORIES', message: expect.stringMatching(/new_sqlite_classes = \["Memory"\].*\[exports\.Memory\]/) },
		]);
		expect(await find({ memory: { embedModel: 'claude-sonnet-4-6' } }, {})).toEqual([
			expect.objectContaining({ where: 'agent busy', unset: 'ANTHROPIC_API_KEY' }),
		]);
	});

	test('the variables of an MCP server, and an https URL if the Worker is deployed', async () => {
		const headers = { authorization: `Bearer \${NO_SUCH_KEY}` };
		const mcp = [{ name: 'wiki', url: 'http://127.0.0.1:9/mcp', headers }];
		const key = expect.objectContaining({ where: 'agent busy', unset: 'NO_SUCH_KEY' });
		const address = { where: 'agent busy', message: expect.stringMatching(/^mcp\.0\.url: not https/) };
		expect(await find({ mcp }, {})).toEqual([key]);
		expect(await find({ mcp }, {}, 'deep=deployed')).toEqual([address, key]);
	});

	test('the bindings of a shell', async () => {
		const tools = [{ name: 'run_shell', description: 'Runs.', inputSchema: { type: 'object' }, fn: () => '' }];
		expect(await find({ tools }, without('LOADER'))).toEqual([
			{ where: 'agent busy', message: expect.stringContaining('[[worker_loaders]]') },
		]);
	});

	test('a working function `providers`', async () => {
		const providers = () => {
			throw new Error('no key');
		};
		expect(await find({}, {}, 'deep', { providers })).toEqual([{ where: 'providers', message: 'no key' }]);
	});
});

test('GET /v1/agents shows that a model is not ready if its provider lacks a tool of the agent', async () => {
	const agent = defineAgent({
		name: 'drawing',
		description: 'Draws.',
		model: 'claude-sonnet-4-6',
		models: ['demo'],
		providerTools: ['image_generation'],
	});
	const providers = () => [demo(), anthropic({ apiKey: 'key' })];
	const response = await createApp({ agents: [agent], providers }).request('/v1/agents', {}, env);
	expect(await response.json()).toMatchObject({
		agents: [
			{
				ready: false,
				models: [
					{ ready: false, problem: expect.stringContaining('Anthropic has no image_generation') },
					{ ready: true },
				],
			},
		],
	});
});
