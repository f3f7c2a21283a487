import { env } from 'cloudflare:test';
import { expect, onTestFinished, test, vi } from 'vitest';
import { links } from '../../../src/cloudflare/links/index.ts';
import {
	a2aTool,
	agentTool,
	createRunlet,
	defineAgent,
	type Env,
	type RunletOptions,
	spawn,
} from '../../../src/cloudflare/runlet/index.ts';
import { schedules } from '../../../src/cloudflare/schedules/index.ts';
import { providers, RunletError, toolbox } from '../../../src/core/index.ts';

const agent = defineAgent({ name: 'plain', description: 'On the model of the Worker.' });
const { SESSIONS, LEDGERS, DIRECTORIES, PUBLISHERS, SKILLS } = env;
const local = { ...env, LOCAL: 'true' };

const ask = (
	runlet: ReturnType<typeof createRunlet>,
	path: string,
	environment: object = local,
	init: RequestInit = {},
) => runlet.fetch(new Request(`http://127.0.0.1${path}`, init), environment);

const named = { name: 'waking', description: 'Is woken by itself.' };
const daily = { name: 'daily', cron: '0 9 * * *', text: 'Well?' };

/** Returns the error of `createRunlet` for wrong options. */
function refusal(options: object): RunletError {
	const whole: RunletOptions = { agents: [agent], ...options };
	try {
		createRunlet(whole);
	} catch (error) {
		if (error instanceof RunletError) return error;
	}
	throw new Error('the options were not refused with a RunletError');
}

test('a Runlet serves its agents and keeps sessions', async () => {
	const runlet = createRunlet({ agents: [agent] });
	const created = await ask(runlet, '/v1/sessions', local, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ agent: 'plain', text: 'What is 17 + 25?' }),
	});
	expect(created.status).toBe(201);
	const session = await ask(runlet, created.headers.get('location') ?? '');
	expect(await session.json()).toMatchObject({ agent: 'plain', status: 'completed' });
});

test('refuses an agent that delegates to an agent outside the list of agents', () => {
	const boss = defineAgent({ name: 'boss', description: 'Has others work.', tools: [agentTool(agent)] });
	expect(refusal({ agents: [boss] })).toMatchObject({
		code: 'invalid_agent',
		message: expect.stringContaining('gives its calls to the agent plain, which is not in the list'),
	});
	// A copy of an agent may change its tools.
	const allowed = { ...boss, tools: boss.tools.map((tool) => ({ ...tool, needsApproval: true })) };
	expect(refusal({ agents: [allowed] })).toMatchObject({ code: 'invalid_agent' });
	expect(() => createRunlet({ agents: [boss, agent] })).not.toThrow();
	const chooser = defineAgent({ name: 'chooser', description: 'Chooses.', tools: [spawn([agent, boss])] });
	expect(refusal({ agents: [chooser, agent] })).toMatchObject({ message: expect.stringContaining('the agent boss') });
});

test('a Runlet is the default export of a Worker, with and without a cron trigger', async () => {
	const handler: ExportedHandler<Env> = createRunlet({ agents: [agent] });
	expect(typeof handler.fetch).toBe('function');
	expect(await createRunlet({ agents: [agent] }).scheduled({}, env)).toBeUndefined();
	expect(typeof handler.scheduled).toBe('function');
});

test.each<[what: string, options: object, says: string]>([
	['an unknown field', { provider: [] }, 'provider: no such field (createRunlet). Did you mean providers?'],
	['no agent', { agents: [] }, 'agents: must have an agent'],
	['an agent that is a plain record', { agents: [{ name: 'x' }] }, 'agents.0: must be made by defineAgent'],
	['an agent instead of a list', { agents: agent }, 'agents: must be a list of agents, each made by defineAgent'],
	['the same agent twice', { agents: [agent, agent] }, 'name: the agent plain is in the list twice'],
	['a base path without a leading slash', { basePath: 'ai' }, 'basePath: must begin with / and not end with it'],
	['a base path that ends with a slash', { basePath: '/ai/' }, 'basePath: must begin with / and not end with it'],
	['a target of traces without otlp', { traces: { url: 'https://example.com' } }, 'traces: must be otlp({ url })'],
	['an unknown binding', { bindings: { SESSION: 'CHATS' } }, 'SESSION'],
	[
		'a name that no binding can have',
		{ bindings: { SESSIONS: 'my chats' } },
		'bindings.SESSIONS: must be the name of a binding',
	],
	['an empty object as a provider', { providers: [{}] }, 'providers: must be a list of providers'],
	['a provider instead of a list', { providers: providers.demo() }, 'providers: must be a list of providers, such as'],
])('refuses %s when the Worker starts, and the error names the field and the source line', (_, options, says) => {
	const { message, stack = '' } = refusal(options);
	expect(message).toContain(says);
	const [first] = /\n\s+at .*/.exec(stack) ?? [];
	expect(first).toContain('create.worker.test.ts');
});

