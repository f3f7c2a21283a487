/** Staff see and decide the waiting calls of all sessions of their owner only (docs/people.md, "The inbox"). */
import { beforeEach, describe, expect, test } from 'vitest';
import { happened } from './agents.ts';
import {
	ada,
	approve,
	ask,
	begin,
	ben,
	boss,
	type Credential,
	call,
	create,
	decide,
	deliverTo,
	findChild,
	keys,
	kim,
	lea,
	look,
	otherAda,
	otherBoss,
	payment,
	putMemory,
	read,
	say,
	waitFor,
} from './stage.ts';

beforeEach(begin);

interface Entry {
	readonly sessionId: string;
	readonly user?: string;
	readonly owner?: string;
	readonly callId: string;
	readonly kind: string;
	readonly options?: { readonly call?: { readonly id: string } };
}

async function listInbox(who: Credential, query = ''): Promise<readonly Entry[]> {
	const found: Entry[] = [];
	let cursor: string | undefined = '';
	while (cursor !== undefined) {
		const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
		const page: { approvals: Entry[]; cursor?: string } = await read(who, `/v1/approvals?limit=100${query}${more}`);
		found.push(...page.approvals);
		cursor = page.cursor;
	}
	return found;
}
/** Returns the waiting call of a session if the list has it. */
async function findEntry(who: Credential, id: string, query = ''): Promise<Entry | undefined> {
	return (await listInbox(who, query)).find(({ sessionId }) => sessionId === id);
}
const waitForEntry = (id: string) => expect.poll(() => findEntry(kim, id)).toBeDefined();

/** Waiting calls in a customer’s session, by the way it was created. */
const waiting: Readonly<Record<string, readonly [() => Promise<string>, string]>> = {
	'a call of a customer with a cookie': [async () => (await create(ada, { text: payment() })).id, 'approval'],
	'a call of a customer with a key': [async () => (await create(keys.ofAda, { text: payment() })).id, 'approval'],
	'a call of a customer with a token': [
		async () => {
			const { id, token } = await create(keys.shop, { user: 'ada' });
			await say(token, id, payment());
			return id;
		},
		'approval',
	],
	'a call of a child': [async () => (await create(ada, { text: call('hand', { task: payment() }) })).id, 'question'],
	'a call of a grandchild': [
		async () => (await create(ada, { text: call('mid', { task: call('hand', { task: payment() }) }) })).id,
		'question',
	],
	'a call of a child in the background': [
		async () => {
			const { id } = await create(ada, { text: call('errand', { task: payment() }) });
			const child = await findChild(id);
			await waitFor(child, 'awaiting_tools');
			return child;
		},
		'approval',
	],
	'a call of a webhook': [() => deliverTo('till', { text: payment(), owner: 'shop', user: 'ada' }), 'approval'],
	'a question of a tool': [
		async () => (await create(ada, { text: call('inquire', { question: 'Which?' }) })).id,
		'question',
	],
	'a manual call': [async () => (await create(ada, { text: call('hand_work') })).id, 'result'],
};

describe.each(Object.entries(waiting))('%s', (_, [make, kind]) => {
	test.each<[string, Credential]>([
		['a colleague with a cookie', kim],
		['a colleague with a key', keys.ofKim],
		['the desk, whose key names nobody', keys.desk],
		['the boss', boss],
		['the server', keys.shop],
	])('is listed with its customer in the inbox for %s', async (_, who) => {
		const id = await make();
		await waitForEntry(id);
		expect(await findEntry(who, id)).toMatchObject({ sessionId: id, user: 'ada', kind });
		expect(await findEntry(who, id, '&user=ada')).toMatchObject({ user: 'ada' });
		expect(await findEntry(who, id, `&kind=${kind}&owner=shop`)).toMatchObject({ owner: 'shop', user: 'ada' });
		expect(await findEntry(who, id, '&user=ben')).toBeUndefined();
	});

	test('is not listed in the inbox for other shops and customers', async () => {
		const id = await make();
		await waitForEntry(id);
		for (const who of [otherBoss, keys.rival]) expect(await findEntry(who, id)).toBeUndefined();
		for (const who of [otherBoss, keys.rival, kim])
			for (const owner of ['*', 'root', who === kim ? 'rival' : 'shop'])
				expect((await ask(who, `/v1/approvals?owner=${owner}`)).status).toBe(403);
		for (const who of [ada, ben, keys.ofAda, otherAda, { owner: 'shop' }])
			for (const query of ['', '?user=ada', '?owner=shop', '?kind=approval'])
				expect((await ask(who, `/v1/approvals${query}`)).status).toBe(403);
	});

	test('can be listed by an operator for one owner or all owners, but the operator cannot decide', async () => {
		const id = await make();
		await waitForEntry(id);
		expect(await findEntry(keys.root, id)).toBeUndefined();
		expect(await findEntry(keys.root, id, '&owner=shop&user=ada')).toMatchObject({ owner: 'shop', user: 'ada' });
		const entry = await findEntry(keys.root, id, '&owner=*');
		expect(entry).toMatchObject({ owner: 'shop', user: 'ada' });
		expect((await decide(keys.root, id, entry?.options?.call?.id ?? entry?.callId ?? '')).status).toBe(403);
		expect((await say(keys.root, id, 'approve')).status).toBe(403);
		expect(happened.paid).toEqual([]);
	});

	test('can be decided with the data of the inbox, and then leaves the inbox', async () => {
		const id = await make();
		await waitForEntry(id);
		const entry = await findEntry(kim, id);
		const callId = entry?.options?.call?.id ?? entry?.callId ?? '';
		const result = [{ id: callId, output: 'Done.' }];
		if (entry?.kind === 'question' && entry.options?.call === undefined) await say(kim, id, 'This.');
		else if (kind === 'result') expect((await ask(kim, `/v1/sessions/${id}/tool-results`, result)).status).toBe(200);
		else expect((await decide(kim, id, callId)).status).toBe(200);
		await expect.poll(() => findEntry(kim, id)).toBeUndefined();
		if (entry?.options?.call !== undefined || kind === 'approval') {
			await expect.poll(() => happened.paid.length).toBe(1);
			expect(happened.paid).toMatchObject([{ owner: 'shop', user: 'ada', amount: 80 }]);
		}
	});
});

