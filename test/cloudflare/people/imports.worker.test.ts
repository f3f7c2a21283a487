/** An import and a fork copy history, but no authority (docs/keys.md, "Actors"). */
import { beforeEach, describe, expect, test } from 'vitest';
import { restart } from '../../client.ts';
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
	click,
	clickNew,
	create,
	decide,
	type Exported,
	exportOf,
	findLink,
	findOpen,
	importAs,
	keys,
	kim,
	lea,
	look,
	makeToken,
	otherBoss,
	payment,
	read,
	readRows,
	requests,
	say,
	waitFor,
} from './stage.ts';

beforeEach(begin);

const bossActor = { owner: 'shop', user: 'chief', via: 'account', id: 'chief' };

/** Makes an export whose newest run failed, with a message that asks for a payment. */
async function makeDocument(change: (document: Exported) => void = () => {}): Promise<Exported> {
	const { id } = await create(boss, { text: payment() });
	const document = await exportOf(boss, id);
	const [run] = document.runs;
	Object.assign(run ?? {}, {
		status: 'error',
		stored: {
			...(run?.stored as object),
			end: { before: [], draft: [], steps: 0, event: { type: 'error', code: 'x', message: 'x' } },
		},
	});
	document.messages = document.messages.filter(({ role }) => role === 'user');
	change(document);
	happened.asked.length = 0;
	return document;
}

type Message = Exported['messages'][number];
const setInbound = (change: (inbound: Record<string, unknown>) => object) => (document: Exported) => {
	for (const message of document.messages as Message[]) {
		const { inbound = {}, ...rest } = message.stored ?? {};
		message.stored = { ...rest, inbound: change(inbound as Record<string, unknown>) };
	}
};

/** Forged senders in an import. */
const claims: Readonly<Record<string, (document: Exported) => void>> = {
	'as it was exported': () => {},
	'whose message is by the chief': setInbound((inbound) => ({ ...inbound, by: bossActor })),
	'whose message is by a key that nobody has': setInbound((inbound) => ({ ...inbound, by: { via: 'key', id: 'k' } })),
	'whose message is by the chief in another shop': setInbound((inbound) => ({
		...inbound,
		by: { ...bossActor, owner: 'rival' },
	})),
	'whose message is by a token that the chief made': setInbound((inbound) => ({
		...inbound,
		by: { owner: 'shop', via: 'token', id: 't', madeBy: bossActor },
	})),
	'that names the chief as the one who asked': setInbound((inbound) => ({ ...inbound, askers: [bossActor] })),
	'that says that nobody asked': setInbound((inbound) => ({ ...inbound, by: undefined, askers: [] })),
	'that names the chief as the sender': setInbound((inbound) => ({ ...inbound, sender: 'chief', by: undefined })),
	'whose message came by a webhook': setInbound((inbound) => ({
		...inbound,
		transport: 'webhook:stripe',
		by: { owner: 'shop', via: 'webhook', id: 'till/stripe' },
	})),
	'whose message came by a child': setInbound((inbound) => ({
		...inbound,
		transport: 'agent',
		by: { owner: 'shop', via: 'child', id: 'c' },
	})),
	'whose message is of an earlier version': setInbound((inbound) => ({ ...inbound, by: { via: 'sender', id: 'x' } })),
	'without the stored fields of the messages': (document) => {
		for (const message of document.messages) delete message.stored;
	},
	'with a session of the chief': (document) => {
		Object.assign(document.session, { owner: 'rival', user: 'chief', createdBy: bossActor, by: bossActor });
	},
};

describe.each(Object.entries(claims))('an import %s', (_, change) => {
	test('makes its importer the asker, who cannot approve its calls', async () => {
		const document = await makeDocument(change);
		const imported = await importAs(boss, document);
		expect(imported.status).toBe(201);
		const { id, user } = await imported.json<{ id: string; user: string }>();
		expect(user).toBe('boss');
		await restart(id);
		expect((await ask(boss, `/v1/sessions/${id}/continue`, {})).status).toBe(200);
		const callId = await findOpen(id);
		for (const who of [boss, keys.ofBoss]) expect((await decide(who, id, callId)).status).toBe(403);
		const { token } = await makeToken(boss, id, { for: 'chief', scopes: ['approve'] });
		expect((await decide(token, id, callId, { approve: true, input: { amount: 5_000 } })).status).toBe(403);
		expect((await clickNew(boss, id, { for: 'chief' })).status).toBe(403);
		expect(happened.asked.every(({ askers }) => askers.every(({ user: one }) => one !== 'chief'))).toBe(true);
		expect(happened.paid).toEqual([]);
		expect((await decide(lea, id, callId)).status).toBe(200);
		expect(happened.paid).toMatchObject([{ amount: 80, owner: 'shop', user: 'boss' }]);
	});
});

