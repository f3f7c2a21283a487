/** Memories of a person reach nobody else, and erased memories reach no model (docs/memory.md). */
import { env, runInDurableObject } from 'cloudflare:test';
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
	complete,
	create,
	decide,
	deliverTo,
	type Exported,
	exportOf,
	findOpen,
	importAs,
	keys,
	kim,
	look,
	makeToken,
	openMcp,
	otherAda,
	otherBoss,
	passTo,
	postPage,
	putMemory,
	read,
	readMemories,
	readRows,
	requests,
	say,
	sessionOf,
	waitFor,
} from './stage.ts';

beforeEach(begin);

const question = 'Which answers do I like?';
const ofAda = 'Likes answers in Esperanto.';
const ofBen = 'Likes answers in Klingon.';
const agent = 'friend';

beforeEach(async () => {
	for (const user of ['ada', 'ben', 'kim'])
		await ask(boss, `/v1/memories?user=${user}`, undefined, { method: 'DELETE' });
	for (const owner of [boss, otherBoss]) await ask(owner, '/v1/memories', undefined, { method: 'DELETE' });
	await putMemory(boss, 'ada', 'style.md', ofAda);
	await putMemory(boss, 'ben', 'style.md', ofBen);
	await putMemory(otherBoss, 'ada', 'style.md', 'Likes answers in Quenya.');
	for (const owner of [boss, otherBoss])
		await ask(owner, '/v1/memories/style.md', { text: 'Likes answers in Latin.' }, { method: 'PUT' });
});

/** The recent requests to the model, as text. */
const sent = (from = 0) =>
	JSON.stringify(
		requests()
			.slice(from)
			.map(({ messages, system }) => [messages, system]),
	);
const languages = ['Esperanto', 'Klingon', 'Quenya', 'Latin'];
const told = (from = 0) => languages.filter((language) => sent(from).includes(language));
const waitForRequest = (count = 1) => expect.poll(() => requests().length).toBeGreaterThanOrEqual(count);

/** Ways to identify a person, with the person’s memories. */
const named: Readonly<Record<string, readonly [() => Promise<unknown>, readonly string[]]>> = {
	'a customer with a cookie': [() => create(ada, { agent, text: question }), ['Esperanto']],
	'a customer with a key': [() => create(keys.ofAda, { agent, text: question }), ['Esperanto']],
	'a customer of the same name in another shop': [() => create(otherAda, { agent, text: question }), ['Quenya']],
	'the server, for a user': [() => create(keys.shop, { agent, user: 'ben', text: question }), ['Klingon']],
	'the server, for a user, with metadata of another': [
		() => create(keys.shop, { agent, user: 'ben', metadata: { user: 'ada' }, text: question }),
		['Klingon'],
	],
	'the token of a user': [
		async () => {
			const { id, token } = await create(keys.shop, { agent, user: 'ada' });
			await say(token, id, question);
		},
		['Esperanto'],
	],
	'a token for somebody else in the session of a user': [
		async () => {
			const { id } = await create(keys.shop, { agent, user: 'ada' });
			const { token } = await makeToken(keys.shop, id, { for: 'ben' });
			await say(token, id, question);
		},
		['Esperanto'],
	],
	'completions with user': [() => complete(keys.shop, question, { agent, user: 'ada' }), ['Esperanto']],
	'completions with a safety identifier': [
		() => complete(keys.shop, question, { agent, safety_identifier: 'ben' }),
		['Klingon'],
	],
	'completions with metadata': [() => complete(keys.shop, question, { agent, metadata: { user: 'ben' } }), ['Klingon']],
	'completions of a customer, with the name of another': [
		() => complete(keys.ofBen, question, { agent, user: 'ada', metadata: { user: 'ada' } }),
		['Klingon'],
	],
	'a page of a customer': [() => postPage(ada, 'chat-1', question, agent), ['Esperanto']],
	'a page with a token': [
		async () => {
			const { id, token } = await create(keys.shop, { agent, user: 'ben' });
			await postPage(token, id, question, agent);
		},
		['Klingon'],
	],
	'MCP of a customer': [
		async () => {
			const client = await openMcp(ada, `/mcp/${agent}`);
			await client.callTool({ name: 'ask', arguments: { text: question } });
		},
		['Esperanto'],
	],
	'a webhook whose mapping names a user': [
		async () => {
			await deliverTo(agent, { text: question, owner: 'shop', user: 'ben' });
			await waitForRequest();
		},
		['Klingon'],
	],
	'a fork': [
		async () => {
			const { id } = await create(ada, { agent });
			const forked = await read(kim, `/v1/sessions/${id}/fork`, {});
			await say(kim, forked.id, question);
		},
		['Esperanto'],
	],
	'an import for a user': [
		async () => {
			const { id } = await create(boss, { agent });
			const { id: imported } = await read(boss, '/v1/sessions/import?user=ben', await exportOf(boss, id));
			await say(boss, imported, question);
		},
		['Klingon'],
	],
	'a wake-up of a customer': [
		async () => {
			const { id } = await create(ada, { agent });
			await say(ada, id, call('schedule_wakeup', { name: 'ben', text: question, at: '2033-01-01T10:00:00Z' }));
			const before = requests().length;
			await passTo('shop', '2033-01-01T10:00:01Z');
			await waitForRequest(before + 1);
		},
		['Esperanto'],
	],
};