test('the function `providers` is called once for each environment', async () => {
	let calls = 0;
	const runlet = createRunlet({
		agents: [defineAgent({ ...agent, model: 'mine/one' })],
		providers: (given) => {
			calls++;
			expect(given).toBe(own);
			return [providers.openaiChat({ name: 'mine', prefix: 'mine/', baseURL: 'https://example.com', apiKey: 'k' })];
		},
	});
	const own = { ...local };
	for (let count = 0; count < 2; count++) {
		const { agents }: { agents: object[] } = await (await ask(runlet, '/v1/agents', own)).json();
		expect(agents).toMatchObject([{ model: 'mine/one', ready: true }]);
	}
	expect(calls).toBe(1);
});

test('bindings can have other names, and Runlet then ignores bindings with the default names', async () => {
	const bindings = {
		SESSIONS: 'CHATS',
		LEDGERS: 'SPENT',
		DIRECTORIES: 'LISTS',
		PUBLISHERS: 'WRITERS',
		SKILLS: 'KNOWLEDGE',
	};
	const runlet = createRunlet({ agents: [agent], bindings });
	const renamed = {
		...{ LOCAL: 'true', SESSIONS: 'something else', SKILLS: undefined },
		...{ CHATS: SESSIONS, SPENT: LEDGERS, LISTS: DIRECTORIES, WRITERS: PUBLISHERS, KNOWLEDGE: SKILLS },
	};
	expect(await (await ask(runlet, '/healthz?deep', renamed)).json()).toEqual({ status: 'ok', problems: [] });
	const created = await ask(runlet, '/v1/sessions', renamed, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ agent: 'plain' }),
	});
	expect(created.status).toBe(201);
});

test('a remote agent’s unset variable, and one on this machine in a deployed Worker, are reported', async () => {
	const about = { description: 'Plans trips.', headers: { authorization: `Bearer \${TRAVEL_KEY}` } };
	const tools = [
		a2aTool('https://travel.example.com/card.json', { ...about, name: 'travel' }),
		a2aTool('http://127.0.0.1:9999/card.json', { description: 'Works here.', name: 'near' }),
	];
	const runlet = createRunlet({ agents: [defineAgent({ name: 'boss', description: 'Has others work.', tools })] });
	const read = async (query: string) =>
		(await ask(runlet, `/healthz?deep${query}`)).json<{ problems: readonly object[] }>();
	const unset = {
		where: 'agent boss',
		message: expect.stringMatching(/^TRAVEL_KEY: not set, and an MCP server or a tool of an agent needs it/),
		unset: 'TRAVEL_KEY',
	};
	expect((await read('')).problems).toEqual([unset]);
	const near = {
		where: 'agent boss',
		message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:9999\/card\.json: not https/),
	};
	expect((await read('=deployed')).problems).toEqual(expect.arrayContaining([unset, near]));
});

