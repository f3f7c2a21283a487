/** Where objects live (docs/data.md). */
import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import type { WorkerEnv } from '../../../src/cloudflare/config/env.ts';
import { createEnvironment } from '../../../src/cloudflare/config/environment.ts';
import type { Placement } from '../../../src/cloudflare/config/placement.ts';
import { askMemory } from '../../../src/cloudflare/objects/memory/api.ts';
import { type RpcResult, takeValue } from '../../../src/cloudflare/objects/reach.ts';
import type { SessionApi } from '../../../src/cloudflare/objects/session-api.ts';
import { nameShard } from '../../../src/cloudflare/objects/shards.ts';
import { createRunlet, defineAgent } from '../../../src/cloudflare/runlet/index.ts';
import { createObjects } from '../../../src/cloudflare/runlet/objects.ts';
import { createSpentFinder, wake } from '../../../src/cloudflare/schedules/wake.ts';
import type { Actor } from '../../../src/core/base/actor.ts';
import { createSession, request } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import { plugins, runtime } from '../../worker.ts';
import { connect } from '../mcp/client.ts';
import { cast, give } from '../session/family.ts';
import { senders } from '../wire/protocols/webhooks/senders.ts';

const names = ['SESSIONS', 'LEDGERS', 'DIRECTORIES', 'PUBLISHERS', 'MEMORIES'] as const;

/**
 * The environment of a deployed Worker. Its namespaces note the jurisdiction and the options of each object, and refuse ids
 * of other jurisdictions, as those of Cloudflare do.
 */
function deploy(more: object) {
	const placed: unknown[] = [];
	const homes = new Map<string, string>();
	const wrap = (name: (typeof names)[number], within?: string): object => {
		const note = (id: DurableObjectId) => {
			if (within !== undefined) homes.set(id.toString(), within);
			return id;
		};
		const assertWithin = (id: string) => {
			if (within !== undefined && homes.get(id) !== within) throw new TypeError('an ID from a different jurisdiction');
		};
		return {
			idFromName: (text: string) => note(env[name].idFromName(within === undefined ? text : `${within} ${text}`)),
			idFromString: (text: string) => {
				assertWithin(text);
				const id = env[name].idFromString(text);
				return { jurisdiction: homes.get(text), toString: () => text, equals: (other: typeof id) => id.equals(other) };
			},
			newUniqueId: () => note(env[name].newUniqueId()),
			get: (id: DurableObjectId, options?: { locationHint: string }) => {
				assertWithin(id.toString());
				placed.push([name, homes.get(id.toString()), options?.locationHint]);
				return env[name].get(env[name].idFromString(id.toString()));
			},
			jurisdiction: (where: string) => wrap(name, where),
		};
	};
	const wrapped = Object.fromEntries(names.map((name) => [name, wrap(name)]));
	return { placed, homes, env: { ...env, LOCAL: undefined, ...wrapped, ...more } };
}

/** Reaches an object of each class that holds data of an owner. The session is one of the agent `scripted`. */
async function reachAll(given: WorkerEnv, owner: string) {
	const { sessions, placeSessions, ledgers, directories, memories } = readConfig(given);
	const ids = placeSessions({ owner, agent: 'scripted' });
	for (const id of [ids.newUniqueId(), ids.idFromName(owner)]) sessions.get(id);
	for (const name of [owner, nameShard(owner, 64, 'someone')]) {
		ledgers.get(ledgers.idFromName(name));
		directories.get(directories.idFromName(name));
	}
	for (const user of [undefined, 'ada'])
		await askMemory(memories, { owner, user }, (one) => one.list({ limit: 1 }), true);
}
const reached = ['SESSIONS', 'SESSIONS', 'LEDGERS', 'DIRECTORIES', 'LEDGERS', 'DIRECTORIES', 'MEMORIES', 'MEMORIES'];