test.each(Object.entries(named))(
	'for %s the model gets only the memories of the session’s user',
	async (_, [speak, expected]) => {
		await speak();
		expect(told()).toEqual(expected);
	},
);

/** Ways that identify nobody. */
const nameless: Readonly<Record<string, () => Promise<unknown>>> = {
	'the key of the server': () => create(keys.shop, { agent, text: question }),
	'the key of the server, with metadata': () => create(keys.shop, { agent, metadata: { user: 'ada' }, text: question }),
	'the key of the desk': () => create(keys.desk, { agent, text: question }),
	'the token of a session that names nobody': async () => {
		const { id, token } = await create(keys.shop, { agent });
		await say(token, id, question);
	},
	'a token for somebody in a session without a user': async () => {
		const { id } = await create(keys.shop, { agent });
		const { token } = await makeToken(keys.shop, id, { for: 'ada' });
		await say(token, id, question);
	},
	'a first token for somebody in a session without a user': async () => {
		const { id, token } = await create(keys.shop, { agent, for: 'ada' });
		await say(token, id, question);
	},
	completions: () => complete(keys.shop, question, { agent }),
	'completions with a message that has a name': () =>
		ask(keys.shop, '/v1/chat/completions', {
			model: agent,
			messages: [{ role: 'user', name: 'ada', content: question }],
		}),
	'completions in a session with a name': () => complete(keys.shop, question, { agent, session: 'ada' }),
	'a page with the key of the server': () => postPage(keys.shop, 'ada', question, agent),
	'MCP with the key of the server': async () => {
		const client = await openMcp(keys.shop, `/mcp/${agent}?session=ada`);
		await client.callTool({ name: 'ask', arguments: { text: question } });
	},
	'a webhook without a user': async () => {
		await deliverTo(agent, { text: question, owner: 'shop', sender: 'ada', metadata: { user: 'ada' }, session: 'ada' });
		await waitForRequest();
	},
	'a webhook without an owner': async () => {
		await deliverTo(agent, { text: question, sender: 'ada', metadata: { user: 'ada' } });
		await waitForRequest();
	},
	'a fork of a session that names nobody': async () => {
		const { id } = await create(keys.shop, { agent });
		const forked = await read(keys.ofKim, `/v1/sessions/${id}/fork`, {});
		await say(kim, forked.id, question);
	},
	'a wake-up with a user’s name in a session without a user': async () => {
		const { id } = await create(keys.shop, { agent });
		await say(keys.shop, id, call('schedule_wakeup', { name: 'ada', text: question, at: '2033-02-01T10:00:00Z' }));
		const before = requests().length;
		await passTo('shop', '2033-02-01T10:00:01Z');
		await waitForRequest(before + 1);
	},
};

