/** The rights, the people and the end of tokens and links (docs/keys.md, docs/people.md). */
import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { formatKeys, parseKeys } from '../../../src/cloudflare/auth/key.ts';
import { type Config, readConfig } from '../../../src/cloudflare/config/config.ts';
import { readLink } from '../../../src/cloudflare/links/link.ts';
import { restart } from '../../client.ts';
import { happened } from './agents.ts';
import {
	ada,
	answer,
	approve,
	ask,
	begin,
	ben,
	bindings,
	boss,
	type Credential,
	call,
	click,
	clickNew,
	create,
	decide,
	findChild,
	findLink,
	findOpen,
	keyIds,
	keys,
	kim,
	lea,
	look,
	makeLinks,
	makeToken,
	openMcp,
	payment,
	read,
	readRows,
	say,
	waitFor,
} from './stage.ts';

beforeEach(begin);

const storing = { ...bindings, STORED_KEYS: 'on' };

afterEach(() => void vi.restoreAllMocks());

/** Lets the cached keys expire. */
function passTime(ms: number): void {
	const at = Date.now() + ms;
	vi.spyOn(Date, 'now').mockImplementation(() => at);
}

/** Gives the sessions the keys of an environment, like a deployed Worker. */
async function tellSessions(given: object): Promise<() => void> {
	const session = env.SESSIONS.get(env.SESSIONS.newUniqueId());
	const own: Config = await runInDurableObject(session, (one) => readConfig(Reflect.get(one, 'env')));
	const before = Object.getOwnPropertyDescriptors(own);
	const { storedKeys, knowsKey } = readConfig({ ...given } as never);
	Object.assign(own, { storedKeys, knowsKey });
	return () => void Object.defineProperties(own, before);
}

interface Made {
	readonly id: string;
	readonly key: string;
}

