/** Tools get the session’s user and the asker, never a name that a model chose (docs/tools.md). */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { restart } from '../../client.ts';
import { setClock } from '../../clock.ts';
import { happened, type Told } from './agents.ts';
import {
	ada,
	answer,
	approve,
	ask,
	begin,
	boss,
	type Credential,
	call,
	complete,
	create,
	decide,
	deliverTo,
	exportOf,
	findChild,
	findOpen,
	importAs,
	keyIds,
	keys,
	kim,
	lea,
	makeToken,
	openMcp,
	otherAda,
	passTo,
	payment,
	postPage,
	read,
	readResults,
	say,
	sessionOf,
	waitFor,
} from './stage.ts';

beforeEach(begin);
afterAll(() => setClock());

/** The model tries to read the orders of ada, the user of the session, and of ben. */
const looking = `${call('find_order', { id: 'A-1' })}\n${call('find_order', { id: 'B-1' })}\n${call('who')}`;
const none = 'no such order of this customer';

const makeSession = async (agent = 'till'): Promise<string> => (await create(keys.shop, { agent, user: 'ada' })).id;
const waitForLooks = (count: number) => expect.poll(() => happened.looked.length, { timeout: 10_000 }).toBe(count);

/** Checks that the tool got ada’s session and no other name. */
function expectAda(told: Told | undefined, askedBy: object = { owner: 'shop', user: 'ada' }): void {
	expect(told).toMatchObject({ owner: 'shop', user: 'ada', askedBy });
	// The default sender of a webhook is its source.
	expect([told?.askedBy?.user, 'shop', ...(told?.askedBy?.via === 'webhook' ? ['hmac'] : [])]).toContain(told?.sender);
}

/** Names that a model gives to a wake-up, or a colleague to a schedule. */
const names = ['ben', 'ada', 'kim', 'boss', 'shop', 'null', 'a-1', 'local', 'webhooks', 'hand'];

describe('a wake-up', () => {
	test.each(names)('that the model names %s does not act as a person of that name', async (name) => {
		const id = await makeSession();
		await say(ada, id, call('schedule_wakeup', { name, text: looking, at: '2031-01-01T10:00:00Z' }));
		if (name.length % 2 === 0) await restart(id);
		await passTo('shop', '2031-01-01T10:00:01Z');
		await waitForLooks(1);
		await waitFor(id, 'completed');
		expect((await readResults(id)).slice(1, 3)).toEqual(['green tea', none]);
		expectAda(happened.looked[0]);
		expect(happened.looked[0]).toMatchObject({ sender: 'ada', transport: 'schedule' });
		expect(happened.prompted.every(({ owner, user }) => owner === 'shop' && user === 'ada')).toBe(true);
	});

	test.each<[string, Credential, object]>([
		['a customer with a cookie', ada, { user: 'ada', via: 'account' }],
		['a customer with a key', keys.ofAda, { user: 'ada', via: 'key' }],
		['the server', keys.shop, { user: 'ada', via: 'key', id: keyIds.shop }],
		['a colleague', kim, { user: 'kim', via: 'account' }],
		['a colleague with a key', keys.ofKim, { user: 'kim', via: 'key' }],
	])('set by a message of %s has the sender as its asker each time it runs', async (_, who, askedBy) => {
		const id = await makeSession();
		await say(who, id, call('schedule_wakeup', { name: 'ben', text: looking, every: '1h' }));
		const [day] = new Date().toISOString().split('T');
		const later = (days: number) => new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString();
		for (const [index, moment] of [later(2), later(3)].entries()) {
			await passTo('shop', moment);
			await waitForLooks(index + 1);
			await waitFor(id, 'completed');
		}
		for (const told of happened.looked) expectAda(told, askedBy);
		expect((await readResults(id)).filter((result) => result === 'black tea')).toEqual([]);
		await ask(kim, `/v1/schedules/session.${id}.ben`, undefined, { method: 'DELETE' });
	});

	test('of a session without a customer finds no orders of a customer', async () => {
		const { id } = await create(keys.shop, {
			text: call('schedule_wakeup', { name: 'ben', text: looking, at: '2031-02-01T10:00:00Z' }),
		});
		await passTo('shop', '2031-02-01T10:00:01Z');
		await waitForLooks(1);
		expect(happened.looked[0]).toMatchObject({ owner: 'shop', sender: 'shop', askedBy: { owner: 'shop', via: 'key' } });
		expect(happened.looked[0]?.user).toBeUndefined();
		expect(await readResults(id)).not.toContain('black tea');
	});
});