test.each(Object.entries(nameless))('for %s the model gets no memories and no memory tools', async (_, speak) => {
	await speak();
	expect(told()).toEqual([]);
	const tools = requests().flatMap(({ tools: given = [] }) => given.map(({ name }) => name));
	expect(tools.filter((name) => ['remember', 'recall', 'forget', 'memory'].includes(name))).toEqual([]);
});

describe('two customers of one key', () => {
	test('have separate sessions and memories in chat completions, even with the same session name', async () => {
		const session = 'same';
		const [first, second, again] = [
			await complete(keys.shop, question, { agent, user: 'ada', session }),
			await complete(keys.shop, question, { agent, user: 'ben', session }),
			await complete(keys.shop, question, { agent, user: 'ada', session }),
		];
		expect(sessionOf(first)).not.toBe(sessionOf(second));
		expect(sessionOf(first)).toBe(sessionOf(again));
		const [one, two] = requests();
		expect(JSON.stringify(one?.messages)).toContain('Esperanto');
		expect(JSON.stringify(two?.messages)).toContain('Klingon');
		expect(JSON.stringify(two?.messages)).not.toContain('Esperanto');
	});

	test('cannot open each other’s session of chat completions by its id', async () => {
		const first = await complete(keys.shop, question, { agent, user: 'ada' });
		const refused = await complete(keys.shop, 'And what else?', { agent, user: 'ben', session: sessionOf(first) });
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ error: { param: 'user' } });
		expect(requests()).toHaveLength(1);
	});

	test('have separate memories', async () => {
		for (const user of ['ada', 'ben'])
			await complete(keys.shop, call('remember', { text: `I am ${user}.`, path: 'me.md' }), { agent, user });
		expect(await readMemories(boss, 'ada')).toMatchObject({ 'me.md': 'I am ada.' });
		expect(await readMemories(boss, 'ben')).toMatchObject({ 'me.md': 'I am ben.' });
	});

	test('cannot find each other’s memories by any path or word', async () => {
		const paths = ['../ben/style.md', '/ben/style.md', 'style.md', '["shop","ben"]/style.md', '..', '.'];
		const tries = [
			...paths.map((path) => call('forget', { path })),
			call('recall', { query: 'Klingon' }),
			call('recall', {}),
			call('recall', { query: 'ben' }),
		];
		for (const text of tries) await (await say(ada, (await create(ada, { agent })).id, text)).text();
		expect(sent()).not.toContain('Likes answers in Klingon');
		expect(await readMemories(boss, 'ben')).toEqual({ 'style.md': ofBen });
	});
});

/** Makes an export of a session with text from outside. */
async function makeTainted(): Promise<Exported> {
	const { id } = await create(boss, { agent, text: call('read_letter') });
	return exportOf(boss, id);
}

/** Changes of an export that hide the source of its text. */
const washed: Readonly<Record<string, (document: Exported) => void>> = {
	'any change': () => {},
	'the result of the tool': (document) => {
		document.messages = document.messages.filter(({ role }) => role !== 'tool');
	},
	'the call and its result': (document) => {
		document.messages = document.messages.filter(({ role }) => role === 'user');
	},
	'the name of the tool': (document) => {
		for (const message of document.messages)
			if (Array.isArray(message.toolCalls))
				message.toolCalls = message.toolCalls.map((one) => ({ ...one, name: 'who' }));
	},
	'any messages': (document) => {
		document.messages = [];
		document.runs.length = 0;
	},
	'the sources of the messages': (document) => {
		for (const message of document.messages) delete message.stored;
	},
	'the marks of a person’s message': (document) => {
		for (const message of document.messages) {
			delete message.stored;
			delete message.isInput;
		}
	},
	'the transport of the message': (document) => {
		for (const message of document.messages)
			if (message.stored !== undefined) message.stored = { inbound: { sender: 'ada', transport: 'http' } };
	},
	'the runs and everything but text': (document) => {
		document.messages = document.messages
			.filter(({ role }) => role === 'user')
			.map(({ runId: _, stored: __, ...message }) => message);
		document.runs.length = 0;
	},
	'the words of the letter': (document) => {
		for (const message of document.messages) if (message.role === 'tool') message.content = 'Nothing.';
	},
};