describe('a revoked stored key', () => {
	let restore = () => {};
	let made: Made;
	const asMade = (path: string, body?: unknown, more: object = {}) =>
		ask(made.key, path, body, { given: storing, ...more });

	beforeEach(async () => {
		made = await read<Made>(keys.maker, '/v1/keys', { owner: 'shop', user: 'max', role: 'staff' }, { given: storing });
		restore = await tellSessions(storing);
	});
	afterEach(() => restore());

	const revoke = async () => {
		const response = await ask(keys.maker, `/v1/keys/${made.id}`, undefined, { method: 'DELETE', given: storing });
		expect(response.status).toBe(204);
		passTime(60_000);
	};

	/** Credentials of the revoked key. Each function returns an attempt to use the credential. */
	const legacies: Readonly<Record<string, (id: string, callId: string) => Promise<() => Promise<Response>>>> = {
		'a link to approve': async (id, callId) => {
			const { approve: link } = await (await asMade(`/v1/sessions/${id}/links`, { callId })).json<{
				approve: string;
			}>();
			return () => click(link);
		},
		'a link to deny': async (id, callId) => {
			const { deny } = await (await asMade(`/v1/sessions/${id}/links`, { callId })).json<{ deny: string }>();
			return () => click(deny);
		},
		'a link that is for the boss': async (id, callId) => {
			const { approve: link } = await (await asMade(`/v1/sessions/${id}/links`, { callId, for: 'boss' })).json<{
				approve: string;
			}>();
			return () => click(link);
		},
		'a link that is valid for a week': async (id, callId) => {
			const body = { callId, expiresInSeconds: 604_800 };
			const { approve: link } = await (await asMade(`/v1/sessions/${id}/links`, body)).json<{ approve: string }>();
			return () => click(link);
		},
		'the page of a link': async (id, callId) => {
			const { approve: link } = await (await asMade(`/v1/sessions/${id}/links`, { callId })).json<{
				approve: string;
			}>();
			return () => ask(undefined, link);
		},
		'a token that approves': async (id, callId) => {
			const { token } = await (await asMade(`/v1/sessions/${id}/token`, { scopes: ['approve'] })).json<{
				token: string;
			}>();
			return () => decide(token, id, callId);
		},
		'a token that is for the boss': async (id, callId) => {
			const body = { scopes: ['read', 'approve'], for: 'boss', expiresInSeconds: 2_592_000 };
			const { token } = await (await asMade(`/v1/sessions/${id}/token`, body)).json<{ token: string }>();
			return () => decide(token, id, callId, { approve: true, input: { amount: 1 } });
		},
		'a token that reads': async (id) => {
			const { token } = await (await asMade(`/v1/sessions/${id}/token`, { scopes: ['read'] })).json<{
				token: string;
			}>();
			return () => ask(token, `/v1/sessions/${id}/messages`);
		},
		'the key itself': async (id, callId) => () =>
			asMade(`/v1/sessions/${id}/tool-results`, [{ id: callId, approve: true }]),
		'the key itself, by MCP': async (id) => async () =>
			asMade('/mcp/till', {
				jsonrpc: '2.0',
				id: 1,
				method: 'tools/call',
				params: { name: 'ask', arguments: { text: 'approve', session: id } },
			}),
	};

	test.each(Object.entries(legacies))('can no longer decide or read by %s', async (_, inherit) => {
		const { id } = await create(ada, { text: payment() });
		const callId = await findOpen(id);
		const tryOut = await inherit(id, callId);
		await revoke();
		await restart(id);
		const refused = await tryOut();
		expect([401, 409]).toContain(refused.status);
		expect(happened.paid).toEqual([]);
		expect(await look(keys.root, id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: callId }] });
		expect((await decide(lea, id, callId)).status).toBe(200);
	});

	test.each(['a link to approve', 'a link that is for the boss', 'a token that is for the boss'])(
		'was able to decide by %s before its revocation',
		async (what) => {
			const { id } = await create(ada, { text: payment() });
			const tryOut = await legacies[what]?.(id, await findOpen(id));
			expect((await tryOut?.())?.status).toBe(200);
			await expect.poll(() => happened.paid.length).toBe(1);
			expect(happened.asked.at(-1)?.by).toMatchObject({
				owner: 'shop',
				madeBy: { owner: 'shop', user: 'max', via: 'key', id: made.id },
			});
		},
	);

	test('can no longer decide about a child’s call by a link', async () => {
		const { id } = await create(ada, { text: call('hand', { task: payment() }) });
		const { question } = await look(keys.root, id);
		const links = await asMade(`/v1/sessions/${id}/links`, { callId: question?.callId });
		const { approve: link } = await links.json<{ approve: string }>();
		await revoke();
		expect((await click(link)).status).toBe(409);
		expect(happened.paid).toEqual([]);
	});
});

test('links and tokens of a removed or expired key decide nothing', async () => {
	const restored: (() => void)[] = [];
	try {
		for (const change of ['gone', 'over'] as const) {
			const { id } = await create(ada, { text: payment() });
			const link = await findLink(keys.desk, id);
			const { token } = await makeToken(keys.desk, id, { scopes: ['approve'] });
			const records = parseKeys(bindings.API_KEYS).flatMap((record) => {
				if (record.id !== keyIds.desk) return [record];
				return change === 'gone' ? [] : [{ ...record, expiresAt: '2020-01-01T00:00:00.000Z' }];
			});
			restored.push(await tellSessions({ ...bindings, API_KEYS: formatKeys(records) }));
			expect((await click(link)).status).toBe(409);
			expect((await decide(token, id, await findOpen(id))).status).toBe(401);
			expect((await clickNew(keys.ofKim, id)).status).toBe(200);
		}
		await expect.poll(() => happened.paid.length).toBe(2);
	} finally {
		for (const one of restored.reverse()) one();
	}
});

/** The maker of a token or link, its person, and the recorded decider. */
const makers: readonly [string, Credential, object, object][] = [
	['a colleague', kim, {}, { owner: 'shop', user: 'kim' }],
	['a colleague for another colleague', kim, { for: 'lea' }, { owner: 'shop', user: 'lea' }],
	['a colleague with a key', keys.ofKim, {}, { owner: 'shop', user: 'kim' }],
	['the desk, whose key names nobody', keys.desk, { for: 'lea' }, { owner: 'shop', user: 'lea' }],
	['the boss', boss, { for: 'lea' }, { owner: 'shop', user: 'lea' }],
];

