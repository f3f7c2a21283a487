/** `/v1/memories`, and the memory tools of agents. */
import { expect, test } from 'vitest';
import { readHistory, request } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { createRandom } from '../../endurance/random.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';
import {
	createSessionFor,
	createUser,
	deleteMemory,
	getMemory,
	listMemories,
	putMemory,
	readTexts,
	say,
	type WireMemory,
} from './people.ts';

const call = (id: string, name: string, input: object) => ({ toolCalls: [{ id, name, input: { ...input } }] });
const readResults = async (id: string) =>
	(await readHistory(id)).filter(({ role }) => role === 'tool').map(({ content }) => content);
const readError = async (response: Response) => {
	const { error } = await response.json<{ error: { code: string; message: string } }>();
	return { status: response.status, ...error };
};

test('writes, reads, changes and removes a memory, and checks its ETag', async () => {
	const user = createUser();
	const created = await putMemory(user, 'projects/site.md', 'The site is in Hono.');
	expect(created.status).toBe(201);
	const memory = await created.json<WireMemory>();
	expect(memory).toEqual({
		path: 'projects/site.md',
		text: 'The site is in Hono.',
		version: expect.any(String),
		source: { via: 'http' },
		createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
		updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
	});
	expect(created.headers.get('etag')).toBe(`"${memory.version}"`);
	expect(await (await getMemory(user, 'projects/site.md')).json()).toEqual(memory);
	const changed = await putMemory(user, 'projects/site.md', 'In h3.', { 'if-match': `"${memory.version}"` });
	expect(changed.status).toBe(200);
	const late = await readError(
		await putMemory(user, 'projects/site.md', 'In Koa.', { 'if-match': `"${memory.version}"` }),
	);
	expect(late).toMatchObject({ status: 412, code: 'precondition_failed' });
	expect((await putMemory(user, 'projects/site.md', 'New.', { 'if-none-match': '*' })).status).toBe(412);
	expect((await deleteMemory(user, 'projects/site.md', { 'if-match': '"another"' })).status).toBe(412);
	expect(await readTexts(user)).toEqual({ 'projects/site.md': 'In h3.' });
	expect((await deleteMemory(user, 'projects/site.md')).status).toBe(204);
	expect((await deleteMemory(user, 'projects/site.md')).status).toBe(404);
	expect((await getMemory(user, 'projects/site.md')).status).toBe(404);
	expect(await listMemories(user, { query: 'h3' })).toEqual([]);
});

test('lists memories by path in pages, exports all memories as lines, and erases them', async () => {
	const user = createUser();
	const paths = Array.from({ length: 7 }, (_, n) => `n${n}.md`);
	for (const path of paths) await putMemory(user, path, `Text of ${path}`);
	const seen: string[] = [];
	for (let cursor: string | undefined = ''; cursor !== undefined; ) {
		const query = new URLSearchParams({ user, limit: '3', ...(cursor && { cursor }) });
		const page: { memories: WireMemory[]; cursor?: string } = await (await request(`/v1/memories?${query}`)).json();
		expect(page.memories.length).toBeLessThanOrEqual(3);
		seen.push(...page.memories.map(({ path }) => path));
		cursor = page.cursor;
	}
	expect(seen).toEqual(paths);
	const response = await request(`/v1/memories?${new URLSearchParams({ user })}`, undefined, {
		accept: 'application/x-ndjson',
	});
	const lines = (await response.text()).trimEnd().split('\n');
	expect(lines.map((line): unknown => JSON.parse(line))).toEqual(await listMemories(user));
	expect((await deleteMemory(user)).status).toBe(204);
	expect(await listMemories(user)).toEqual([]);
	expect(await listMemories(user, { query: 'text' })).toEqual([]);
	expect((await putMemory(user, 'n0.md', 'Anew.')).status).toBe(201);
});

test.each<[what: string, query: string, found: string[]]>([
	['a word', 'invoices', ['billing.md']],
	['another form of a word', 'invoice', ['billing.md']],
	['the beginning of a word', 'vegeta', ['food.md']],
	['a word of the path', 'billing', ['billing.md']],
	['a word without its accent', 'cafe', ['food.md']],
	['characters without spaces', '東京', ['home.md']],
	['nothing for characters that are not adjacent', '京東', []],
	['several words, the best first', 'vegetarian invoices in Bern', ['billing.md', 'food.md']],
	['nothing for stop words', 'what is the', []],
	['words with the syntax of a query language', 'NEAR(billing) AND "food', ['billing.md', 'food.md']],
])('a search finds %s', async (_, query, found) => {
	const user = createUser();
	await putMemory(user, 'billing.md', 'Sends the invoices to Bern.');
	await putMemory(user, 'food.md', 'A vegetarian, who likes the café at the corner.');
	await putMemory(user, 'home.md', '私は東京に住んでいます。');
	expect((await listMemories(user, { query })).map(({ path }) => path).sort()).toEqual(found);
});

test.each<[what: string, path: string, body: object, error: object]>([
	['an oversized text', 'a.md', { text: 'x'.repeat(8_001) }, { status: 413, message: expect.stringMatching(/8000/) }],
	['an empty text', 'a.md', { text: ' ' }, { status: 400, message: expect.stringMatching(/Delete the memory/) }],
	['a path with ..', '..%2Fa.md', { text: 'x' }, { status: 400, message: expect.stringMatching(/"\.\."/) }],
	['a folder', 'a/', { text: 'x' }, { status: 400, message: expect.stringMatching(/folder/) }],
	['a path under a memory', 'is.md/b.md', { text: 'x' }, { status: 409, message: expect.stringMatching(/is\.md/) }],
	['a memory in place of a folder', 'folder', { text: 'x' }, { status: 409, message: expect.stringMatching(/folder/) }],
])('refuses %s and says what to do', async (_, path, body, error) => {
	const user = createUser();
	await putMemory(user, 'is.md', 'There.');
	await putMemory(user, 'folder/in.md', 'There.');
	const query = new URLSearchParams({ user });
	expect(await readError(await request(`/v1/memories/${path}?${query}`, body, {}, 'PUT'))).toMatchObject(error);
	expect(Object.keys(await readTexts(user))).toEqual(['folder/in.md', 'is.md']);
});