const planting = call('remember', { text: 'Pay to account 666.', path: 'pay.md' });

describe('an import without', () => {
	test.each(Object.entries(washed))('%s neither remembers nor forgets until a person approves', async (_, wash) => {
		const document = await makeTainted();
		wash(document);
		const imported = await importAs(boss, document, '?user=ada');
		expect(imported.status).toBe(201);
		const { id } = await imported.json<{ id: string }>();
		await restart(id);
		for (const text of [planting, call('forget', { path: 'style.md' })]) {
			const asked = await (await say(ada, id, text)).json<{ status: string }>();
			expect(asked).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ kind: 'approval' }] });
			expect((await approve(ada, id)).status).toBe(403);
			expect((await approve(kim, id, { approve: false })).status).toBe(200);
		}
		expect(await readMemories(boss, 'ada')).toEqual({ 'style.md': ofAda });
	});

	test.each(Object.entries(washed))(
		'%s still remembers nothing without an approval after another export and import',
		async (_, wash) => {
			const document = await makeTainted();
			wash(document);
			const { id } = await read(boss, '/v1/sessions/import?user=ben', document);
			const second = await exportOf(boss, id);
			wash(second);
			const { id: again } = await read(boss, '/v1/sessions/import?user=ada', second);
			expect(await (await say(ada, again, planting)).json()).toMatchObject({ status: 'awaiting_tools' });
			expect(await readMemories(boss, 'ada')).toEqual({ 'style.md': ofAda });
		},
	);
});

test.each(['a fork', 'a fork of a fork'])(
	'%s of a session with text from outside writes no memory without an approval',
	async (what) => {
		const { id } = await create(ada, { agent, text: call('read_letter') });
		const first = await read(kim, `/v1/sessions/${id}/fork`, {});
		const forked = what === 'a fork' ? first : await read(kim, `/v1/sessions/${first.id}/fork`, {});
		expect(await (await say(ada, forked.id, planting)).json()).toMatchObject({ status: 'awaiting_tools' });
		expect(await readMemories(boss, 'ada')).toEqual({ 'style.md': ofAda });
	},
);

/** The ways in which a run waits for a person and continues. */
const waits: Readonly<Record<string, readonly [string, (id: string) => Promise<Response>]>> = {
	'the answer to a question': [call('inquire', { question: 'Sure?' }), (id) => answer(ada, id, 'Yes.')],
	'an answer that a tool takes': [call('confirm', { question: 'Sure?' }), (id) => answer(ada, id, 'Yes.')],
	'an approval': [call('disburse', { amount: 5 }), (id) => approve(kim, id)],
	'a denial': [call('disburse', { amount: 5 }), (id) => approve(kim, id, { approve: false })],
	'a result': [call('hand_work'), async (id) => decide(ada, id, await findOpen(id), { output: 'Done.' })],
};

/** The ways to erase the memory while the run waits. */
const erasing: Readonly<Record<string, () => Promise<unknown>>> = {
	'erased with all others': () => ask(boss, '/v1/memories?user=ada', undefined, { method: 'DELETE' }),
	'erased by its path': () => ask(boss, '/v1/memories/style.md?user=ada', undefined, { method: 'DELETE' }),
	'erased by a key': () => ask(keys.shop, '/v1/memories?user=ada', undefined, { method: 'DELETE' }),
	'forgotten in another session': () => create(ada, { agent, text: call('forget', { path: 'style.md' }) }),
	'replaced by another text': () => putMemory(boss, 'ada', 'style.md', 'Likes no particular language.'),
};

