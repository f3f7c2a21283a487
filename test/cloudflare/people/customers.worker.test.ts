/** The rights of a customer with a login, a key or a token (docs/keys.md, "Roles"). */
import { beforeEach, describe, expect, test } from 'vitest';
import { restart } from '../../client.ts';
import { happened } from './agents.ts';
import {
	ada,
	answer,
	approve,
	ask,
	begin,
	ben,
	boss,
	type Credential,
	call,
	clickNew,
	complete,
	create,
	decide,
	decideOnPage,
	findChild,
	findOpen,
	keys,
	kim,
	look,
	openMcp,
	otherAda,
	otherBoss,
	payment,
	postPage,
	putMemory,
	read,
	readMessages,
	runAgui,
	say,
	sessionOf,
	waitFor,
} from './stage.ts';

beforeEach(begin);

/** The ways to reach the app for a customer with the login of docs/customers.md. */
const customers: Readonly<Record<string, Credential>> = {
	'a cookie': ada,
	'a cookie that says customer': { ...ada, role: 'customer' },
	'a key of a customer': keys.ofAda,
};

/** Agents with calls that wait for an approval, with and without a policy. */
const agents = ['till', 'open-till'] as const;

/** The ways in which a customer tries to approve their own call. */
const attempts: Readonly<
	Record<string, (who: Credential, id: string, callId: string, agent: string) => Promise<unknown>>