test('two shops whose customers have the same name have separate inboxes', async () => {
	const [here, there] = [await create(ada, { text: payment() }), await create(otherAda, { text: payment() })];
	await waitForEntry(here.id);
	const list = async () => (await listInbox(otherBoss, '&user=ada')).map(({ sessionId }) => sessionId);
	await expect.poll(list).toContain(there.id);
	expect(await list()).not.toContain(here.id);
	expect((await approve(otherBoss, here.id)).status).toBe(404);
	expect((await approve(kim, there.id)).status).toBe(404);
	expect((await approve(otherBoss, there.id)).status).toBe(200);
	expect(happened.paid).toMatchObject([{ owner: 'rival', user: 'ada' }]);
});

/** Names that resemble other syntax. */
const odd = [
	'null',
	'undefined',
	'*',
	'%',
	"ada' OR '1'='1",
	'ada"',
	'{"user":"ada"}',
	'["shop","ada"]',
	'ada b',
	'a/b',
	'😀',
	'é',
];

test.each(odd)('inbox and session list find a customer called %j only by exactly that name', async (user) => {
	const { id } = await create(keys.shop, { user, text: payment() });
	const other = await create(ada, { text: payment() });
	await waitForEntry(id);
	await waitForEntry(other.id);
	const query = new URLSearchParams({ user });
	const inbox = await listInbox(kim, `&${query}`);
	expect(inbox.map((one) => one.user)).toEqual([user]);
	const { sessions } = await read<{ sessions: { id: string; user: string }[] }>(kim, `/v1/sessions?${query}`);
	expect(sessions).toMatchObject([{ id, user }]);
	expect(await findEntry(kim, other.id, `&${query}`)).toBeUndefined();
	const own = await read<{ sessions: { id: string }[] }>({ owner: 'shop', user }, '/v1/sessions?limit=100');
	expect(own.sessions.map((one) => one.id)).toEqual([id]);
	expect((await approve({ owner: 'shop', user, role: 'staff' }, id)).status).toBe(403);
	expect((await approve(kim, id)).status).toBe(200);
	expect(happened.paid).toMatchObject([{ owner: 'shop', user }]);
});

test('staff see the data of their own owner’s users, and an operator can name any owner', async () => {
	const { id } = await create(ada, { text: 'Hello' });
	await putMemory(boss, 'ada', 'tea.md', 'Likes tea.');
	for (const who of [kim, lea, keys.desk, keys.ofKim]) {
		const { sessions } = await read<{ sessions: { id: string }[] }>(who, '/v1/sessions?user=ada&limit=100');
		expect(sessions.map((one) => one.id)).toContain(id);
		const { usage } = await read<{ usage: object[] }>(who, '/v1/usage?user=ada');
		expect(usage).toMatchObject([{ owner: 'shop', user: 'ada' }]);
		expect(JSON.stringify(await read(who, '/v1/memories?user=ada'))).toContain('Likes tea.');
		expect(await look(who, id)).toMatchObject({ user: 'ada' });
	}
	expect(JSON.stringify(await read(keys.rival, '/v1/memories?user=ada'))).not.toContain('tea');
	const { usage } = await read<{ usage: { owner: string }[] }>(keys.rival, '/v1/usage?user=ada');
	expect(usage.every(({ owner }) => owner === 'rival')).toBe(true);
	expect(JSON.stringify(await read(keys.root, '/v1/memories?user=ada&owner=shop'))).toContain('Likes tea.');
	expect(JSON.stringify(await read(keys.root, '/v1/memories?user=ada'))).not.toContain('tea');
	expect(JSON.stringify(await read(keys.root, '/v1/sessions?owner=shop&user=ada&limit=100'))).toContain(id);
});