test('a missing or wrong binding is reported with the project’s name for it and the lines to write', async () => {
	const runlet = createRunlet({ agents: [agent], bindings: { SESSIONS: 'CHATS' } });
	const answer = await ask(runlet, '/healthz?deep', {
		...local,
		CHATS: SKILLS,
		LEDGERS: undefined,
		RATE_LIMITER: SKILLS,
	});
	const { problems }: { problems: object[] } = await answer.json();
	expect(problems).toEqual([
		{
			where: 'CHATS',
			message:
				'this binding is not the Durable Object Session. In wrangler.toml: [[durable_objects.bindings]] with name = "CHATS", class_name = "Session", and "Session" in new_sqlite_classes of [[migrations]], or [exports.Session] where the file has [exports].',
		},
		{
			where: 'LEDGERS',
			message: expect.stringContaining('this binding is missing. Add to wrangler.toml: [[durable_objects'),
		},
		{ where: 'RATE_LIMITER', message: expect.stringContaining('this binding is not a rate limiter') },
	]);
	const refused = await ask(runlet, '/v1/agents', { ...local, CHATS: undefined });
	expect([refused.status, await refused.json()]).toEqual([
		503,
		{ error: { code: 'not_configured', message: expect.stringContaining('CHATS: this binding is missing') } },
	]);
});

test.each<[what: string, more: object, says: string]>([
	[
		'an agent with schedules in a Worker without the plugin `schedules`',
		{ agents: [defineAgent({ ...named, schedules: [{ name: 'a', every: '1h', text: 'x' }] })] },
		"schedules: the agent waking is woken by itself, and this Worker has no schedules. Add to src/worker.ts: import { schedules } from 'runlet/cloudflare/schedules';",
	],
	[
		'an agent with wake-up tools in a Worker without the plugin `schedules`',
		{ agents: [defineAgent({ ...named, tools: toolbox.withWakeups() })] },
		'tools: the agent waking is woken by itself',
	],
	[
		'a time that never comes',
		{
			plugins: [schedules],
			agents: [defineAgent({ ...named, schedules: [{ name: 'a', cron: '0 0 30 2 *', text: 'x' }] })],
		},
		'schedules.0.cron: this time never comes. (agent waking)',
	],
	[
		'an agent with onWaiting in a Worker without the plugin `links`',
		{ agents: [defineAgent({ ...named, onWaiting: { callback: 'https://example.com' } })] },
		"onWaiting: the agent waking tells when it waits, and this Worker has no decision links. Add to src/worker.ts: import { links } from 'runlet/cloudflare/links'; and createRunlet({ agents, plugins: [links] }).",
	],
	[
		'a callback that is not a URL',
		{ plugins: [links], agents: [defineAgent({ ...named, onWaiting: { callback: 'me' } })] },
		'onWaiting.callback: must be a URL (agent waking)',
	],
	['plugins that are not a list', { plugins: schedules }, 'plugins: must be a list, such as [mcp, memory]'],
	[
		'an empty object as a plugin',
		{ plugins: [{}] },
		'plugins.0: must be a plugin: mcp, memory, schedules, links or responses of',
	],
	[
		'a plugin as a separate option',
		{ schedules },
		'schedules: no such field (createRunlet). Take it out, or use one of: agents, providers, skills, plugins',
	],
])('refuses %s when the Worker starts', (_, more, says) => expect(refusal(more).message).toContain(says));

test.each<[what: string, schedules: readonly object[], says: string]>([
	['the same name twice', [daily, daily], 'schedules: two of them have one name'],
	['neither text nor fn', [{ name: 'a', every: '1h' }], 'schedules.0: give either text or fn'],
	['text and fn', [{ ...daily, fn: () => 'x' }], 'schedules.0: give either text or fn'],
	['a name with a space', [{ ...daily, name: 'a b' }], 'schedules.0.name: Use a-z, 0-9 and single hyphens'],
])('when the Worker starts, refuses an agent whose schedules have %s', (_, given, says) => {
	// @ts-expect-error The types and the check refuse the same values.
	const waking = defineAgent({ ...named, schedules: given });
	expect(refusal({ plugins: [schedules], agents: [waking] }).message).toBe(`${says} (agent waking)`);
});

test('an old compatibility date is reported with the line to write', () => {
	vi.stubGlobal('Cloudflare', { compatibilityFlags: { rpc: false } });
	onTestFinished(() => void vi.unstubAllGlobals());
	expect(() => createRunlet({ agents: [agent] })).toThrow(
		'compatibility_date: too old, Runlet needs 2024-04-03 or later. In wrangler.toml: compatibility_date = "2026-07-30".',
	);
});