describe('the objects of a Worker', () => {
	test('live in its jurisdiction, and begin at its place', async () => {
		const { env, placed } = deploy({ JURISDICTION: 'eu', LOCATION_HINT: 'weur' });
		await reachAll(env, 'someone');
		const { publishers } = readConfig(env);
		publishers.get(publishers.idFromName('skill:'));
		expect(placed).toEqual([...reached, 'PUBLISHERS'].map((name) => [name, 'eu', 'weur']));
	});

	test('live anywhere without the variables, also if these are empty', async () => {
		for (const more of [{}, { JURISDICTION: '', LOCATION_HINT: ' ', OWNER_PLACES: '' }]) {
			const { env, placed } = deploy(more);
			await reachAll(env, 'someone');
			expect(placed).toEqual(reached.map((name) => [name, undefined, undefined]));
		}
	});

	test('live here on a laptop, whose runtime has no jurisdictions', async () => {
		const { env, placed } = deploy({ JURISDICTION: 'eu', OWNER_PLACES: '{"local":{"jurisdiction":"eu"}}' });
		await reachAll({ ...env, LOCAL: 's'.repeat(40) }, 'local');
		expect(placed).toEqual(reached.map((name) => [name, undefined, undefined]));
	});
});

describe('the objects of an owner', () => {
	const OWNER_PLACES = JSON.stringify({
		acme: { jurisdiction: 'us', locationHint: 'enam' },
		bell: { jurisdiction: 'us' },
		carl: { locationHint: 'eeur' },
	});
	test.each([
		['acme', 'us', 'enam'],
		['bell', 'us', undefined],
		['carl', 'eu', 'eeur'],
		['dora', 'eu', 'weur'],
		['acme-2', 'eu', 'weur'],
		['*', 'eu', 'weur'],
	])('live in the place of the owner %s: %s, %s', async (owner, jurisdiction, hint) => {
		const { env, placed } = deploy({ JURISDICTION: 'eu', LOCATION_HINT: 'weur', OWNER_PLACES });
		await reachAll(env, owner);
		expect(placed).toEqual(reached.map((name) => [name, jurisdiction, hint]));
	});

	test('of another jurisdiction than the Worker are not in the list of all owners', () => {
		const given = { OWNER_PLACES, LIST_ALL_OWNERS: 'on' };
		const listed = (more: object) => readConfig(deploy({ ...given, ...more }).env).listsOfAll;
		expect(listed({ JURISDICTION: 'eu' })).toEqual(['*', 'acme', 'bell']);
		expect(listed({ JURISDICTION: 'us' })).toEqual(['*']);
		expect(listed({})).toEqual(['*', 'acme', 'bell']);
		expect(listed({ LIST_ALL_OWNERS: 'off' })).toBeUndefined();
	});

	test('hold its stored keys, and the index of all keys lives in the place of the Worker', async () => {
		const { bindings } = await createKeys({ boss: ['keys'] });
		const { API_KEYS } = bindings;
		const { env, placed } = deploy({ API_KEYS, STORED_KEYS: 'on', JURISDICTION: 'eu', OWNER_PLACES });
		await readConfig(env).storedKeys?.refreshOwner('acme');
		await readConfig(env).storedKeys?.refreshKey('abcdefgh');
		expect(placed).toEqual([
			['DIRECTORIES', 'us', 'enam'],
			['DIRECTORIES', 'eu', undefined],
		]);
	});
});

/** The agents of the Worker under test, of which two have a place. */
const us: Placement = { jurisdiction: 'us', locationHint: 'enam' };
const agents = runtime.agents.map((agent) =>
	['scripted', 'hooked', 'writer'].includes(agent.name) ? { ...agent, placement: us } : agent,
);
const toEnvironment = createEnvironment({ agents });
const worker = createRunlet({
	agents: agents.filter(({ name }) => ['scripted', 'hooked', 'plain'].includes(name)),
	plugins,
	authenticate: () => ({ owner: 'acme', role: 'admin' }),
});

