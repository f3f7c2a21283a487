import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
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

test('a Worker that can work says so, also in depth', async () => {
	expect(await look(good, {})).toEqual({ status: 200, problems: [] });
});

test('every variable that is wrong is named with its remedy, and none hides behind another', async () => {
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

test('a model that nobody knows is named, wherever it is written', async () => {
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

test('a tool that the provider of a model does not have is named before anybody asks', async () => {
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

test('two agents of one name, and a skill that is not there, are named', async () => {
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

test('only who has a key looks in depth, also where a variable is wrong; whether it is there is said to anybody', async () => {
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
