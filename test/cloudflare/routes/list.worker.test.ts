import { env } from 'cloudflare:test';
import { beforeAll, expect, test } from 'vitest';
import { createKeys } from '../../credentials.ts';
import worker from '../../worker.ts';

interface List {
	readonly sessions: readonly { readonly id: string; readonly createdAt: string }[];
	readonly cursor?: string;
}

const mine = env.DIRECTORIES.get(env.DIRECTORIES.idFromName('lister'));
const id = (n: number) => String(n).padStart(64, '0');
/** The list of an owner whom no other test knows. */
let list: (query?: string) => Promise<List>;
beforeAll(async () => {
	const { keys, bindings } = await createKeys({ lister: ['run'] });
	const headers = { authorization: `Bearer ${keys.lister}` };
	list = async (query = '') =>
		(await worker.request(`https://runlet.example.com/v1/sessions${query}`, { headers }, bindings)).json();
});

test('a list without sessions is empty, and has no cursor', async () => {
	expect(await list()).toEqual({ sessions: [] });
});

test('GET /v1/sessions lists the sessions of the owner by last activity, a page at a time', async () => {
	for (let n = 0; n < 25; n++) {
		const title = n === 24 ? { title: 'Receipts' } : {};
		await mine.touch({ id: id(n), agent: 'scripted', ...title, createdAt: n, activeAt: Date.UTC(2099, 0, 1) + n });
	}
	const other = env.DIRECTORIES.get(env.DIRECTORIES.idFromName('another'));
	await other.touch({ id: id(99), agent: 'scripted', createdAt: 1, activeAt: Date.UTC(2099, 1, 1) });

	const first = await list();
	expect(first.sessions).toHaveLength(20);
	expect(first.sessions[0]).toEqual({
		id: id(24),
		agent: 'scripted',
		title: 'Receipts',
		createdAt: '1970-01-01T00:00:00.024Z',
		lastActivityAt: '2099-01-01T00:00:00.024Z',
	});
	expect(first.sessions[1]).not.toHaveProperty('title');
	const next = await list(`?limit=5&cursor=${first.cursor}`);
	expect([...first.sessions, ...next.sessions].map((session) => session.id)).toEqual(
		Array.from({ length: 25 }, (_, n) => id(24 - n)),
	);
	expect((await list('?limit=100')).sessions.slice(0, 25)).toHaveLength(25);
});