describe('a schedule', () => {
	test.each(names)('that a colleague names %s does not act as a person of that name', async (name) => {
		const id = await makeSession();
		const set = await ask(kim, '/v1/schedules', { session: id, name, text: looking, at: '2032-01-01T10:00:00Z' });
		expect(set.status).toBe(201);
		await passTo('shop', '2032-01-01T10:00:01Z');
		await waitForLooks(1);
		await waitFor(id, 'completed');
		expect(await readResults(id)).toEqual(['green tea', none, expect.anything()]);
		expectAda(happened.looked[0], { user: 'kim', via: 'account' });
		expect(happened.looked[0]?.sender).toBe('kim');
	});

	test.each<[string, Credential, number]>([
		['a customer of the session', ada, 403],
		['a customer with a key', keys.ofAda, 403],
		['another customer', { owner: 'shop', user: 'ben' }, 403],
		['somebody of another shop', keys.rival, 404],
		['an operator', keys.root, 403],
	])('cannot be set, seen or cancelled by %s', async (_, who, status) => {
		const id = await makeSession();
		const schedule = { session: id, name: 'mine', text: looking, at: '2032-02-01T10:00:00Z' };
		expect((await ask(who, '/v1/schedules', schedule)).status).toBe(status);
		expect((await ask(kim, '/v1/schedules', schedule)).status).toBe(201);
		const seen = await ask(who, `/v1/schedules?session=${id}`);
		if (seen.status === 200) expect(await seen.json()).toEqual({ schedules: [] });
		else expect(seen.status).toBe(403);
		const path = `/v1/schedules/session.${id}.mine`;
		expect((await ask(who, path, undefined, { method: 'DELETE' })).status).toBe(status);
		expect((await ask(kim, path, undefined, { method: 'DELETE' })).status).toBe(204);
	});

	test('cannot be set with a session token', async () => {
		const id = await makeSession();
		const { token } = await makeToken(kim, id, { scopes: ['read', 'message', 'approve'] });
		expect((await ask(token, '/v1/schedules', { session: id, name: 'a', text: 'x', every: '5m' })).status).toBe(403);
		expect((await ask(token, '/v1/schedules')).status).toBe(403);
	});
});

/** The askers of a child’s work, and the people that the tools of child and parent get. */
const workers: Readonly<Record<string, readonly [Credential, object]>> = {
	'a customer with a cookie': [ada, { user: 'ada', via: 'account' }],
	'a customer with a key': [keys.ofAda, { user: 'ada', via: 'key' }],
	'the server': [keys.shop, { user: 'ada', via: 'key' }],
	'a colleague': [kim, { user: 'kim', via: 'account' }],
	'a colleague with a key': [keys.ofKim, { user: 'kim', via: 'key' }],
};
const report = `say ${looking.replaceAll('\n', '\\n')}`;

