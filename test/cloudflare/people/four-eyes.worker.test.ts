/** Nobody approves a call that they asked for, by any way of deciding (docs/people.md). */
import { beforeEach, describe, expect, test } from 'vitest';
import { restart } from '../../client.ts';
import { happened } from './agents.ts';
import {
	ada,
	answer,
	approve,
	ask,
	begin,
	boss,
	type Credential,
	call,
	clickNew,
	complete,
	create,
	decide,
	decideOnPage,
	deliverTo,
	findChild,
	findOpen,
	keys,
	kim,
	lea,
	look,
	makeToken,
	openMcp,
	otherBoss,
	passTo,
	payment,
	postPage,
	read,
	readMessages,
	say,
	sessionOf,
	waitFor,
} from './stage.ts';

beforeEach(begin);

/** A session of ada, which the shop’s server created. */
const makeSession = async (agent = 'till'): Promise<string> => (await create(keys.shop, { agent, user: 'ada' })).id;

const works: Readonly<Record<string, string>> = {
	'a call of the session': payment(),
	'a call of a child': call('hand', { task: payment() }),
	'a call of a grandchild': call('mid', { task: call('hand', { task: payment() }) }),
};

/** The ways in which kim, of the staff, asks for a call. Each returns the session. */
const asking: Readonly<Record<string, (text: string) => Promise<string>>> = {
	'with a cookie': async (text) => {
		const id = await makeSession();
		await say(kim, id, text);
		return id;
	},
	'with the first message of a session of the customer': async (text) => (await create(kim, { user: 'ada', text })).id,
	'with a key of their own': async (text) => {
		const id = await makeSession();
		await say(keys.ofKim, id, text);
		return id;
	},
	'with a token that the server made for them': async (text) => {
		const id = await makeSession();
		const { token } = await makeToken(keys.shop, id, { for: 'kim' });
		await say(token, id, text);
		return id;
	},
	'with a token that they made for a colleague': async (text) => {
		const id = await makeSession();
		const { token } = await makeToken(kim, id, { for: 'max' });
		await say(token, id, text);
		return id;
	},
	'with a token of the customer that they made': async (text) => {
		const id = await makeSession();
		const { token } = await makeToken(kim, id);
		await say(token, id, text);
		return id;
	},
	'on a page of the AI SDK': async (text) => {
		const id = await makeSession();
		await postPage(kim, id, text);
		return id;
	},
	'by chat completions': async (text) => sessionOf(await complete(keys.ofKim, text)),
	'by chat completions, at the end of a whole conversation': async (text) => {
		const messages = [
			{ role: 'user', content: 'Hi' },
			{ role: 'assistant', content: 'Hello.' },
			{ role: 'user', content: text },
		];
		return sessionOf(await ask(keys.ofKim, '/v1/chat/completions', { model: 'till', messages }));
	},
	'by MCP': async (text) => {
		const id = await makeSession();
		const client = await openMcp(keys.ofKim, `/mcp/till?session=${id}`);
		await client.callTool({ name: 'ask', arguments: { text } });
		return id;
	},
	'by a schedule that they have set': async (text) => {
		const id = await makeSession();
		const schedule = { session: id, name: 'lea', text, at: '2030-01-01T10:00:00Z' };
		expect((await ask(kim, '/v1/schedules', schedule)).status).toBe(201);
		await passTo('shop', '2030-01-01T10:00:01Z');
		return id;
	},
	'by a wake-up that their message has set': async (text) => {
		const id = await makeSession();
		await say(kim, id, call('schedule_wakeup', { name: 'lea', text, at: '2031-01-01T10:00:00Z' }));
		await passTo('shop', '2031-01-01T10:00:01Z');
		return id;
	},
	'by a webhook whose mapping names them': (text) => deliverTo('till', { text, owner: 'shop', user: 'kim' }),
	'in the place of a message of the customer': async (text) => {
		const { id } = await create(ada, { text: 'Hello' });
		const [first] = (await readMessages(id)) as unknown as readonly { readonly id: string }[];
		await say(kim, id, text, { replaces: first?.id });
		return id;
	},
	'by the answer to a question of a tool': async (text) => {
		const { id } = await create(ada, { text: `${call('inquire', { question: 'What?' })}\n${text}` });
		await answer(kim, id, 'All that I say.');
		return id;
	},
	'by a message that joins the run of the customer': async (text) => {
		const id = await makeSession();
		const running = say(ada, id, `${call('who')}\n${call('who')}\n${text}`);
		await say(kim, id, text, { whenBusy: 'steer' });
		await running;
		return id;
	},
	'by a message that waited for the run of the customer to end': async (text) => {
		const id = await makeSession();
		const running = say(ada, id, call('who'));
		await say(kim, id, text);
		await running;
		return id;
	},
	'by what a child in the background brings back': async (text) => {
		const id = await makeSession();
		await say(kim, id, call('errand', { task: `say ${text.replaceAll('\n', '\\n')}` }));
		return id;
	},
	'in a fork of a session of the customer': async (text) => {
		const { id } = await create(ada, { text: 'Hello' });
		const forked = await read(kim, `/v1/sessions/${id}/fork`, {});
		await say(kim, forked.id, text);
		return forked.id;
	},
};