function send(given: object, path: string, body?: object | string, headers: Record<string, string> = {}) {
	const type = typeof body === 'string' ? 'application/x-ndjson' : 'application/json';
	const init = { headers: { 'content-type': type, ...headers }, ...(body !== undefined && { method: 'POST' }) };
	const text = typeof body === 'string' ? body : JSON.stringify(body);
	return worker.fetch(new Request(`https://product.example.com${path}`, { ...init, body: text }), given as WorkerEnv);
}

const turn = 'Hello.';
const page = (id: string) => ({ id, messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] });
const chat = { model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] };
const readWhole = async (response: Response) => {
	const text = await response.text();
	expect(response.ok, text).toBe(true);
	return text;
};
const export_ = async (given: object, accept: string) => {
	const { id } = JSON.parse(await readWhole(await send(given, '/v1/sessions', { agent: 'scripted', text: 'Hi' })));
	return { id, text: await readWhole(await send(given, `/v1/sessions/${id}/export`, undefined, { accept })) };
};

function wakeScripted(given: WorkerEnv) {
	const config = readConfig(toEnvironment({ ...given }));
	const time = { every: '1d' };
	const schedules = [{ name: 'look', ...time, text: 'Look.', owner: 'acme' }];
	const waking = agents.map((one) => (one.name === 'scripted' ? { ...one, schedules } : one));
	const target = { kind: 'agent', agent: 'scripted' } as const;
	const due = { owner: 'acme', target, name: 'look', time, createdAt: 0, dueAt: Date.now(), failed: 0 };
	return wake(due, { agents: waking, config: () => config }, createSpentFinder(config));
}

/** All ways to begin a session of an agent. */
const ways: Readonly<Record<string, (given: WorkerEnv) => Promise<unknown>>> = {
	'a request': (given) => send(given, '/v1/sessions', { agent: 'scripted', text: 'Hi' }),
	'a request with a key': (given) =>
		send(given, '/v1/sessions', { agent: 'scripted' }, { 'idempotency-key': crypto.randomUUID() }),
	'a chat completion': (given) => send(given, '/v1/chat/completions', chat),
	'a chat completion with a name': (given) =>
		send(given, '/v1/chat/completions', chat, { 'runlet-session': crypto.randomUUID() }),
	'a chat completion of a client that sends again': (given) =>
		send(given, '/v1/chat/completions', chat, { 'x-stainless-retry-count': '0' }),
	'a page of the AI SDK': (given) => send(given, '/v1/ui/scripted', page(crypto.randomUUID())),
	'an MCP client': async (given) => {
		const client = await connect('/mcp/scripted', { fetch: (asked) => worker.fetch(asked, given) });
		await client.callTool({ name: 'echo', arguments: { text: 'Hi' } });
	},
	'an MCP client with a name': async (given) => {
		const path = `/mcp/scripted?session=${crypto.randomUUID()}`;
		const client = await connect(path, { fetch: (asked) => worker.fetch(asked, given) });
		await client.callTool({ name: 'echo', arguments: { text: 'Hi' } });
	},
	'a webhook': (given) => {
		const body = JSON.stringify({ message: 'Hi' });
		const about = { id: crypto.randomUUID(), at: Math.floor(Date.now() / 1_000), secrets: [senders.github.secret] };
		return send(given, '/v1/webhooks/hooked/github', { message: 'Hi' }, senders.github.headers(body, about));
	},
	'a schedule': async (given) => expect(await wakeScripted(given)).toMatchObject({ outcome: 'ran' }),
	'a fork': async (given) => send(given, `/v1/sessions/${(await export_(given, '')).id}/fork`, {}),
	'a rerun': async (given) => {
		const { id, text } = await export_(given, 'application/json');
		return send(given, `/v1/sessions/${id}/rerun`, { run: JSON.parse(text).runs[0].id });
	},
	'an import': async (given) =>
		send(given, '/v1/sessions/import', JSON.parse((await export_(given, 'application/json')).text)),
	'an import of lines': async (given) =>
		send(given, '/v1/sessions/import', (await export_(given, 'application/x-ndjson')).text),
};