describe('a child', () => {
	test.each(Object.entries(workers))(
		'that %s starts in the background reports its result, and the parent’s tools see the same customer and asker',
		async (_, [who, askedBy]) => {
			const id = await makeSession();
			await say(who, id, call('errand', { task: report }));
			await waitForLooks(1);
			await waitFor(id, 'completed');
			expect((await readResults(id)).slice(1, 3)).toEqual(['green tea', none]);
			expectAda(happened.looked[0], askedBy);
			expect(happened.looked[0]).toMatchObject({ transport: 'agent' });
			expect(happened.looked[0]?.sender).not.toBe('hand');
		},
	);

	test.each(Object.entries(workers))(
		'that works for %s sees the same customer and asker, and so does a grandchild',
		async (_, [who, askedBy]) => {
			const id = await makeSession();
			for (const name of ['hand', 'loose', 'errand']) await say(who, id, call(name, { task: looking }));
			for (const name of ['mid', 'mid_errand'])
				await say(who, id, call(name, { task: call('hand', { task: looking }) }));
			await waitForLooks(5);
			for (const told of happened.looked) {
				expectAda(told, askedBy);
				expect(['hand', 'mid', 'loose']).not.toContain(told.sender);
			}
		},
	);

	test.each([1, 2, 3])('has the same customer and asker after %i restarts of child and parent', async (times) => {
		const id = await makeSession();
		const { token } = await makeToken(keys.shop, id);
		await say(token, id, call('errand', { task: `${call('inquire', { question: 'Go?' })}\n${looking}` }));
		await expect.poll(() => findChild(id)).not.toBe('');
		const child = await findChild(id);
		await waitFor(child, 'awaiting_user');
		for (let n = 0; n < times; n++) await Promise.all([restart(child), restart(id)]);
		await answer(ada, child, 'Go.');
		await waitForLooks(1);
		expectAda(happened.looked[0]);
		expect(await readResults(child)).toEqual(['Go.', 'green tea', none, expect.anything()]);
		await waitFor(id, 'completed');
	});

	test('still acts for the customer after a colleague’s approval, even with other arguments', async () => {
		const id = await makeSession();
		await say(ada, id, call('hand', { task: payment() }));
		await approve(kim, id, { approve: true, input: { amount: 60 } });
		await say(ada, id, call('mid', { task: call('hand', { task: payment(61) }) }));
		await approve(lea, id);
		await say(ada, id, call('errand', { task: payment(62) }));
		const child = await findChild(id);
		await waitFor(child, 'awaiting_tools');
		await restart(child);
		await approve(boss, child);
		expect(happened.paid.map(({ amount }) => amount)).toEqual([60, 61, 62]);
		for (const told of [...happened.paid, ...happened.weighed]) expectAda(told, { user: 'ada', via: 'account' });
	});

	test('of a session without a customer works for no customer', async () => {
		const { id } = await create(keys.shop, { text: call('hand', { task: looking }) });
		await say(keys.shop, id, call('errand', { task: looking }));
		await waitForLooks(2);
		for (const { user, owner, sender } of happened.looked)
			expect([user, owner, sender]).toEqual([undefined, 'shop', 'shop']);
	});
});