test.each(makers)(
	'a link by %s decides as the person whom the link names, or as its maker if it names nobody',
	async (_, maker, more, by) => {
		// A customer asks here, so the staff may decide.
		const { id } = await create(ada, { text: payment() });
		await clickNew(maker, id, more);
		const [request] = happened.asked;
		expect(request?.by).toMatchObject({ ...by, via: 'link' });
		expect(request?.by.madeBy).toMatchObject({ owner: 'shop' });
		expect(request?.by.madeBy?.via).toMatch(/key|account/);
	},
);

test.each(makers)(
	'a token by %s acts as the person whom the token names, or as the session’s customer if it names nobody',
	async (_, maker, more) => {
		const { id } = await create(ada, { text: payment() });
		const { token } = await makeToken(maker, id, { ...more, scopes: ['approve'] });
		const decided = await decide(token, id, await findOpen(id));
		expect(decided.status).toBe('for' in more ? 200 : 403);
		expect(happened.asked[0]?.by.user).toBe('for' in more ? 'lea' : 'ada');
	},
);

test('the request for a token is refused if it names another user than the user of the session', async () => {
	const { id } = await create(keys.shop, { user: 'ada' });
	expect((await ask(keys.shop, `/v1/sessions/${id}/token`, { user: 'ada' })).status).toBe(201);
	for (const user of ['ben', 'ADA', 'аda', 'ada ', '']) {
		const refused = await ask(keys.shop, `/v1/sessions/${id}/token`, { user });
		expect([user, refused.status]).toEqual([user, 400]);
	}
	const nobody = await create(keys.shop);
	expect((await ask(keys.shop, `/v1/sessions/${nobody.id}/token`, { user: 'ada' })).status).toBe(400);
});

test.each(['', ' ', ' kim', 'kim ', 'kim\n', 'a'.repeat(201), 7, null, ['kim'], { user: 'kim' }])(
	'refuses a token, a link and a session for %j',
	async (name) => {
		const { id } = await create(ada, { text: payment() });
		const callId = await findOpen(id);
		expect((await ask(kim, `/v1/sessions/${id}/token`, { for: name })).status).toBe(400);
		expect((await ask(kim, `/v1/sessions/${id}/links`, { callId, for: name })).status).toBe(400);
		expect((await ask(kim, '/v1/sessions', { agent: 'till', user: 'ada', for: name })).status).toBe(400);
		expect((await ask(kim, '/v1/sessions', { agent: 'till', user: name })).status).toBe(400);
	},
);

describe('a session that was deleted and created again with the same id', () => {
	const post = (text: string) =>
		ask(
			keys.shop,
			'/v1/sessions',
			{ agent: 'till', user: 'ada', text },
			{ headers: { 'idempotency-key': `again-${text.length}` } },
		);

	test('accepts no token, link or answer of the deleted session', async () => {
		const first = await (await post(payment())).json<{ id: string; token: string }>();
		const { token } = await makeToken(kim, first.id, { scopes: ['read', 'message', 'approve'], for: 'lea' });
		const link = await findLink(kim, first.id);
		const callId = await findOpen(first.id);
		expect((await ask(kim, `/v1/sessions/${first.id}`, undefined, { method: 'DELETE' })).status).toBe(204);
		const second = await (await post(payment())).json<{ id: string }>();
		expect(second.id).toBe(first.id);
		for (const old of [first.token, token]) {
			expect((await ask(old, `/v1/sessions/${second.id}`)).status).toBe(401);
			expect((await decide(old, second.id, await findOpen(second.id))).status).toBe(401);
		}
		expect((await click(link)).status).toBe(404);
		expect((await decide(kim, second.id, callId)).status).toBeGreaterThanOrEqual(400);
		expect(happened.paid).toEqual([]);
	});

	test('is open only to a page of the same person', async () => {
		const chat = crypto.randomUUID();
		const page = (who: Credential) =>
			ask(who, '/v1/ui/till', {
				id: chat,
				messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
			});
		const idOf = (response: Response) => response.headers.get('runlet-session') ?? '';
		const of = async (who: Credential) => {
			const response = await page(who);
			await response.text();
			return idOf(response);
		};
		const [one, two, nobody] = [await of(ada), await of(ben), await of(keys.shop)];
		expect(new Set([one, two, nobody]).size).toBe(3);
		await ask(boss, '/v1/users/ada', undefined, { method: 'DELETE' });
		expect(await of(ada)).toBe(one);
		expect((await look(keys.root, one)).user).toBe('ada');
		expect((await ask(ben, `/v1/sessions/${one}`)).status).toBe(404);
	});
});