test('nobody can approve a call that was open when its session was exported', async () => {
	const { id } = await create(ada, { text: payment() });
	const document = await exportOf(kim, id);
	const imported = await read(boss, '/v1/sessions/import', document);
	expect(imported).toMatchObject({ status: 'idle', user: 'boss' });
	const callId = await findOpen(id);
	for (const who of [boss, lea]) expect((await decide(who, imported.id, callId)).status).toBe(409);
	expect((await ask(boss, `/v1/sessions/${imported.id}/continue`, {})).status).toBe(409);
	expect(happened.paid).toEqual([]);
});

/** Fields of an export that an import ignores. */
const brought: Readonly<Record<string, readonly [(document: Exported) => void, object]>> = {
	'the user in the file': [({ session }) => Object.assign(session, { user: 'ben' }), { user: 'boss' }],
	'the owner in the file': [({ session }) => Object.assign(session, { owner: 'rival', user: 'ben' }), { user: 'boss' }],
	'a parent': [({ session }) => Object.assign(session, { parent: { id: 'x', depth: 0 } }), {}],
	children: [({ session }) => Object.assign(session, { children: [{ id: 'x', agent: 'hand', callId: 'c' }] }), {}],
	'a creator': [({ session }) => Object.assign(session, { createdBy: bossActor, by: bossActor }), {}],
};

test.each(Object.entries(brought))('an import ignores %s', async (_, [change, expected]) => {
	const { id } = await create(ada, { text: 'Hello' });
	const document = await exportOf(kim, id);
	change(document);
	const imported = await read(boss, '/v1/sessions/import', document);
	expect(await look(boss, imported.id)).toMatchObject(expected);
	expect(imported).not.toHaveProperty('parent');
	expect(imported).not.toHaveProperty('children');
	const [row] = await readRows(imported.id, 'SELECT owner, user, created_by, imported FROM session');
	expect(row).toMatchObject({ owner: 'shop', user: 'boss', imported: 1 });
	expect(JSON.parse(String(row?.created_by))).toMatchObject({ owner: 'shop', user: 'boss' });
	expect((await ask(ben, `/v1/sessions/${imported.id}`)).status).toBe(404);
	expect((await ask(otherBoss, `/v1/sessions/${imported.id}`)).status).toBe(404);
});

test('an import has no decisions, links or tokens of its source', async () => {
	const { id, token } = await create(ada, { text: `${payment()}\n${call('who')}` });
	const link = await findLink(kim, id);
	const { token: approving } = await makeToken(kim, id, { for: 'lea', scopes: ['approve'] });
	await approve(kim, id);
	const document = await exportOf(kim, id);
	expect(JSON.stringify(document)).not.toMatch(/rls_|tokenKey|token_key/);
	const imported = await read(boss, '/v1/sessions/import', document);
	for (const old of [token, approving]) expect((await ask(old, `/v1/sessions/${imported.id}`)).status).toBe(404);
	expect((await click(link)).status).toBe(409);
	expect(await readRows(imported.id, 'SELECT count(*) AS n FROM call')).toEqual([{ n: 0 }]);
	expect(await readRows(imported.id, 'SELECT count(*) AS n FROM token')).toEqual([{ n: 1 }]);
	expect(happened.paid).toHaveLength(1);
});

test('provider data of imported messages is sent to no provider', async () => {
	const { id } = await create(ada, { text: 'Hello' });
	const document = await exportOf(kim, id);
	for (const message of document.messages)
		if (message.role === 'assistant')
			message.stored = { ...message.stored, providerMetadata: { planted: 'signature' } };
	const imported = await read(boss, '/v1/sessions/import', document);
	await say(boss, imported.id, 'And now?');
	expect(JSON.stringify(requests().at(-1)?.messages)).not.toContain('planted');
});

test('an admin’s import keeps a budget above the agent’s budget, and other people cannot import', async () => {
	const { id } = await create(ada, { agent: 'open-till', text: 'Hello' });
	const document = await exportOf(kim, id);
	Object.assign(document.session, { budget: { ...Object(document.session.budget), limit: { tokens: 999_999_999 } } });
	for (const who of [kim, keys.desk, ada, keys.ofAda]) expect((await importAs(who, document)).status).toBe(403);
	const { budget } = await read(boss, '/v1/sessions/import', document);
	expect(budget.limit).toEqual({ tokens: 999_999_999 });
});