/** All ways to send a message in ada’s session, with the asker of each. */
const said: Readonly<Record<string, readonly [(text: string) => Promise<unknown>, object]>> = {
	'a cookie': [(text) => create(ada, { text }), { user: 'ada', via: 'account', id: 'ada' }],
	'a key of the customer': [(text) => create(keys.ofAda, { text }), { user: 'ada', via: 'key', id: keyIds.ofAda }],
	'the key of the server': [
		(text) => create(keys.shop, { user: 'ada', text }),
		{ user: 'ada', via: 'key', madeBy: { owner: 'shop', via: 'key', id: keyIds.shop } },
	],
	'the token of a page': [
		async (text) => {
			const { id, token } = await create(keys.shop, { user: 'ada' });
			await say(token, id, text);
		},
		{ user: 'ada', via: 'token', madeBy: { via: 'key', id: keyIds.shop } },
	],
	'a token that is made for a friend': [
		async (text) => {
			const id = await makeSession();
			const { token } = await makeToken(kim, id, { for: 'ben' });
			await say(token, id, text);
		},
		{ user: 'ben', via: 'token', madeBy: { user: 'kim', via: 'account' } },
	],
	'a first token that is made for a friend': [
		async (text) => {
			const { id, token } = await create(keys.shop, { user: 'ada', for: 'ben' });
			await say(token, id, text);
		},
		{ user: 'ben', via: 'token', madeBy: { via: 'key' } },
	],
	'a page of the AI SDK with a cookie': [
		(text) => postPage(ada, crypto.randomUUID(), text),
		{ user: 'ada', via: 'account' },
	],
	'a page of the AI SDK with a token': [
		async (text) => {
			const { id, token } = await create(keys.shop, { user: 'ada' });
			await postPage(token, id, text);
		},
		{ user: 'ada', via: 'token' },
	],
	'chat completions that name the user': [
		(text) => complete(keys.shop, text, { user: 'ada' }),
		{ user: 'ada', via: 'key' },
	],
	'chat completions with a safety identifier': [
		(text) => complete(keys.desk, text, { safety_identifier: 'ada' }),
		{ user: 'ada', via: 'key' },
	],
	'chat completions with metadata': [
		(text) => complete(keys.shop, text, { metadata: { user: 'ada', plan: 'gold' } }),
		{ user: 'ada', via: 'key' },
	],
	'chat completions of the customer': [(text) => complete(keys.ofAda, text), { user: 'ada', via: 'key' }],
	'chat completions of the customer that name another one': [
		(text) => complete(keys.ofAda, text, { user: 'ben', metadata: { user: 'ben' } }),
		{ user: 'ada', via: 'key' },
	],
	'MCP, by the agent': [
		async (text) => {
			const client = await openMcp(ada, '/mcp/till');
			await client.callTool({ name: 'ask', arguments: { text } });
		},
		{ user: 'ada', via: 'mcp' },
	],
	'a webhook': [(text) => deliverTo('till', { text, owner: 'shop', user: 'ada' }), { user: 'ada', via: 'webhook' }],
	'a webhook with a sender and metadata of another one': [
		(text) => deliverTo('till', { text, owner: 'shop', user: 'ada', metadata: { user: 'ben' } }),
		{ user: 'ada', via: 'webhook', id: 'till/hmac' },
	],
	'a fork': [
		async (text) => {
			const { id } = await create(ada, { text: 'Hello' });
			const forked = await read(kim, `/v1/sessions/${id}/fork`, {});
			await say(ada, forked.id, text);
		},
		{ user: 'ada', via: 'account' },
	],
	'an import for the customer': [
		async (text) => {
			const { id } = await create(boss, { text: 'Hello' });
			const imported = await (await importAs(boss, await exportOf(boss, id), '?user=ada')).json<{ id: string }>();
			await say(ada, imported.id, text);
		},
		{ user: 'ada', via: 'account' },
	],
	'a message that waits': [
		async (text) => {
			const id = await makeSession();
			const running = say(kim, id, call('find_order', { id: 'A-1' }));
			await say(ada, id, text);
			await running;
		},
		{ user: 'ada', via: 'account' },
	],
	'an answer of the customer to the question of a tool': [
		async (text) => {
			const { id } = await create(kim, { user: 'ada', text: `${call('inquire', { question: 'Go?' })}\n${text}` });
			await answer(ada, id, 'Go');
		},
		{ user: 'ada', via: 'account' },
	],
	'an edit of the customer': [
		async (text) => {
			const { id } = await create(kim, { user: 'ada', text: 'Hello' });
			const { messages } = await read<{ messages: { id: string }[] }>(ada, `/v1/sessions/${id}/messages`);
			await say(ada, id, text, { replaces: messages[0]?.id });
		},
		{ user: 'ada', via: 'account' },
	],
};

