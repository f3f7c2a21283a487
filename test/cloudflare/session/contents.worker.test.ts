/** What a session reports to the index of contents (docs/sessions.md, "Find one by what was said"). */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import { readContents } from '../../../src/cloudflare/session/store/contents.ts';
import { messageStride } from '../../../src/cloudflare/session/store/messages.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import {
	allEvents,
	createSession,
	querySession,
	readNextAlarm,
	readObject,
	request,
	restart,
	send,
} from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

type Found = { id: string; title?: string; excerpt?: string };
const search = async (query: string) =>
	(await (await request(`/v1/sessions?q=${encodeURIComponent(query)}`)).json<{ sessions: Found[] }>()).sessions;
const find = async (query: string) => (await search(query)).map(({ id }) => id);

/** A word that no other test uses. */
let word = '';
beforeEach(() => {
	word = `w${crypto.randomUUID().replaceAll('-', '')}`;
});

/** Ends the object, and runs its alarm in the next instance, which reports again. */
async function report(id: string): Promise<void> {
	await restart(id);
	await runDurableObjectAlarm(readObject(id));
}

test('a search finds what a person wrote and what the model answered, with an excerpt, right after the first run', async () => {
	const id = await createSession('searchable');
	play(`The hedgehog ${word} eats beetles.`);
	await allEvents(await send(id, 'What do they eat?'));
	await expect
		.poll(() => search(`${word} beetles eat`))
		.toMatchObject([
			{ id, title: 'What do they eat?', excerpt: `What do they eat? The hedgehog ${word} eats beetles.` },
		]);
});

test('a search finds no contents of an agent without searchContents', async () => {
	const id = await createSession();
	play(`The hedgehog ${word} eats beetles.`);
	await allEvents(await send(id, `Eat ${word}x?`));
	await report(id);
	await expect.poll(() => find(`${word}x`)).toEqual([id]);
	expect(await find(`${word} beetles`)).toEqual([]);
});

test('results of tools, their arguments, the system prompt and attachments are not found', async () => {
	const id = await createSession('searchable');
	play({ toolCalls: [{ id: 'e', name: 'echo', input: { text: `${word}result` } }] }, `It says ${word}answer.`);
	const contentText = `${word}attached`;
	const attachments = [{ name: 'notes.txt', type: 'text/plain', size: contentText.length, contentText }];
	await request(`/v1/sessions/${id}/messages`, { text: `Say ${word}text.`, attachments });
	await expect.poll(() => find(`${word}answer`)).toEqual([id]);
	expect(await find(`${word}text`)).toEqual([id]);
	for (const hidden of [`${word}result`, `${word}attached`, `${word}text hedgehogs`])
		expect(await find(hidden)).toEqual([]);
});

test('the text of a replaced message is not found after the next report', async () => {
	const id = await createSession('searchable');
	play(`First ${word}old.`);
	await allEvents(await send(id, 'Say something.'));
	await expect.poll(() => find(`${word}old`)).toEqual([id]);
	play(`Second ${word}new.`);
	const { messages } = await (await request(`/v1/sessions/${id}/messages`)).json<{ messages: { id: number }[] }>();
	const replaces = messages[0]?.id;
	expect((await request(`/v1/sessions/${id}/messages`, { text: 'Say it again.', replaces })).status).toBe(200);
	await report(id);
	await expect.poll(() => find(`${word}new`)).toEqual([id]);
	expect(await find(`${word}old`)).toEqual([]);
});

describe('a second run within five minutes', () => {
	/** Plays two runs. Returns the session before the second text is reported. */
	async function playTwo(): Promise<string> {
		const id = await createSession('searchable');
		play(`One ${word}one.`, `Two ${word}two.`);
		await allEvents(await send(id, 'Say one.'));
		await expect.poll(() => find(`${word}one`)).toEqual([id]);
		await allEvents(await send(id, 'Say two.'));
		return id;
	}

	test('is found once the alarm has reported it, five minutes after the first report', async () => {
		const id = await playTwo();
		// The alarm of the run sets the next one.
		await runDurableObjectAlarm(readObject(id));
		const pause = ((await readNextAlarm(id)) ?? 0) - Date.now();
		expect(pause).toBeGreaterThan(200_000);
		expect(pause).toBeLessThanOrEqual(300_000);
		expect(await find(`${word}two`)).toEqual([]);
		expect(await find(`${word}one`)).toEqual([id]);
	});

	test.each(['before', 'after'] as const)('is found once if the object dies %s its report is noted', async (when) => {
		const id = await playTwo();
		await report(id);
		if (when === 'after') for (let n = 0; n < 2; n++) await report(id);
		await expect.poll(() => find(`${word}one ${word}two`)).toEqual([id]);
		const rows = await runInDurableObject(env.DIRECTORIES.get(env.DIRECTORIES.idFromName('local')), (_, { storage }) =>
			storage.sql.exec('SELECT text FROM content WHERE session = ?', id).toArray(),
		);
		expect(rows).toEqual([{ text: `Say one.\nOne ${word}one.\nSay two.\nTwo ${word}two.` }]);
		await runDurableObjectAlarm(readObject(id));
		expect(await querySession(id, 'SELECT id FROM outbox')).toEqual([]);
	});
});