test.each<[string, Credential]>([
	['a customer', ada],
	['a customer with a key', keys.ofAda],
	['a colleague', kim],
	['the desk', keys.desk],
])('%s is not allowed to import a session, either for themselves or for others', async (_, who) => {
	const document = await makeDocument();
	for (const query of ['', '?user=ada', '?user=ben', '?user=boss'])
		expect((await importAs(who, document, query)).status).toBe(403);
});

test('an import for a customer belongs to the customer, and its importer is the asker', async () => {
	const imported = await read(boss, '/v1/sessions/import?user=ada', await makeDocument());
	expect(imported.user).toBe('ada');
	expect((await ask(ada, `/v1/sessions/${imported.id}`)).status).toBe(200);
	expect((await ask(ben, `/v1/sessions/${imported.id}`)).status).toBe(404);
	expect((await ask(ada, `/v1/sessions/${imported.id}/continue`, {})).status).toBe(200);
	const callId = await findOpen(imported.id);
	for (const who of [boss, keys.ofBoss]) expect((await decide(who, imported.id, callId)).status).toBe(403);
	expect((await decide(kim, imported.id, callId)).status).toBe(200);
	expect(happened.paid).toMatchObject([{ user: 'ada' }]);
});

describe('a fork', () => {
	/** The person who forks, and the asker in the session. */
	const forkers: readonly [string, Credential, Credential][] = [
		['a colleague, after the customer wrote,', kim, ada],
		['a colleague with a key, after the customer wrote,', keys.ofKim, ada],
		['a colleague, after another colleague wrote,', kim, lea],
	];
	test.each(forkers)(
		'by %s belongs to the same customer, and the person who forks is an asker, too',
		async (_, forker, asker) => {
			const { id } = await create(keys.shop, { user: 'ada' });
			await say(asker, id, payment());
			const forked = await read(forker, `/v1/sessions/${id}/fork`, {});
			expect(forked).toMatchObject({ status: 'idle', user: 'ada' });
			await say(forker, forked.id, payment(70));
			const callId = await findOpen(forked.id);
			expect((await decide(kim, forked.id, callId)).status).toBe(403);
			expect((await decide(boss, forked.id, callId)).status).toBe(200);
			expect(happened.paid).toMatchObject([{ amount: 70, owner: 'shop', user: 'ada' }]);
		},
	);

	test('of a failed run continues with two askers: the first asker and the person who forks', async () => {
		const imported = await read(boss, '/v1/sessions/import?user=ada', await makeDocument());
		const forked = await read(kim, `/v1/sessions/${imported.id}/fork`, {});
		expect((await ask(lea, `/v1/sessions/${forked.id}/continue`, {})).status).toBe(200);
		const callId = await findOpen(forked.id);
		for (const who of [boss, kim]) expect((await decide(who, forked.id, callId)).status).toBe(403);
		expect(
			happened.asked
				.at(-1)
				?.askers.map(({ user }) => user)
				.sort(),
		).toEqual(['boss', 'kim']);
		expect((await decide(lea, forked.id, callId)).status).toBe(200);
	});

	test('of a waiting session has no call that waits for a decision', async () => {
		const { id } = await create(ada, { text: payment() });
		const forked = await read(kim, `/v1/sessions/${id}/fork`, {});
		expect((await decide(lea, forked.id, await findOpen(id))).status).toBe(409);
		expect((await approve(lea, id)).status).toBe(200);
		expect(happened.paid).toHaveLength(1);
	});

	test('keeps a raised budget only if the person who forks is allowed to raise it', async () => {
		const { id } = await create(boss, { agent: 'open-till', user: 'ada', budget: { tokens: 1_000_000 } });
		await waitFor(id, 'idle');
		expect((await read(kim, `/v1/sessions/${id}/fork`, {})).budget.limit).toEqual({ tokens: 50_000 });
		expect((await read(boss, `/v1/sessions/${id}/fork`, {})).budget.limit).toEqual({ tokens: 1_000_000 });
	});

	test.each<[string, Credential, number]>([
		['the customer', ada, 403],
		['another customer', ben, 403],
		['somebody of another shop', otherBoss, 404],
		['an operator', keys.root, 403],
	])('is refused to %s', async (_, who, status) => {
		const { id } = await create(ada, { text: 'Hello' });
		expect((await ask(who, `/v1/sessions/${id}/fork`, {})).status).toBe(status);
		const { token } = await makeToken(kim, id, { scopes: ['read', 'message', 'approve'] });
		for (const path of ['fork', 'export']) {
			const response = await ask(token, `/v1/sessions/${id}/${path}`, path === 'fork' ? {} : undefined);
			expect([path, response.status]).toEqual([path, 403]);
		}
	});
});