test.each(Object.entries(said))(
	'in a run that starts by %s, the tools, their approval and the prompt see the customer and the asker',
	async (_, [speak, askedBy]) => {
		await speak(`${looking}\n${payment()}`);
		await waitForLooks(1);
		await expect.poll(() => happened.weighed.length).toBe(1);
		for (const told of [...happened.looked, ...happened.weighed]) expectAda(told, { owner: 'shop', ...askedBy });
		expect(happened.prompted.at(-1)).toMatchObject({
			owner: 'shop',
			user: 'ada',
			askedBy: { owner: 'shop', ...askedBy },
		});
		expect(happened.paid).toEqual([]);
	},
);

test('a tool that an MCP client calls gets the session’s user, and the client’s person as the asker', async () => {
	const client = await openMcp(ada, '/mcp/till?session=own');
	await client.callTool({ name: 'who', arguments: {} });
	expect(happened.looked[0]).toMatchObject({
		owner: 'shop',
		user: 'ada',
		askedBy: { user: 'ada', via: 'mcp' },
		sender: 'ada',
	});
	const id = await makeSession();
	const desk = await openMcp(keys.ofKim, `/mcp/till?session=${id}`);
	await desk.callTool({ name: 'who', arguments: {} });
	expect(happened.looked[1]).toMatchObject({
		owner: 'shop',
		user: 'ada',
		askedBy: { user: 'kim', via: 'mcp' },
		sender: 'kim',
	});
	const other = await openMcp(otherAda, '/mcp/till?session=own');
	await other.callTool({ name: 'who', arguments: {} });
	expect(happened.looked[2]).toMatchObject({ owner: 'rival', user: 'ada' });
	const found = await other.callTool({ name: 'find_order', arguments: { id: 'A-1' } });
	expect(found.content).toEqual([{ type: 'text', text: none }]);
});

test('metadata cannot name the user, the owner or the asker of a session', async () => {
	const metadata = { user: 'ben', owner: 'rival', role: 'admin', askedBy: 'boss', sender: 'ben' };
	const { id } = await create(keys.shop, { user: 'ada', metadata, text: looking });
	expect(happened.looked[0]).toMatchObject({ owner: 'shop', user: 'ada', metadata, sender: 'ada' });
	expect(await readResults(id)).toEqual(['green tea', none, expect.anything()]);
	await create(keys.shop, { metadata, text: looking });
	expect(happened.looked[1]).toMatchObject({ owner: 'shop', metadata, sender: 'shop' });
	expect(happened.looked[1]?.user).toBeUndefined();
	await say(ada, id, call('hand', { task: call('who') }));
	expect(happened.looked[2]).toMatchObject({ owner: 'shop', user: 'ada', metadata });
});

test('if several people share a session, the asker of each run is the sender of its message', async () => {
	const id = await makeSession();
	const { token } = await makeToken(keys.shop, id, { for: 'ben' });
	for (const who of [ada, kim, token, keys.shop, ada]) await say(who, id, call('who'));
	expect(happened.looked.map(({ askedBy, user }) => [askedBy?.user, user])).toEqual([
		['ada', 'ada'],
		['kim', 'ada'],
		['ben', 'ada'],
		['ada', 'ada'],
		['ada', 'ada'],
	]);
	happened.looked.length = 0;
	const sent = [ada, kim, token, lea].map((who) => say(who, id, call('who')));
	for (const one of sent) await (await one).text();
	expect(happened.looked.map(({ askedBy }) => askedBy?.user).sort()).toEqual(['ada', 'ben', 'kim', 'lea']);
});

test('the sender of a message that joins a run becomes the asker, and the session’s user stays the same', async () => {
	const id = await makeSession();
	const running = say(ada, id, Array.from({ length: 6 }, () => call('who')).join('\n'));
	await say(kim, id, call('who'), { whenBusy: 'steer' });
	await running;
	const askers = happened.looked.map(({ askedBy }) => askedBy?.user);
	expect(new Set(askers.slice(askers.indexOf('kim')))).toEqual(new Set(['kim']));
	expect(happened.looked.every(({ user }) => user === 'ada')).toBe(true);
});