describe('the session of an agent', () => {
	test.each(Object.entries(ways))('lives in the place of the agent if it begins by %s', async (_, begin) => {
		const OWNER_PLACES = '{"acme":{"locationHint":"weur"}}';
		const { env, placed } = deploy({ JURISDICTION: 'eu', OWNER_PLACES });
		play(turn, turn);
		const answer = await begin(env);
		if (answer instanceof Response) await readWhole(answer);
		const sessions = placed.filter((one) => Array.isArray(one) && one[0] === 'SESSIONS');
		expect(sessions).toContainEqual(['SESSIONS', 'us', 'enam']);
		expect(sessions.map((one) => String(one).slice(0, 11)).filter((one) => one !== 'SESSIONS,us')).toEqual([]);
	});

	test('is refused if the owner and the agent name two jurisdictions, however it begins', async () => {
		const { env, placed } = deploy({ OWNER_PLACES: '{"acme":{"jurisdiction":"eu"},"webhooks":{"jurisdiction":"eu"}}' });
		const refused =
			/scripted|hooked keeps its sessions in us, and OWNER_PLACES those of \w+ in eu\. Choose another agent\./;
		for (const [what, begin] of Object.entries(ways)) {
			if (/MCP|schedule|fork|rerun|import/.test(what)) continue;
			const answer = await begin(env);
			if (!(answer instanceof Response)) throw new Error(what);
			expect([what, answer.status, await answer.text()]).toEqual([what, 400, expect.stringMatching(refused)]);
		}
		const reason = expect.stringMatching(refused);
		expect(await wakeScripted(env)).toEqual({ outcome: 'failed', reason, sessionId: undefined });
		expect(placed.filter((one) => String(one).startsWith('SESSIONS'))).toEqual([]);
	});

	test('lives in the place of its own agent if another agent begins it', async () => {
		const { env, placed } = deploy({ OWNER_PLACES: '{"acme":{"locationHint":"weur"}}' });
		cast({ editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.'], writer: () => 'A poem.' });
		await openSession(env, async (session) => {
			takeValue(await session.create({ agent: 'editor', owner: 'acme', by }, how));
			placed.length = 0;
			takeValue(await session.send({ owner: 'acme', by }, { text: 'Go.', transport: 'http' }, how));
		});
		const sessions = placed.filter((one) => String(one).startsWith('SESSIONS'));
		expect(new Set(sessions.map(String))).toEqual(new Set(['SESSIONS,us,enam']));
	});
});

const by: Actor = { owner: 'acme', via: 'key', id: 'k' };
const how = { delivery: 'result' } as const;
const { Session: PlacedSession } = createObjects({ ...runtime, agents }, { toEnvironment });

/** Opens a session of a deployed Worker, which lives in no jurisdiction. */
const openSession = <T>(
	given: object,
	work: (session: SessionApi, id: string) => Promise<T>,
	id = env.SESSIONS.newUniqueId(),
) => runInDurableObject(env.SESSIONS.get(id), (_, ctx) => work(new PlacedSession(ctx, given), id.toString()));

test('the export of a person says where the data of its owner lives', async () => {
	for (const [OWNER_PLACES, jurisdiction] of [
		['{"acme":{"jurisdiction":"eu"}}', 'eu'],
		['', undefined],
	]) {
		const exported = await readWhole(await send(deploy({ OWNER_PLACES }).env, '/v1/users/ada'));
		expect(JSON.parse(exported).jurisdiction).toBe(jurisdiction);
	}
});

describe('a session whose place has changed', () => {
	const create = async () => {
		const id = env.SESSIONS.newUniqueId();
		await openSession(
			deploy({}).env,
			async (session) => takeValue(await session.create({ agent: 'plain', owner: 'acme', by }, how)),
			id,
		);
		return id;
	};
	const begin = (session: SessionApi) => session.send({ owner: 'acme', by }, { text: 'Go.', transport: 'http' }, how);
	const readExport = async (session: SessionApi) => {
		const text = await new Response(takeValue(await session.export({ owner: 'acme', by }, 'json'))).text();
		return JSON.parse(text).session;
	};

	test.each([
		['that of the Worker', { JURISDICTION: 'eu' }, undefined, 'eu'],
		['that of its owner', { OWNER_PLACES: '{"acme":{"jurisdiction":"eu"}}' }, undefined, 'eu'],
		['to another one', { JURISDICTION: 'eu' }, 'us', 'eu'],
		['to none', {}, 'us', 'none'],
	])(
		'takes no message, can be read and deleted, and its export says where it lives: %s',
		async (_, more, home, now) => {
			const { env, homes } = deploy(more);
			const id = await create();
			if (home !== undefined) homes.set(id.toString(), home);
			await openSession(
				env,
				async (session) => {
					expect(await begin(session)).toMatchObject({
						ok: false,
						error: {
							code: 'not_configured',
							message: expect.stringContaining(`has changed to ${now} (JURISDICTION, OWNER_PLACES or`),
						},
					});
					expect((await readExport(session)).jurisdiction).toBe(home);
					takeValue(await session.delete({ owner: 'acme', by }));
				},
				id,
			);
		},
	);

	test('takes messages again when the former place is set', async () => {
		const { env, homes } = deploy({ OWNER_PLACES: '{"acme":{"jurisdiction":"eu"}}' });
		const id = await create();
		homes.set(id.toString(), 'eu');
		await openSession(
			env,
			async (session) => {
				expect(await begin(session)).toMatchObject({ ok: true });
				expect(await readExport(session)).toMatchObject({ id: id.toString(), jurisdiction: 'eu' });
			},
			id,
		);
	});

	test('is not created under an id of another place', async () => {
		const create = { agent: 'plain', owner: 'acme', by };
		const lines = await readWhole(
			await request(`/v1/sessions/${await createSession('plain')}/export`, undefined, {
				accept: 'application/x-ndjson',
			}),
		);
		const { env } = deploy({ JURISDICTION: 'eu' });
		const works: readonly ((session: SessionApi) => Promise<RpcResult<unknown>>)[] = [
			(session) => session.create(create, how),
			(session) => session.send({ owner: 'acme', by }, { text: 'Go.', transport: 'http', create }, how),
			(session) => session.import({ owner: 'acme', by }, new Blob([lines]).stream()),
		];
		for (const work of works)
			await openSession(env, async (session) => {
				expect(await work(session)).toMatchObject({ ok: false, error: { code: 'not_configured' } });
				expect(await session.state({ owner: 'acme', by })).toMatchObject({ ok: false, error: { code: 'not_found' } });
			});
	});
});

test.each([
	['JURISDICTION', 'moon', /^JURISDICTION: must be one of eu, us, fedramp, fedramp-high/],
	['LOCATION_HINT', 'paris', /^LOCATION_HINT: must be one of wnam, /],
	['OWNER_PLACES', 'eu', /^OWNER_PLACES: must name owners with their places, such as /],
	['OWNER_PLACES', '{"acme":"eu"}', /^OWNER_PLACES\.acme: must be a place, such as /],
	['OWNER_PLACES', '{"acme":{"jurisdiction":"moon"}}', /^OWNER_PLACES\.acme\.jurisdiction: must be one of eu, /],
	['OWNER_PLACES', '{"acme":{"hint":"weur"}}', /^OWNER_PLACES\.acme\.hint: no such field/],
])('%s may not be %s', (name, value, message) => {
	expect(() => readConfig(deploy({ [name]: value }).env)).toThrow(message);
});

test('an agent with an unknown place is refused when the Worker starts', () => {
	const define = (placement: object) => () => defineAgent({ name: 'moonlit', description: 'Is far away.', placement });
	expect(define({ jurisdiction: 'moon' })).toThrow(/^placement\.jurisdiction: must be one of eu, us, /);
	expect(define({ jurisdiction: 'eu', locationHint: 'weur' })).not.toThrow();
});