test('a token acts for the same person after a restart, and no field of a request changes the person', async () => {
	const { id } = await create(keys.shop, { user: 'ada' });
	const { token } = await makeToken(kim, id, { for: 'lea' });
	await say(token, id, call('who'));
	await restart(id);
	await ask(token, `/v1/sessions/${id}/messages`, { text: call('who'), sender: 'boss', by: boss, user: 'boss' });
	await say(token, id, call('who'));
	for (const { askedBy } of happened.looked)
		expect(askedBy).toMatchObject({ user: 'lea', via: 'token', madeBy: { user: 'kim' } });
	expect(happened.looked.length).toBeGreaterThanOrEqual(2);
});

test('refuses fields of a body that name an actor', async () => {
	const { id } = await create(ada, { text: 'Hello' });
	for (const more of [
		{ sender: 'boss' },
		{ by: boss },
		{ user: 'boss' },
		{ owner: 'rival' },
		{ askers: [] },
		{ transport: 'http' },
		{ create: {} },
		{ ofChild: {} },
		{ isPatient: true },
	])
		expect([more, (await say(kim, id, 'Hi', more)).status]).toEqual([more, 400]);
	for (const more of [
		{ owner: 'rival' },
		{ by: boss },
		{ createdBy: boss },
		{ role: 'admin' },
		{ parent: { id, depth: 0 } },
		{ history: [] },
		{ clientTools: [] },
		{ isImported: false },
	])
		expect([more, (await ask(kim, '/v1/sessions', { agent: 'till', ...more })).status]).toEqual([more, 400]);
	for (const more of [{ madeBy: boss }, { keyId: 'x' }, { owner: 'rival' }])
		expect([more, (await ask(kim, `/v1/sessions/${id}/token`, more)).status]).toEqual([more, 400]);
});