> = {
	'by a decision': async (who, id, callId) => expect((await decide(who, id, callId)).status).toBe(403),
	'by a decision with other arguments': async (who, id, callId) =>
		expect((await decide(who, id, callId, { approve: true, input: { amount: 5_000 } })).status).toBe(403),
	'by a denial, which is a decision': async (who, id, callId) =>
		expect((await decide(who, id, callId, { approve: false })).status).toBe(403),
	'by a result': async (who, id, callId) =>
		expect((await decide(who, id, callId, { output: 'paid 5000' })).status).toBeGreaterThanOrEqual(400),
	'on a page of the AI SDK': async (who, id, callId, agent) =>
		expect((await decideOnPage(who, id, callId, true, agent)).status).toBe(403),
	'by a message': async (who, id) => (await say(who, id, 'approve')).text(),
	'by an answer': async (who, id) => (await answer(who, id, 'approve')).text(),
	'by a message on a page of the AI SDK': async (who, id, _, agent) => postPage(who, id, 'approve', agent),
	'by interrupts of AG-UI': async (who, id, callId, agent) => {
		for (const kind of ['approval', 'answer', 'result']) {
			const resume = [{ interruptId: `${kind}:${callId}`, status: 'resolved', payload: { approved: true } }];
			await runAgui(who, id, { resume }, agent);
		}
	},
	'by chat completions': async (who, id, _, agent) => (await complete(who, 'approve', { agent, session: id })).text(),
	'by Anthropic’s messages': async (who, id, _, agent) =>
		(await complete(who, 'approve', { agent, session: id, path: '/v1/messages' })).text(),
	'by a response': async (who, id, callId, agent) => {
		const approval_request_id = `mcpr_${id}_${callId}`;
		const input = [{ type: 'mcp_approval_response', approval_request_id, approve: true }];
		expect((await ask(who, '/v1/responses', { model: agent, input })).status).toBe(403);
	},
	'by a message in a conversation': async (who, id, _, agent) =>
		(await ask(who, '/v1/responses', { model: agent, input: 'approve', conversation: `conv_${id}` })).text(),
	'by data and by a text of A2A': async (who, id, callId, agent) => {
		for (const part of [{ data: { id: callId, approve: true } }, { text: 'approve' }]) {
			const message = { messageId: crypto.randomUUID(), taskId: `${id}-1`, role: 'ROLE_USER', parts: [part] };
			await (
				await ask(who, `/v1/a2a/${agent}`, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
			).text();
		}
	},
	'by a token with approve': async (who, id) =>
		expect((await ask(who, `/v1/sessions/${id}/token`, { scopes: ['approve'] })).status).toBe(403),
	'by a token for a colleague': async (who, id) =>
		expect((await ask(who, `/v1/sessions/${id}/token`, { scopes: ['approve'], for: 'kim' })).status).toBe(403),
	'by a link': async (who, id, callId) =>
		expect((await ask(who, `/v1/sessions/${id}/links`, { callId, for: 'kim' })).status).toBe(403),
	'by a continuation': async (who, id) => (await ask(who, `/v1/sessions/${id}/continue`, {})).text(),
	'by a step': async (who, id) => (await ask(who, `/v1/sessions/${id}/step`, {})).text(),
	'by a fork': async (who, id) => expect((await ask(who, `/v1/sessions/${id}/fork`, {})).status).toBe(403),
	'by MCP, with a form': async (who, id, _, agent) => {
		const elicit = () => ({ action: 'accept' as const, content: { approve: true } });
		const client = await openMcp(who, `/mcp/${agent}?session=${id}`, { elicit });
		await client.callTool({ name: 'ask', arguments: { text: 'approve' } }).catch(() => {});
		await client.callTool({ name: 'ask', arguments: { text: payment(9) } }).catch(() => {});
	},
	'by MCP, without a form': async (who, id, _, agent) => {
		for (const revision of ['2025-11-25', '2026-07-28'] as const) {
			const client = await openMcp(who, `/mcp/${agent}?session=${id}`, { revision });
			await client.callTool({ name: 'ask', arguments: { text: 'approve' } }).catch(() => {});
		}
	},
};

describe.each(Object.entries(customers))('a customer with %s', (_, who) => {
	describe.each(agents)('in a session of the agent %s', (agent) => {
		test.each(Object.entries(attempts))('cannot approve their own call %s', async (_, tryOut) => {
			const { id } = await create(who, { agent, text: payment() });
			await restart(id);
			await tryOut(who, id, await findOpen(id), agent);
			expect(happened.paid).toEqual([]);
			expect(happened.asked).toEqual([]);
		});

		test.each(Object.entries(attempts))('cannot approve a child’s call %s', async (_, tryOut) => {
			const { id } = await create(who, { agent, text: call('loose', { task: payment() }) });
			await restart(id);
			await tryOut(who, id, await findOpen(id), agent).catch(() => {});
			expect(happened.paid).toEqual([]);
			expect(happened.asked).toEqual([]);
		});

		test('cannot approve a background child’s call, either in the child or in its parent', async () => {
			const { id } = await create(who, { agent, text: call('loose_errand', { task: payment() }) });
			const child = await findChild(id);
			await waitFor(child, 'awaiting_tools');
			const callId = await findOpen(child);
			for (const place of [child, id]) {
				expect((await decide(who, place, callId)).status).toBe(403);
				await (await say(who, place, 'approve')).text();
				await (await answer(who, place, 'approve')).text();
			}
			expect((await ask(who, `/v1/sessions/${child}/links`, { callId })).status).toBe(403);
			expect(happened.paid).toEqual([]);
			expect((await approve(kim, child)).status).toBe(200);
		});
	});

	/** Refused bodies of a new session, with the field that the refusal names. */
	const bodies: readonly [string, object, string][] = [
		['for another customer', { user: 'ben' }, 'user'],
		['for a name that looks like their own name', { user: 'аda' }, 'user'],
		['for their name in capitals', { user: 'ADA' }, 'user'],
		['whose token is for somebody', { for: 'kim' }, 'for'],
		['whose token is for themselves', { for: 'ada' }, 'for'],
		['with metadata', { metadata: { user: 'ben', plan: 'gold' } }, 'metadata'],
		['with empty metadata', { metadata: {} }, 'metadata'],
		['with more tokens than the agent has', { budget: { tokens: 50_001 } }, 'budget'],
		['with 999,999,999 tokens', { budget: { tokens: 999_999_999 } }, 'budget'],
		['with dollars in place of tokens', { budget: { usd: 0.01 } }, 'budget'],
		['with more tokens, and dollars', { budget: { tokens: 50_001, usd: 0.01 } }, 'budget'],
	];
	test.each(bodies)('cannot create a session %s', async (_, body, field) => {
		const refused = await ask(who, '/v1/sessions', { agent: 'open-till', ...body });
		expect(refused.status).toBe(403);
		expect(await refused.json()).toMatchObject({ error: { code: 'forbidden', data: { field } } });
	});

	test('can create sessions for themselves, even with their own name and a smaller budget', async () => {
		for (const body of [{}, { user: 'ada' }, { budget: { tokens: 50_000 } }, { budget: { tokens: 10, usd: 1 } }])
			expect(await create(who, { agent: 'open-till', ...body })).toMatchObject({
				user: 'ada',
				tokenScopes: ['read', 'message'],
			});
	});

	test('can read, write, answer, store files and stop the run in their own session, even if a colleague created it', async () => {
		const { id } = await create(kim, { user: 'ada', text: call('inquire', { question: 'Which?' }) });
		expect((await answer(who, id, 'This.')).status).toBe(200);
		expect((await say(who, id, call('hand_work'))).status).toBe(200);
		expect((await decide(who, id, await findOpen(id), { output: 'Done by hand.' })).status).toBe(200);
		const file = { method: 'PUT', raw: 'Hi' };
		expect((await ask(who, `/v1/sessions/${id}/files/a.txt`, undefined, file)).status).toBe(201);
		for (const path of ['', '/messages', '/files', '/files/a.txt', '/changes', '/tasks', '/waiting', '/events'])
			expect([path, (await ask(who, `/v1/sessions/${id}${path}`)).status]).toEqual([path, 200]);
		expect((await ask(who, `/v1/sessions/${id}/files/a.txt`, undefined, { method: 'DELETE' })).status).toBe(204);
		expect((await ask(who, `/v1/sessions/${id}/cancel`, {})).status).toBe(200);
	});

	/** Operations of the staff, in the customer’s own session. */
	const managing: readonly [string, string, (id: string) => object | undefined][] = [
		['PATCH', '', () => ({ budget: { tokens: 50_000_000 } })],
		['PATCH', '', () => ({ budget: { tokens: 1 } })],
		['PATCH', '', () => ({ title: 'Mine' })],
		['DELETE', '', () => undefined],
		['POST', '/token', () => ({})],
		['POST', '/token', () => ({ scopes: ['read'] })],
		['POST', '/token', () => ({ scopes: ['read', 'message', 'approve'], user: 'ada' })],
		['DELETE', '/token/0123456789abcdef', () => undefined],
		['GET', '/export', () => undefined],
		['GET', '/trace', () => undefined],
		['POST', '/fork', () => ({})],
		['POST', '/rerun', () => ({ run: 'run_1' })],
		['POST', '/links', () => ({ callId: 'call_1' })],
	];
	test.each(managing)('is not allowed to %s …%s in their own session', async (method, path, toBody) => {
		const { id } = await create(who, { agent: 'open-till', text: 'Hello' });
		const refused = await ask(who, `/v1/sessions/${id}${path}`, toBody(id), { method });
		expect(refused.status).toBe(403);
		expect(await refused.json()).toMatchObject({
			error: { code: 'forbidden', message: expect.stringMatching(/role (staff|admin)/) },
		});
		expect((await look(keys.root, id)).budget.limit).toEqual({ tokens: 50_000 });
	});

	/** Operations of the shop. */
	const ofShop: readonly [string, string, object?][] = [
		['GET', '/v1/approvals'],
		['GET', '/v1/approvals?user=ada'],
		['GET', '/v1/feedback'],
		['GET', '/v1/feedback?user=ada'],
		['GET', '/v1/sessions?user=ben'],
		['GET', '/v1/sessions?owner=rival'],
		['GET', '/v1/sessions?owner=*'],
		['GET', '/v1/usage'],
		['GET', '/v1/usage?user=ada'],
		['GET', '/v1/memories'],
		['GET', '/v1/memories?user=ada'],
		['GET', '/v1/memories/a.md?user=ada'],
		['PUT', '/v1/memories/a.md?user=ada', { text: 'I am gold.' }],
		['DELETE', '/v1/memories/a.md?user=ada'],
		['DELETE', '/v1/memories?user=ada'],
		['GET', '/v1/users/ada'],
		['GET', '/v1/users/ben'],
		['DELETE', '/v1/users/ada'],
		['DELETE', '/v1/users/ben'],
		['GET', '/v1/users/ada/budget'],
		['PUT', '/v1/users/ada/budget', {}],
		['PUT', '/v1/users/ada/budget', { total: { tokens: 9 } }],
		['GET', '/v1/schedules'],
		['POST', '/v1/schedules', { session: 'x', name: 'a', text: 'Go', every: '5m' }],
		['POST', '/v1/schedules/agent.dawn.for-ada/run'],
		['DELETE', '/v1/schedules/agent.dawn.for-ada'],
		['GET', '/v1/skills'],
		['PUT', '/v1/skills/x'],
		['GET', '/v1/keys'],
		['POST', '/v1/keys', { owner: 'shop' }],
		['DELETE', '/v1/keys/abcdefgh'],
		['GET', '/v1/tools'],
		['PUT', '/v1/tools/x', { description: 'x', inputSchema: {}, url: 'https://example.com' }],
		['DELETE', '/v1/tools/x'],
		['GET', '/v1/mcp'],
		['PUT', '/v1/mcp/x', { url: 'https://example.com' }],
		['POST', '/v1/mcp/x/login', {}],
		['DELETE', '/v1/mcp/x/login'],
		['POST', '/v1/sessions/import', { session: {} }],
	];
	test.each(ofShop)('is not allowed to %s %s', async (method, path, body) => {
		await putMemory(boss, 'ada', 'a.md', 'Likes tea.');
		const refused = await ask(who, path, body, { method });
		expect(refused.status).toBe(403);
		expect(JSON.stringify(await refused.json())).not.toMatch(/tea|rival/);
	});

	test('lists only their own sessions with any query, even if a colleague created them', async () => {
		const own = [
			(await create(who)).id,
			(await create(kim, { user: 'ada' })).id,
			(await create(keys.shop, { user: 'ada' })).id,
		];
		const others = [
			await create(ben),
			await create(kim),
			await create(keys.shop),
			await create(otherAda),
			await create(keys.rival, { user: 'ada' }),
		];
		for (const query of [
			'?limit=100',
			'?limit=100&user=ada',
			'?limit=100&agent=till',
			'?limit=50&status=idle',
			'?limit=100&owner=shop',
		]) {
			const { sessions } = await read<{ sessions: { id: string }[] }>(who, `/v1/sessions${query}`);
			const ids = sessions.map(({ id }) => id);
			expect([query, own.filter((id) => !ids.includes(id))]).toEqual([query, []]);
			expect([query, others.filter(({ id }) => ids.includes(id))]).toEqual([query, []]);
		}
	});
});

/** All operations of another person’s session. */
const routes: readonly [string, string, unknown?][] = [
	['GET', ''],
	['PATCH', '', { title: 'x' }],
	['DELETE', ''],
	['GET', '/messages'],
	['GET', '/messages/1000'],
	['POST', '/messages', { text: 'Hi' }],
	['POST', '/answer', { text: 'Hi' }],
	['POST', '/tool-results', [{ id: 'call_1', approve: true }]],
	['POST', '/tool-results', [{ id: 'call_1', output: 'x' }]],
	['POST', '/continue', {}],
	['POST', '/step', {}],
	['POST', '/cancel', {}],
	['GET', '/events'],
	['GET', '/waiting'],
	['DELETE', '/waiting/run_1'],
	['GET', '/tasks'],
	['PUT', '/runs/run_1/feedback', { rating: 'up' }],
	['DELETE', '/runs/run_1/feedback'],
	['GET', '/files'],
	['GET', '/files/a.txt'],
	['PUT', '/files/a.txt'],
	['DELETE', '/files/a.txt'],
	['GET', '/changes'],
];

describe.each<[string, Credential]>([
	['another customer with a cookie', ben],
	['another customer with a key', keys.ofBen],
	['a customer of the same name in another shop', otherAda],
	['a customer of the same name in another shop, with a key', keys.rivalOfAda],
	['the boss of another shop', otherBoss],
	['the server of another shop', keys.rival],
	['a customer who names nobody', { owner: 'shop' }],
	['a customer whose name looks like the other name', { owner: 'shop', user: 'аda' }],
	['a customer whose name begins with the other name and a space', { owner: 'shop', user: 'ada x' }],
])('%s', (_, who) => {
	test.each(routes)(
		'gets 404 or 403 for %s …%s of the customer’s session, as for an unknown session',
		async (method, path, body) => {
			const { id } = await create(ada, { text: payment() });
			const raw = method === 'PUT' ? { raw: 'Hi' } : {};
			const at = (session: string) => ask(who, `/v1/sessions/${session}${path}`, body, { method, ...raw });
			const refused = await at(id);
			expect([403, 404]).toContain(refused.status);
			const text = await refused.text();
			const unknown = await at('0'.repeat(64));
			// The answer does not reveal whether the session exists.
			expect([unknown.status, await unknown.text()]).toEqual([refused.status, text]);
			expect((await look(keys.root, id)).status).toBe('awaiting_tools');
		},
	);

	test('cannot reach a session of the customer by pages, AG-UI, chat completions or MCP', async () => {
		const { id } = await create(ada, { text: 'My secret.' });
		const count = (await readMessages(id)).length;
		const page = await postPage(who, id, 'Hi');
		expect([403, 404]).toContain(page.status);
		for (const path of ['messages', 'stream']) {
			const seen = await ask(who, `/v1/ui/till/${id}/${path}`);
			expect(await seen.text()).not.toContain('secret');
		}
		for (const messages of [[], [{ id: 'm', role: 'user', content: 'Hi' }]]) {
			const run = await runAgui(who, id, { messages });
			if (messages.length > 0) expect([403, 404]).toContain(run.status);
			expect(await run.text()).not.toContain('secret');
		}
		const completed = await complete(who, 'Hi', { session: id });
		expect([403, 404]).toContain(completed.status);
		expect([403, 404]).toContain((await complete(who, 'Hi', { session: id, path: '/v1/messages' })).status);
		const client = await openMcp(who, `/mcp/till?session=${id}`);
		for (const name of ['ask', 'agent_start'])
			expect(await client.callTool({ name, arguments: { text: 'Hi' } }).catch(String)).not.toHaveProperty(
				'structuredContent',
			);
		for (const name of ['agent_get', 'agent_cancel'])
			expect(JSON.stringify(await client.callTool({ name, arguments: { session: id } }).catch(String))).not.toContain(
				'secret',
			);
		await client.callTool({ name: 'who', arguments: {} }).catch(() => {});
		expect(happened.looked).toEqual([]);
		expect(await readMessages(id)).toHaveLength(count);
	});
});

test('the token of a customer’s page cannot decide, and opens only its own session', async () => {
	const { id, token } = await create(keys.shop, { user: 'ada', text: payment() });
	const other = await create(keys.shop, { user: 'ada' });
	expect((await decide(token, id, await findOpen(id))).status).toBe(403);
	expect((await ask(token, `/v1/sessions/${other.id}`)).status).toBe(404);
	for (const [method, path, body] of [
		['GET', '/v1/sessions'],
		['POST', '/v1/sessions', { agent: 'till' }],
		['GET', '/v1/agents'],
		['GET', '/v1/agents/till/tools'],
		['POST', '/v1/agents/till/calls', { tool: 'pay', input: {} }],
		['GET', '/v1/approvals'],
		['GET', '/v1/feedback'],
		['GET', '/v1/users/ada'],
		['GET', '/v1/memories?user=ada'],
		['POST', '/v1/chat/completions', { model: 'till', messages: [{ role: 'user', content: 'Hi' }] }],
		['POST', '/v1/messages', { model: 'till', messages: [{ role: 'user', content: 'Hi' }] }],
		['POST', '/v1/messages/count_tokens', { model: 'till', messages: [{ role: 'user', content: 'Hi' }] }],
		['PATCH', `/v1/sessions/${id}`, { title: 'x' }],
		['DELETE', `/v1/sessions/${id}`],
		['POST', `/v1/sessions/${id}/token`, {}],
		['POST', `/v1/sessions/${id}/links`, { callId: 'x' }],
		['GET', `/v1/sessions/${id}/export`],
		['GET', `/v1/sessions/${id}/trace`],
		['POST', `/v1/sessions/${id}/fork`, {}],
		['POST', `/v1/sessions/${id}/rerun`, { run: 'run_1' }],
	] as const)
		expect([path, (await ask(token, path, body, { method })).status]).toEqual([path, 403]);
	expect((await ask(token, '/mcp/till', { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(403);
});

test('a link for a customer cannot approve the customer’s own call, and a link for a colleague can', async () => {
	const { id } = await create(ada, { text: payment() });
	expect((await clickNew(kim, id, { for: 'ada' })).status).toBe(403);
	expect(happened.paid).toEqual([]);
	expect((await clickNew(kim, id, { for: 'lea' })).status).toBe(200);
	await expect.poll(() => happened.paid.length).toBe(1);
});

test.each<[string, Credential]>([
	['a colleague', kim],
	['the desk', keys.desk],
])('%s cannot raise a budget, erase a user or set up tools', async (_, who) => {
	const { id } = await create(ada, { agent: 'open-till', text: 'Hello' });
	for (const [method, path, body] of [
		['PATCH', `/v1/sessions/${id}`, { budget: { tokens: 50_000_000 } }],
		['PATCH', `/v1/sessions/${id}`, { budget: { tokens: 10 } }],
		['PATCH', `/v1/sessions/${id}`, { title: 'x', budget: { tokens: 10 } }],
		['POST', '/v1/sessions', { agent: 'open-till', user: 'ada', budget: { tokens: 50_001 } }],
		['POST', '/v1/sessions', { agent: 'open-till', user: 'ada', budget: { usd: 1 } }],
		['DELETE', '/v1/users/ada'],
		['PUT', '/v1/users/ada/budget', { total: { tokens: 1 } }],
		['PUT', '/v1/memories/a.md?user=ada', { text: 'x' }],
		['DELETE', '/v1/memories?user=ada'],
		['PUT', '/v1/tools/x', { description: 'x', inputSchema: {}, url: 'https://example.com' }],
		['PUT', '/v1/mcp/x', { url: 'https://example.com' }],
		['POST', '/v1/sessions/import', { session: {} }],
		['GET', '/v1/keys'],
		['POST', '/v1/keys', { owner: 'shop', role: 'admin' }],
		['GET', '/v1/sessions?owner=*'],
		['GET', '/v1/approvals?owner=rival'],
		['GET', '/v1/feedback?owner=rival'],
		['GET', '/v1/usage?owner=rival'],
		['GET', '/v1/memories?owner=rival&user=ada'],
		['GET', '/v1/users/ada?owner=rival'],
	] as const)
		expect([path, (await ask(who, path, body, { method })).status]).toEqual([path, 403]);
	expect(await look(keys.root, id)).toMatchObject({ budget: { limit: { tokens: 50_000 } } });
	expect((await look(keys.root, id)).title).toBe('Hello');
});

test('a session of chat completions belongs to the customer of the key, even if the body names another customer', async () => {
	const response = await complete(keys.ofBen, 'Hi', {
		user: 'ada',
		safety_identifier: 'ada',
		metadata: { user: 'ada' },
	});
	expect((await look(keys.root, sessionOf(response))).user).toBe('ben');
	expect((await ask(ada, `/v1/sessions/${sessionOf(response)}`)).status).toBe(404);
});