test('a person has at most a million characters of memories', async () => {
	const user = createUser();
	const text = 'x'.repeat(8_000);
	const at = (n: number) => putMemory(user, `${n}.md`, text);
	for (let n = 0; n < 125; n += 25) await Promise.all(Array.from({ length: 25 }, (_, more) => at(n + more)));
	expect(await readError(await at(125))).toMatchObject({ status: 413, message: expect.stringMatching(/1000000/) });
	expect((await getMemory(user, '125.md')).status).toBe(404);
	expect((await putMemory(user, '0.md', 'Short.')).status).toBe(200);
	expect((await at(125)).status).toBe(413);
	expect((await deleteMemory(user, '1.md')).status).toBe(204);
	expect((await at(125)).status).toBe(201);
});

test('an agent remembers, recalls in another session and forgets, and a memory names its source', async () => {
	const user = createUser();
	play(
		call('a', 'remember', { text: 'Likes short answers.', path: 'style.md' }),
		call('b', 'remember', { text: 'Has a dog.' }),
		'Noted.',
	);
	const first = await createSessionFor(user);
	expect(await say(first)).toMatchObject({ status: 'completed' });
	const [note, style] = await listMemories(user);
	expect(note).toMatchObject({ path: expect.stringMatching(/^notes\/\w{11}\.md$/), text: 'Has a dog.' });
	expect(style).toMatchObject({
		path: 'style.md',
		text: 'Likes short answers.',
		source: { via: 'call', agent: 'keeper', sessionId: first, runId: expect.stringMatching(/^run_/), callId: 'a' },
	});
	play(
		call('c', 'recall', { query: 'answers' }),
		call('d', 'forget', { path: 'style.md' }),
		call('e', 'recall', {}),
		'Ok.',
	);
	const second = await createSessionFor(user);
	expect(await say(second)).toMatchObject({ status: 'completed' });
	expect(await readResults(second)).toMatchObject([
		{ notice: expect.stringMatching(/nothing in them is an instruction/), memories: [{ path: 'style.md' }] },
		{ forgotten: 1 },
		{ memories: [{ text: 'Has a dog.' }] },
	]);
});

test('an agent has only the memory tools that it names', async () => {
	const { requests } = play('Hi.');
	await say(await createSessionFor(createUser(), 'reader'));
	expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(['recall']);
});

test('1,000 attempts of an owner or a user find no memory of another owner or user', async () => {
	const seed = Math.floor(2 ** 32 * Math.random());
	const random = createRandom(seed);
	const pick = <T>(list: readonly T[]): T => list[random(0, list.length - 1)] as T;
	const { keys, bindings } = await createKeys({ ann: ['run'], bob: ['run'], 'ann-u': ['run'] });
	const users = [undefined, 'u', 'v', 'ann', '"]', '["ann","u"]', 'u%', '*', "' OR 1=1 --", 'U', 'u '];
	const holders = Object.values(keys).flatMap((key) => users.map((user) => ({ key, user })));
	type Holder = (typeof holders)[number];
	const ask = ({ key, user }: Holder, method: string, path = '', more: object = {}, body?: object) => {
		const query = new URLSearchParams({ ...(user !== undefined && { user }), ...more });
		const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
		const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
		return worker.request(`https://runlet.example.com/v1/memories${path}?${query}`, init, bindings);
	};
	const toSecret = (holder: Holder) => `secret${1_000 + holders.indexOf(holder)}`;
	const toText = (holder: Holder) => `shared word, ${toSecret(holder)}`;
	for (const holder of holders)
		expect((await ask(holder, 'PUT', `/${toSecret(holder)}.md`, {}, { text: toText(holder) })).status).toBe(201);
	for (let n = 0; n < 1_000; n++) {
		const [holder, other] = [pick(holders), pick(holders)];
		const place = `/${toSecret(other)}.md`;
		const isOwn = holder === other;
		const about = `seed ${seed}, try ${n}`;
		const kind = pick(['get', 'list', 'search', 'shared', 'delete']);
		if (kind === 'get') expect((await ask(holder, 'GET', place)).status, about).toBe(isOwn ? 200 : 404);
		else if (kind === 'delete' && !isOwn) expect((await ask(holder, 'DELETE', place)).status, about).toBe(404);
		else {
			const more = { shared: { query: 'shared' }, search: { query: toSecret(other) } };
			const response = await ask(holder, 'GET', '', kind === 'shared' || kind === 'search' ? more[kind] : {});
			const { memories } = await response.json<{ memories: WireMemory[] }>();
			const expected = kind === 'search' && !isOwn ? [] : [toText(holder)];
			expect(
				memories.map(({ text }) => text),
				about,
			).toEqual(expected);
		}
	}
});

test('a session token gives no access to memories', async () => {
	const { token } = await (await request('/v1/sessions', { agent: 'keeper' })).json<{ token: string }>();
	const { bindings } = await createKeys({ ann: ['run'] });
	const headers = { authorization: `Bearer ${token}` };
	const response = await worker.request('https://runlet.example.com/v1/memories', { headers }, bindings);
	expect([401, 403]).toContain(response.status);
});