describe('an MCP client', () => {
	const texts = [
		'approve',
		'Approve',
		' APPROVE ',
		'approve {"amount":1}',
		'approve{"amount":1}',
		'yes',
		'accept',
		'{"approve":true}',
	];
	const callers: readonly [string, Credential][] = [
		['a customer', ada],
		['a customer with a key', keys.ofAda],
		['a colleague', kim],
		['the boss', boss],
		['the server', keys.shop],
	];
	describe.each(['2025-11-25', '2026-07-28'] as const)('of revision %s, which cannot ask anybody,', (revision) => {
		test.each(callers)('cannot approve a call of a child or grandchild with a text of %s', async (_, who) => {
			for (const work of [
				call('loose', { task: payment() }),
				call('mid', { task: call('loose', { task: payment() }) }),
			]) {
				const { id } = await create(keys.shop, { agent: 'open-till', user: 'ada', text: work });
				const client = await openMcp(who, `/mcp/open-till?session=${id}`, { revision });
				for (const text of texts) {
					await client.callTool({ name: 'ask', arguments: { text } }).catch(() => {});
					await client.callTool({ name: 'ask', arguments: { text, session: id } }).catch(() => {});
					await client.callTool({ name: 'agent_start', arguments: { text, session: id } }).catch(() => {});
				}
				expect((await look(keys.root, id)).status).toBe('awaiting_user');
				expect(happened.paid).toEqual([]);
			}
		});

		test.each(callers)('cannot approve a call of its own session with a text of %s', async (_, who) => {
			for (const work of [payment(), call('loose', { task: payment() }), call('loose_errand', { task: payment() })]) {
				const client = await openMcp(who, '/mcp/open-till', { revision });
				const asked = await client.callTool({ name: 'ask', arguments: { text: work } });
				const { sessionId: session } = asked.structuredContent as { sessionId: string };
				for (const text of texts) await client.callTool({ name: 'ask', arguments: { text, session } }).catch(() => {});
			}
			expect(happened.paid).toEqual([]);
		});

		test('gets the answer that a person must decide elsewhere, and the person can decide there', async () => {
			const client = await openMcp(keys.ofAda, '/mcp/open-till', { revision });
			const asked = await client.callTool({ name: 'ask', arguments: { text: call('loose', { task: payment() }) } });
			expect(JSON.stringify(asked.content)).toContain('waits for a person');
			const { sessionId: id } = asked.structuredContent as { sessionId: string };
			const refused = await client.callTool({ name: 'ask', arguments: { text: 'approve', session: id } }).catch(String);
			expect(JSON.stringify(refused)).toMatch(/decides nothing|role/);
			expect((await answer(kim, id, 'approve')).status).toBe(200);
			expect(happened.paid).toMatchObject([{ owner: 'shop', user: 'ada' }]);
		});
	});

	test('decides as the colleague who sees its form, and the policy checks this colleague', async () => {
		const elicit = () => ({ action: 'accept' as const, content: { approve: true } });
		const client = await openMcp(keys.ofKim, '/mcp/till', { elicit });
		await client.callTool({ name: 'ask', arguments: { text: payment() } }).catch(() => {});
		await client.callTool({ name: 'disburse', arguments: { amount: 5 } }).catch(() => {});
		expect(happened.paid).toEqual([]);
		expect(happened.asked.map(({ by }) => by)).toMatchObject([
			{ owner: 'shop', user: 'kim', via: 'mcp' },
			{ owner: 'shop', user: 'kim', via: 'mcp' },
		]);
	});

	test('cannot forge the state of a question from another session or run', async () => {
		const { id, run } = (await create(ada, { text: payment() })) as unknown as { id: string; run: { id: string } };
		const callId = await findOpen(id);
		const post = (who: Credential, requestState: string) =>
			ask(
				who,
				'/mcp/till',
				{
					jsonrpc: '2.0',
					id: 1,
					method: 'tools/call',
					params: {
						name: 'ask',
						arguments: { text: 'x' },
						requestState,
						inputResponses: { [callId]: { action: 'accept', content: { approve: true } } },
						_meta: {
							'io.modelcontextprotocol/protocolVersion': '2026-07-28',
							'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
						},
					},
				},
				{ headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' } },
			);
		for (const who of [ada, ben, keys.rival, keys.shop])
			for (const state of [`run.${id}.${run.id}`, `run.${id}.x`, 'run', `approval.approve.${'0'.repeat(32)}`])
				await (await post(who, state)).text();
		expect(happened.paid).toEqual([]);
	});
});

test('a link’s claims contain only the call, the decision, the expiry, the maker and the person', async () => {
	const { id } = await create(ada, { text: payment() });
	const claims = readLink((await findLink(kim, id, { for: 'lea' })).split('/').at(-1) ?? '');
	expect(Object.keys(claims ?? {}).sort()).toEqual([
		'approve',
		'callId',
		'expiresAt',
		'for',
		'hash',
		'madeBy',
		'session',
		'turn',
	]);
	expect(claims?.madeBy).toEqual({ owner: 'shop', user: 'kim', via: 'account', id: 'kim' });
});

test.each<[string, Credential, number]>([
	['a customer', ada, 403],
	['another customer', ben, 403],
	['a key of another shop', keys.rival, 404],
	['an operator', keys.root, 403],
])('%s cannot make a link or a token for the customer’s session, or revoke a token', async (_, who, status) => {
	const { id, tokenId, token } = await create(keys.shop, { user: 'ada', text: payment() });
	expect((await makeLinks(who, id)).status).toBe(status);
	expect((await ask(who, `/v1/sessions/${id}/token`, {})).status).toBe(status);
	expect((await ask(who, `/v1/sessions/${id}/token/${tokenId}`, undefined, { method: 'DELETE' })).status).toBe(status);
	expect((await ask(token, `/v1/sessions/${id}`)).status).toBe(200);
});

test('a revoked token can no longer decide, write or follow a run', async () => {
	const { id } = await create(ada, { text: payment() });
	const { token, tokenId } = await makeToken(kim, id, { scopes: ['read', 'message', 'approve'], for: 'lea' });
	expect((await ask(kim, `/v1/sessions/${id}/token/${tokenId}`, undefined, { method: 'DELETE' })).status).toBe(204);
	for (const response of [
		await decide(token, id, await findOpen(id)),
		await say(token, id, 'Hi'),
		await ask(token, `/v1/sessions/${id}/events`),
	])
		expect(response.status).toBe(401);
	expect(happened.paid).toEqual([]);
	expect(await readRows(id, `SELECT count(*) AS n FROM token WHERE id = '${tokenId}'`)).toEqual([{ n: 0 }]);
});

test('the token of a parent session does not open the session of a child', async () => {
	const { id, token } = await create(keys.shop, { user: 'ada', text: call('errand', { task: payment() }) });
	const child = await findChild(id);
	await waitFor(child, 'awaiting_tools');
	for (const path of ['', '/messages', '/events'])
		expect((await ask(token, `/v1/sessions/${child}${path}`)).status).toBe(404);
	const { token: approving } = await makeToken(kim, id, { scopes: ['read', 'message', 'approve'], for: 'lea' });
	expect((await decide(approving, child, await findOpen(child))).status).toBe(404);
	expect((await approve(lea, child)).status).toBe(200);
});

/** Actions in a session, and the token scope that each needs. */
const needs: readonly [scope: string, method: string, path: string, body?: unknown][] = [
	['read', 'GET', ''],
	['read', 'GET', '/messages'],
	['read', 'GET', '/events'],
	['read', 'GET', '/files'],
	['read', 'GET', '/changes'],
	['read', 'GET', '/waiting'],
	['read', 'GET', '/tasks'],
	['read', 'PUT', '/runs/run_1/feedback', { rating: 'up' }],
	['read', 'DELETE', '/runs/run_1/feedback'],
	['message', 'POST', '/messages', { text: 'Hi' }],
	['message', 'POST', '/answer', { text: 'Hi' }],
	['message', 'POST', '/continue', {}],
	['message', 'POST', '/step', {}],
	['message', 'POST', '/tool-results', [{ id: 'x', output: 1 }]],
	['message', 'PUT', '/files/a.txt'],
	['message', 'DELETE', '/files/a.txt'],
	['message', 'DELETE', '/waiting/run_1'],
	['approve', 'POST', '/tool-results', [{ id: 'x', approve: true }]],
	['approve', 'POST', '/tool-results', [{ id: 'x', approve: false }]],
	['message', 'POST', '/cancel', {}],
];

test.each(['read', 'message', 'approve'] as const)(
	'a token with the scope %s does only what the scope allows',
	async (scope) => {
		const { id } = await create(keys.shop, { user: 'ada', text: payment() });
		const { token } = await makeToken(kim, id, { scopes: [scope], for: 'lea' });
		for (const [needed, method, path, body] of needs) {
			const raw = method === 'PUT' && body === undefined ? { raw: 'Hi' } : {};
			const { status } = await ask(token, `/v1/sessions/${id}${path}`, body, { method, ...raw });
			expect([needed, method, path, status === 403]).toEqual([needed, method, path, needed !== scope]);
		}
		for (const path of ['messages', 'stream'])
			expect((await ask(token, `/v1/ui/till/${id}/${path}`)).status === 403).toBe(scope !== 'read');
		expect(happened.paid).toEqual([]);
	},
);

test('a token with the scope approve can approve a child’s call, but needs the scope message to do it by message', async () => {
	const make = async () => (await create(keys.shop, { user: 'ada', text: call('hand', { task: payment() }) })).id;
	const one = await make();
	const { token: deciding } = await makeToken(kim, one, { scopes: ['approve'], for: 'lea' });
	expect((await say(deciding, one, 'approve')).status).toBe(403);
	expect((await answer(deciding, one, 'approve')).status).toBe(200);
	const two = await make();
	const { token: both } = await makeToken(kim, two, { scopes: ['message', 'approve'], for: 'lea' });
	expect((await say(both, two, 'approve')).status).toBe(200);
	expect(happened.paid).toHaveLength(2);
});