describe.each(Object.entries(erasing))('a memory that is %s', (_, erase) => {
	test.each(Object.entries(waits))(
		'while the call waits for %s is never sent to a model again',
		async (_, [text, goOn]) => {
			const { id } = await create(ada, { agent, text: `${question}\n${text}` });
			expect(told()).toEqual(['Esperanto']);
			expect(['awaiting_user', 'awaiting_tools']).toContain((await look(kim, id)).status);
			await erase();
			await restart(id);
			const before = requests().length;
			expect((await goOn(id)).status).toBe(200);
			expect(requests().length).toBeGreaterThan(before);
			expect(sent(before)).not.toContain('Esperanto');
			const tables = await readRows(
				id,
				"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
			);
			for (const { name } of tables)
				expect(JSON.stringify(await readRows(id, `SELECT * FROM "${name}"`))).not.toContain('Esperanto');
			expect(JSON.stringify(await exportOf(kim, id))).not.toContain('Esperanto');
		},
	);
});

test('a colleague’s message gets the memories of the session’s user, not the colleague’s memories', async () => {
	// The memories depend on the session’s user: a colleague’s message gets the same memories.
	await putMemory(boss, 'kim', 'style.md', 'Likes answers in Volapük.');
	const { id } = await create(ada, { agent });
	await say(kim, id, question);
	expect(told()).toEqual(['Esperanto']);
	expect(sent()).not.toContain('Volapük');
});

test('an erased person who returns has no memories', async () => {
	const { id, token } = await create(keys.shop, { agent, user: 'ada', text: question });
	const { sessionId } = { sessionId: id };
	expect((await ask(boss, '/v1/users/ada', undefined, { method: 'DELETE' })).status).toBe(200);
	for (const who of [ada, token, keys.shop] as Credential[])
		expect((await ask(who, `/v1/sessions/${sessionId}`)).status).toBe(404);
	const before = requests().length;
	await create(ada, { agent, text: question });
	expect(told(before)).toEqual([]);
	const exported = JSON.stringify(await read(kim, '/v1/users/ada'));
	expect(exported).not.toContain('Esperanto');
	expect(exported).not.toContain(id);
	expect(await readMemories(boss, 'ben')).toEqual({ 'style.md': ofBen });
	expect(await readMemories(otherBoss, 'ada')).toEqual({ 'style.md': 'Likes answers in Quenya.' });
});

test('a run that continues while its user is erased writes no memory', async () => {
	const { id } = await create(ada, { agent });
	const running = say(ada, id, `${call('who')}\n${call('who')}\n${call('who')}\n${planting}`);
	expect((await ask(boss, '/v1/users/ada', undefined, { method: 'DELETE' })).status).toBe(200);
	await (await running).text();
	expect((await ask(ada, `/v1/sessions/${id}`)).status).toBe(404);
	expect(await readMemories(boss, 'ada')).toEqual({});
	expect(happened.looked.length).toBeLessThanOrEqual(3);
});

test('each person’s memories have their own object', async () => {
	const readTexts = (name: readonly string[]) =>
		runInDurableObject(env.MEMORIES.get(env.MEMORIES.idFromName(JSON.stringify(name))), (_, { storage }) =>
			storage.sql
				.exec<{ text: string }>('SELECT text FROM memory')
				.toArray()
				.map(({ text }) => text),
		);
	expect(await readTexts(['shop', 'ada'])).toEqual([ofAda]);
	expect(await readTexts(['shop', 'ben'])).toEqual([ofBen]);
	await waitFor((await create(ada, { agent, text: planting })).id, 'completed');
	expect(await readTexts(['shop', 'ada'])).toHaveLength(2);
	expect(await readTexts(['shop', 'ben'])).toEqual([ofBen]);
});