/** The ways in which kim tries to approve the call. Each returns the status of the answer. */
const deciding: Readonly<Record<string, (id: string, callId: string) => Promise<Response>>> = {
	'a cookie': (id, callId) => decide(kim, id, callId),
	'a cookie, with other arguments': (id, callId) =>
		decide(kim, id, callId, { approve: true, input: { amount: 5_000 } }),
	'a key of their own': (id, callId) => decide(keys.ofKim, id, callId),
	'a key of their own, with other arguments': (id, callId) =>
		decide(keys.ofKim, id, callId, { approve: true, input: { amount: 5_000 } }),
	'a token that the server made for them': async (id, callId) => {
		const { token } = await makeToken(keys.shop2, id, { for: 'kim', scopes: ['approve'] });
		return decide(token, id, callId);
	},
	'a token that they made for the boss': async (id, callId) => {
		const { token } = await makeToken(kim, id, { for: 'boss', scopes: ['read', 'approve'] });
		return decide(token, id, callId, { approve: true, input: { amount: 5_000 } });
	},
	'a token of the customer that they made': async (id, callId) => {
		const { token } = await makeToken(kim, id, { scopes: ['approve'] });
		return decide(token, id, callId);
	},
	'a link that the server made for them': async (id) => clickNew(keys.shop2, id, { for: 'kim' }),
	'a link that they made for the boss': async (id) => clickNew(kim, id, { for: 'boss' }),
	'a link that they made for nobody': async (id) => clickNew(keys.ofKim, id),
};

const isOwnCall = (text: string) => text === payment();

describe.each(Object.entries(works))('%s', (_, text) => {
	test.each(Object.entries(asking))(
		'cannot be approved by the colleague who asks for it %s, but another person can approve it',
		async (_, askFor) => {
			const id = await askFor(text);
			await waitFor(id, isOwnCall(text) ? 'awaiting_tools' : 'awaiting_user');
			await restart(id);
			const callId = await findOpen(id);
			for (const [how, tryOut] of Object.entries(deciding))
				expect([how, (await tryOut(id, callId)).status]).toEqual([how, 403]);
			if (isOwnCall(text)) expect((await decideOnPage(kim, id, callId)).status).toBe(403);
			else {
				expect((await say(kim, id, 'approve')).status).toBe(403);
				expect((await answer(keys.ofKim, id, 'approve {"amount":5000}')).status).toBe(403);
			}
			expect(happened.paid).toEqual([]);
			expect(happened.asked.length).toBeGreaterThanOrEqual(Object.keys(deciding).length);
			expect((await decide(lea, id, callId)).status).toBe(200);
			expect(happened.paid.map(({ amount }) => amount)).toEqual([80]);
			expect((await decide(lea, id, callId)).status).toBe(409);
			expect(happened.paid).toHaveLength(1);
		},
	);
});

describe('a call of a background child', () => {
	test.each(Object.entries(asking).filter(([how]) => !how.includes('background')))(
		'cannot be approved by the colleague who asks for it %s, but another person can approve it',
		async (_, askFor) => {
			const parent = await askFor(call('errand', { task: payment() }));
			await expect.poll(() => findChild(parent)).not.toBe('');
			const id = await findChild(parent);
			await waitFor(id, 'awaiting_tools');
			await restart(id);
			const callId = await findOpen(id);
			for (const credential of [kim, keys.ofKim])
				for (const more of [{ approve: true }, { approve: true, input: { amount: 5_000 } }])
					expect((await decide(credential, id, callId, more)).status).toBe(403);
			expect(happened.paid).toEqual([]);
			expect((await decide(lea, id, callId)).status).toBe(200);
			expect(happened.paid).toMatchObject([{ amount: 80, owner: 'shop' }]);
		},
	);
});

const others: Readonly<Record<string, Credential>> = {
	'a colleague with a cookie': lea,
	'the boss with a cookie': boss,
	'the boss with a key': keys.ofBoss,
};

test.each(Object.entries(others))(
	'%s approves a call that a customer made with a token, and changes the amount',
	async (_, who) => {
		const id = await makeSession();
		const { token } = await makeToken(keys.shop, id);
		await say(token, id, payment());
		expect((await approve(who, id, { approve: true, input: { amount: 5_000 } })).status).toBe(200);
		expect(happened.paid).toMatchObject([{ amount: 5_000, user: 'ada' }]);
		expect(happened.asked.at(-1)).toMatchObject({ input: { amount: 5_000 }, owner: 'shop', user: 'ada' });
	},
);