test('contents are found only by those who may list their session, until it or its person is removed', async () => {
	const owner = `contents-${crypto.randomUUID()}`;
	const { keys, bindings } = await createKeys({
		kim: { owner, user: 'kim', role: 'customer' },
		lee: { owner, user: 'lee', role: 'customer' },
		sam: { owner, role: 'admin' },
		stranger: { owner: `${owner}-else` },
	});
	const ask = (as: keyof typeof keys, path: string, body?: object, method = body === undefined ? 'GET' : 'POST') =>
		worker.request(
			`https://runlet.example.com/v1/${path}`,
			{
				method,
				headers: { authorization: `Bearer ${keys[as]}`, 'content-type': 'application/json' },
				...(body && { body: JSON.stringify(body) }),
			},
			bindings,
		);
	const search = async (as: keyof typeof keys, query: string) => {
		const { sessions, ...rest } = await (await ask(as, `sessions?q=${query}`)).json<{ sessions: Found[] }>();
		return { ids: sessions.map(({ id }) => id), ...rest };
	};
	const start = async () => {
		play(`You said ${word}.`);
		return (await (await ask('kim', 'sessions', { agent: 'searchable', text: 'Hello.' })).json<{ id: string }>()).id;
	};
	const [first, second] = [await start(), await start()];
	await expect.poll(() => search('kim', word).then(({ ids }) => ids.sort())).toEqual([first, second].sort());
	expect((await search('sam', `${word}&agent=searchable&user=kim`)).ids).toHaveLength(2);
	for (const as of ['lee', 'stranger'] as const) expect(await search(as, `${word}&limit=1`)).toEqual({ ids: [] });
	expect(await search('sam', `${word}&user=lee`)).toEqual({ ids: [] });
	await ask('sam', `sessions/${first}`, undefined, 'DELETE');
	await expect.poll(() => search('sam', word)).toEqual({ ids: [second] });
	expect(await (await ask('sam', 'users/kim', undefined, 'DELETE')).json()).toMatchObject({ isDone: true });
	expect(await search('sam', word)).toEqual({ ids: [] });
	const left = await runInDurableObject(env.DIRECTORIES.get(env.DIRECTORIES.idFromName(owner)), (_, { storage }) =>
		storage.sql.exec('SELECT COUNT(*) AS n FROM content').one(),
	);
	expect(left).toEqual({ n: 0 });
});

test('the text of a session has its newest 50,000 characters, without the run that has not ended', () =>
	runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), (_, { storage }) => {
		const store = new SessionStore(storage);
		store.create({ id: 's', agent: 'searchable', owner: 'o', createdAt: 1 });
		const begin = (n: number) =>
			store.runs.begin({ n, id: `run_${n}`, boot: 'b', firstSeq: store.messages.nextPlace(), createdAt: n });
		const end = (n: number) =>
			store.runs.end(n, 'completed', { before: [], draft: [], steps: 0, event: { type: 'cancelled' } }, n);
		begin(1);
		expect(readContents(store)).toBeUndefined();
		for (let n = 0; n < 100; n++) store.messages.add(1, { role: 'user', content: `${n}${'x'.repeat(998)}` }, 1);
		expect(readContents(store)).toBeUndefined();
		end(1);
		const text = readContents(store) ?? '';
		expect(text).toHaveLength(50_000);
		expect(text).toContain('99xxx');
		expect(text).not.toContain('48xxx');
		begin(2);
		store.messages.add(2, { role: 'user', content: 'Not yet.' }, 2);
		expect(readContents(store)).toBe(text);
		end(2);
		expect(readContents(store)).toMatch(/\nNot yet\.$/);
		store.replace(2 * messageStride);
		expect(readContents(store)).toMatch(/^0x+$/);
	}));
