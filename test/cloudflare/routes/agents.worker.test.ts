import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { createProviders } from '../../../src/cloudflare/config/models.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { createAgentOptions } from '../../../src/cloudflare/session/run/prepare.ts';
import { chat, tool } from '../../../src/core/index.ts';

const bindings = { ...env, LOCAL: 'true' };
const many = defineAgent({
	name: 'many',
	description: 'Runs on many models.',
	model: 'claude-sonnet-4-6',
	models: [
		'demo',
		'gpt-5.4',
		'grok-4.3',
		'gemini-2.5-flash',
		'groq/a',
		'deepseek/a',
		'mistral/a',
		'ollama/a',
		'workers-ai/@cf/a',
		'nobody',
	],
	fallbacks: ['demo'],
});
const runtime = { agents: [many], providers: createProviders };

async function models(more: object): Promise<unknown> {
	const response = await createApp(runtime).request('http://127.0.0.1/v1/agents', {}, { ...bindings, ...more });
	const { agents }: { agents: { models: unknown }[] } = await response.json();
	return agents[0]?.models;
}

test('GET /v1/agents lists the ready models, and what the other models need', async () => {
	const expected = [
		{
			name: 'claude-sonnet-4-6',
			provider: 'Anthropic',
			ready: false,
			contextWindow: 1_000_000,
			needs: 'ANTHROPIC_API_KEY',
		},
		{ name: 'demo', provider: 'Demo', ready: true },
		{ name: 'gpt-5.4', provider: 'OpenAI', ready: false, contextWindow: 1_050_000, needs: 'OPENAI_API_KEY' },
		{ name: 'grok-4.3', provider: 'xAI', ready: false, contextWindow: 1_000_000, needs: 'XAI_API_KEY' },
		{
			name: 'gemini-2.5-flash',
			provider: 'Google Gemini',
			ready: false,
			contextWindow: 1_048_576,
			needs: 'GEMINI_API_KEY',
		},
		{ name: 'groq/a', provider: 'Groq', ready: false, needs: 'GROQ_API_KEY' },
		{ name: 'deepseek/a', provider: 'DeepSeek', ready: false, needs: 'DEEPSEEK_API_KEY' },
		{ name: 'mistral/a', provider: 'Mistral', ready: false, needs: 'MISTRAL_API_KEY' },
		{ name: 'ollama/a', provider: 'Ollama', ready: false, needs: 'OLLAMA_BASE_URL' },
		{ name: 'workers-ai/@cf/a', provider: 'Workers AI', ready: false, needs: expect.stringContaining('AI') },
		{ name: 'nobody', ready: false },
	].map((one) => (one.ready ? one : { ...one, problem: expect.stringMatching(/Configured: Demo\.$/) }));
	expect(await models({})).toEqual(expected);
});

test('the models of a provider are ready if its key is set and not empty', async () => {
	const keys = {
		ANTHROPIC_API_KEY: 'a',
		OPENAI_API_KEY: ' ',
		XAI_API_KEY: 'x',
		GEMINI_API_KEY: 'g',
		GROQ_API_KEY: 'q',
		DEEPSEEK_API_KEY: 'd',
		MISTRAL_API_KEY: 'm',
		OLLAMA_BASE_URL: 'http://127.0.0.1:11434/v1',
		AI: { run: async () => ({}) },
	};
	const ready = await models(keys);
	expect(ready).toEqual(
		many.models &&
			[many.model, ...many.models].map((name) =>
				expect.objectContaining({ name, ready: !['gpt-5.4', 'nobody'].includes(`${name}`) }),
			),
	);
	expect(JSON.stringify(ready)).not.toMatch(/"[axgqdm]"/);
});

test('a run whose model has no key fails with the name of the variable, without a fallback to another model', async () => {
	const { options } = createAgentOptions({ agent: 'many', owner: 'local' }, { runtime, config: readConfig(bindings) });
	const run = chat.run(options, [chat.userMessage('Hello')]);
	const warnings: unknown[] = [];
	for await (const event of run.events) if (event.type === 'warning') warnings.push(event);
	await expect(run.result).rejects.toMatchObject({
		code: 'not_configured',
		message: expect.stringContaining('ANTHROPIC_API_KEY'),
	});
	expect(warnings).toEqual([]);
});

test('the error for an invalid base URL names the variable', async () => {
	const app = createApp(runtime);
	const response = await app.request('http://127.0.0.1/v1/agents', {}, { ...bindings, OPENAI_BASE_URL: 'my gateway' });
	expect(response.status).toBe(503);
	expect(await response.json()).toMatchObject({
		error: { message: expect.stringMatching(/^OPENAI_BASE_URL: must be a URL/) },
	});
});

test("a session's context limit is the window of its model if the window is known", async () => {
	const config = readConfig({ ...bindings, ANTHROPIC_API_KEY: 'a' });
	const { modelContextWindow } = createAgentOptions({ agent: 'many', owner: 'local' }, { runtime, config }).options;
	expect(typeof modelContextWindow === 'function' && (await modelContextWindow('claude-sonnet-4-6'))).toBe(1_000_000);
	expect(typeof modelContextWindow === 'function' && (await modelContextWindow('claude-99'))).toBe(undefined);
});

test('GET /v1/agents has the examples of each agent, or an empty list', async () => {
	const examples = ['What is 17 + 25?', 'What time is it?'];
	const agents = [many, defineAgent({ name: 'host', description: 'Takes reservations.', model: 'demo', examples })];
	const response = await createApp({ ...runtime, agents }).request('http://127.0.0.1/v1/agents', {}, bindings);
	expect(await response.json()).toMatchObject({ agents: [{ examples: [] }, { name: 'host', examples }] });
});

test('examples have the address of the server in place of {origin}', async () => {
	const examples = ['Read {origin}/docs and {origin}/healthz.'];
	const agents = [defineAgent({ name: 'host', description: 'Reads.', model: 'demo', examples })];
	const app = createApp({ ...runtime, agents, basePath: '/ai' });
	const response = await app.request('http://127.0.0.1:9000/v1/agents', {}, bindings);
	const read = 'Read http://127.0.0.1:9000/ai/docs and http://127.0.0.1:9000/ai/healthz.';
	expect(await response.json()).toMatchObject({ agents: [{ examples: [read] }] });
});

test('GET /v1/agents lists the tools that always or sometimes wait for an approval', async () => {
	const inputSchema = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } as const;
	const describe = (name: string, needsApproval?: boolean | (() => boolean)) =>
		tool.define({ name, description: name, inputSchema, ...(needsApproval !== undefined && { needsApproval }) });
	const tools = [
		describe('always', true),
		describe('sometimes', () => false),
		describe('never', false),
		describe('free'),
	];
	const payer = defineAgent({ name: 'payer', description: 'Pays.', tools });
	const app = createApp({ agents: [payer], providers: createProviders });
	const { agents }: { agents: { tools: unknown }[] } = await (
		await app.request('http://127.0.0.1/v1/agents', {}, bindings)
	).json();
	expect(agents[0]?.tools).toEqual([
		{ name: 'always', description: 'always', needsApproval: 'always', inputSchema },
		{ name: 'sometimes', description: 'sometimes', needsApproval: 'sometimes', inputSchema },
		{ name: 'never', description: 'never' },
		{ name: 'free', description: 'free' },
	]);
});