/** Identities of the customer and of strangers to the shop, each with the status of its refusal. */
const refused: Readonly<Record<string, readonly [Credential, number]>> = {
	'the server that made the token': [keys.shop, 403],
	'another key of the server': [keys.shop2, 403],
	'a key of the desk that names nobody': [keys.desk, 403],
	'the customer with a cookie': [ada, 403],
	'the customer with a key': [keys.ofAda, 403],
	'another customer': [{ owner: 'shop', user: 'ben' }, 404],
	'the boss of another shop': [otherBoss, 404],
	'a key of another shop': [keys.rival, 404],
	'an operator who may read everything': [keys.root, 403],
};

test.each(Object.entries(refused))(
	'%s cannot approve a call that a customer made with a token of the server',
	async (_, [who, status]) => {
		const id = await makeSession();
		const { token } = await makeToken(keys.shop, id);
		await say(token, id, payment());
		const callId = await findOpen(id);
		for (const more of [{ approve: true }, { approve: true, input: { amount: 5_000 } }])
			expect((await decide(who, id, callId, more)).status).toBe(status);
		expect((await decide(token, id, callId)).status).toBe(403);
		expect(await look(keys.root, id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: callId }] });
		expect(happened.paid).toEqual([]);
	},
);

test('the policy gets the asker of the call, whichever way a person decides', async () => {
	const id = await makeSession();
	await say(keys.ofKim, id, payment());
	const callId = await findOpen(id);
	for (const tryOut of Object.values(deciding)) await tryOut(id, callId);
	const asker = { owner: 'shop', user: 'kim', via: 'key', id: expect.any(String) };
	expect(happened.asked.map(({ by }) => by)).toEqual(Object.keys(deciding).map(() => asker));
	expect(happened.asked.every(({ askers }) => askers.length === 1)).toBe(true);
});

test('the asker of an earlier run is not an asker of the present run', async () => {
	const id = await makeSession();
	await say(kim, id, 'Hello');
	await say(ada, id, payment());
	expect((await approve(kim, id)).status).toBe(200);
	expect(happened.paid).toMatchObject([{ amount: 80 }]);
});

test('an asker is allowed to deny their own call in every way', async () => {
	for (const deny of [
		(id: string, callId: string) => decide(kim, id, callId, { approve: false, reason: 'A mistake.' }),
		(id: string, callId: string) => decide(keys.ofKim, id, callId, { approve: false }),
		(id: string, callId: string) => decideOnPage(kim, id, callId, false),
	]) {
		const id = await makeSession();
		await say(kim, id, payment());
		expect((await deny(id, await findOpen(id))).status).toBe(200);
		await waitFor(id, 'completed');
	}
	expect(happened.paid).toEqual([]);
});

test.each<[string, string]>([
	['a child in the background', call('errand', { task: payment() })],
	['a child of a child in the background', call('mid_errand', { task: call('hand', { task: payment() }) })],
])('a call of %s cannot be approved by its asker, but another person can approve it by a link', async (_, text) => {
	const { id: parent } = await create(kim, { user: 'ada', text });
	const id = await findChild(parent);
	await expect.poll(async () => (await look(keys.root, id)).status).toMatch(/^awaiting/);
	await restart(id);
	const callId = await findOpen(id);
	for (const [how, tryOut] of Object.entries(deciding))
		expect([how, (await tryOut(id, callId)).status]).toEqual([how, 403]);
	for (const who of [kim, keys.ofKim]) for (const path of [parent, id]) await (await say(who, path, 'approve')).text();
	expect(happened.paid).toEqual([]);
	expect((await clickNew(lea, id)).status).toBe(200);
	await expect.poll(() => happened.paid.length).toBe(1);
	expect(happened.paid).toMatchObject([{ amount: 80, user: 'ada', askedBy: { user: 'kim' } }]);
});

test.each(Object.entries(works))(
	'%s runs at most once for its customer after an approval, even if its session restarts meanwhile',
	async (_, text) => {
		for (let times = 1; times <= 3; times++) {
			const { id } = await create(ada, { text });
			const callId = await findOpen(id);
			const decided = decide(lea, id, callId).catch(() => undefined);
			for (let n = 0; n < times; n++) await restart(id);
			await decided;
			// The client repeats a request that got no answer.
			if ((await look(keys.root, id)).status.startsWith('awaiting')) {
				for (const who of [ada, keys.ofAda]) expect((await decide(who, id, callId)).status).toBe(403);
				await decide(lea, id, callId);
			}
			await expect.poll(async () => (await look(keys.root, id)).status).toMatch(/^(completed|error)$/);
			expect(happened.paid.length).toBeLessThanOrEqual(1);
			for (const told of happened.paid) expect(told).toMatchObject({ user: 'ada', askedBy: { user: 'ada' } });
			happened.paid.length = 0;
		}
		expect(happened.asked.every(({ by }) => by.user === 'lea')).toBe(true);
	},
);