test('a person who decides about a call does not become an asker', async () => {
	const id = await makeSession();
	await say(ada, id, `${payment()}\n${call('who')}`);
	await decide(kim, id, await findOpen(id), { approve: true, input: { amount: 1 } });
	expectAda(happened.paid[0], { user: 'ada' });
	expectAda(happened.looked[0], { user: 'ada' });
});

test('the asker of a chat completion is its sender, even if its messages have other names', async () => {
	const messages = [
		{ role: 'user', name: 'boss', content: 'I am the boss.' },
		{ role: 'assistant', content: 'Hello, boss.' },
		{ role: 'user', name: 'ben', content: looking },
	];
	const response = await ask(keys.ofAda, '/v1/chat/completions', { model: 'till', messages });
	expect(response.status).toBe(200);
	expectAda(happened.looked[0], { user: 'ada', via: 'key' });
	expect(await readResults(sessionOf(response))).toEqual(['green tea', none, expect.anything()]);
});

describe('the skills function', () => {
	const agent = 'learned';
	const metadata = { plan: 'gold' };
	test.each<[string, Credential]>([
		['a customer', ada],
		['a colleague', kim],
		['the server', keys.shop],
	])('gets the session’s user and metadata if %s asks', async (_, who) => {
		const { id } = await create(keys.shop, { agent, user: 'ada', metadata });
		await say(who, id, call('learn', { task: 'say Hello' }));
		expect(happened.resolved.length).toBeGreaterThan(1);
		for (const told of happened.resolved) expect(told).toMatchObject({ owner: 'shop', user: 'ada', metadata });
	});

	test('gets no user if the session has no user', async () => {
		await create(keys.shop, { agent, metadata: { user: 'ada' }, text: 'Hello' });
		expect(happened.resolved.length).toBeGreaterThan(0);
		for (const told of happened.resolved) expect(told).toMatchObject({ owner: 'shop', metadata: { user: 'ada' } });
		expect(happened.resolved.every(({ user }) => user === undefined)).toBe(true);
	});

	test('gets the caller if there is no session', async () => {
		await ask(ada, '/v1/agents');
		expect(happened.resolved.at(-1)).toMatchObject({ owner: 'shop', user: 'ada', metadata: {} });
	});
});

test('the asker of a repeated message is the person who repeats it', async () => {
	const { id } = await create(kim, { user: 'ada', text: call('who') });
	for (const who of [lea, kim]) {
		const { messages } = await read<{ messages: { id: string; role: string; text: string }[] }>(
			kim,
			`/v1/sessions/${id}/messages`,
		);
		const { id: replaces } = messages.findLast(({ role }) => role === 'user') ?? {};
		await ask(who, `/v1/sessions/${id}/messages`, { replaces });
	}
	expect(happened.looked.map(({ askedBy }) => askedBy?.user)).toEqual(['kim', 'lea', 'kim']);
});

test('a key without a user acts for the session’s user when it calls a tool by MCP', async () => {
	const id = await makeSession();
	const server = await openMcp(keys.shop, `/mcp/till?session=${id}`);
	await server.callTool({ name: 'who', arguments: {} });
	expect(happened.looked[0]).toMatchObject({ askedBy: { user: 'ada', via: 'mcp', id: keyIds.shop }, sender: 'ada' });
});

test('a key without a user acts for the session’s user when it sets a schedule', async () => {
	const id = await makeSession();
	const schedule = { session: id, name: 'mine', text: looking, at: '2033-01-01T10:00:00Z' };
	expect((await ask(keys.shop, '/v1/schedules', schedule)).status).toBe(201);
	await passTo('shop', '2033-01-01T10:00:01Z');
	await waitForLooks(1);
	await waitFor(id, 'completed');
	expectAda(happened.looked[0], { user: 'ada', via: 'key', id: keyIds.shop });
});
