/** `GET /v1/sessions?q=` finds sessions by their titles (docs/sessions.md, "Find one by its title"). */
import { env, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { listSessions } from '../../../../src/cloudflare/objects/directory/all.ts';
import type { Listed } from '../../../../src/cloudflare/objects/directory/api.ts';
import { DirectoryStore } from '../../../../src/cloudflare/objects/directory/store.ts';
import { nameShard } from '../../../../src/cloudflare/objects/shards.ts';
import { createKeys } from '../../../credentials.ts';
import { counted } from '../../../rows.ts';
import { play } from '../../../script.ts';
import worker from '../../../worker.ts';

const directories = env.DIRECTORIES;
const findDirectory = (name: string) => directories.get(directories.idFromName(name));

test('a search finds what a scan of all titles finds, newest first, in one directory and in five shards', async () => {
	const title = fc.option(fc.subarray(['refund', 'order', '退款', 'café', 'tea'], { minLength: 1 }), {
		nil: undefined,
	});
	const what = fc.constantFrom('touch', 'touch', 'touch', 'hide', 'remove');
	const operations = fc.array(fc.record({ what, session: fc.nat(9), title }), { minLength: 5, maxLength: 25 });
	const searches = {
		refund: ['refund'],
		'REFUNDS, tea!': ['refund', 'tea'],
		退款: ['退款'],
		cafe: ['café'],
		orde: ['order'],
	};
	const users = [undefined, 'ada', 'ben'];
	await fc.assert(
		fc.asyncProperty(operations, async (operations) => {
			const [one, five] = [`one-${crypto.randomUUID()}`, `five-${crypto.randomUUID()}`];
			const all = { directories, findShardCount: (owner: string) => (owner === five ? 5 : 1) };
			const listed = new Map<string, { words: readonly string[]; user: string | null; agent: string }>();
			const removed = new Set<string>();
			for (const [activeAt, { what, session, title: words = [] }] of operations.entries()) {
				const id = `s${session}`;
				const about = { agent: session % 2 === 0 ? 'even' : 'odd', user: users[session % users.length] };
				// Pairs of sessions have the same time.
				const entry = { id, ...about, createdAt: 1_000 + Math.floor(session / 2), activeAt };
				const title = words.length === 0 ? undefined : words.join(', ');
				for (const name of [one, nameShard(five, 5, about.user ?? id)])
					await (what === 'remove'
						? findDirectory(name).remove(id)
						: findDirectory(name).touch({ ...entry, title, isHidden: what === 'hide' }));
				if (what === 'remove') removed.add(id);
				listed.delete(id);
				if (what === 'touch' && !removed.has(id)) listed.set(id, { words, ...about, user: about.user ?? null });
			}
			const search = async (owner: string, query: object) => {
				const found: Listed[] = [];
				for (let cursor: string | undefined, n = 0; n === 0 || cursor !== undefined; n++) {
					const page = await listSessions(all, [owner], { ...query, limit: 2, cursor });
					found.push(...page.sessions);
					({ cursor } = page);
				}
				const times = found.map(({ createdAt }) => createdAt);
				expect(times).toEqual(times.toSorted((a, b) => b - a));
				return found.map(({ id }) => id).sort();
			};
			for (const [words, wanted] of Object.entries(searches))
				for (const { agent, user } of [
					{},
					{ agent: 'odd' },
					{ user: 'ada' },
					{ user: null, agent: 'even' },
				] as Filter[]) {
					const isMatch = (one: Required<Filter> & { words: readonly string[] }) =>
						wanted.every((word) => one.words.includes(word)) &&
						(agent === undefined || one.agent === agent) &&
						(user === undefined || one.user === user);
					const expected = [...listed].flatMap(([id, one]) => (isMatch(one) ? [id] : [])).sort();
					for (const owner of [one, five]) expect(await search(owner, { words, agent, user })).toEqual(expected);
				}
		}),
		{ numRuns: 10 },
	);
});

interface Filter {
	readonly agent?: string;
	readonly user?: string | null;
}

test('a page of a search reads only rows of sessions that match, whatever the number of titles', async () => {
	await runInDurableObject(directories.get(directories.newUniqueId()), (_, { storage }) => {
		const { storage: counting, rows } = counted(storage);
		const store = new DirectoryStore(counting);
		for (let n = 0; n < 5_000; n++) {
			const user = n % 1_000 === 7 ? 'rare' : 'ada';
			const title = n % 2 === 0 ? `Refund of order ${n}` : `Tea number ${n}`;
			store.touch({ id: `s${n}`, agent: 'assistant', user, title, createdAt: n, activeAt: n });
		}
		const read = (query: object) => {
			rows();
			const { sessions } = store.list({ limit: 50, ...query });
			return { found: sessions.length, read: rows().read };
		};
		const page = read({ words: 'refund' });
		expect(page.found).toBe(50);
		expect(page.read).toBeLessThanOrEqual(3 * 51);
		expect(read({ words: 'tea', user: 'rare' })).toEqual({ found: 5, read: 2 * 5 });
		expect(read({ words: 'order 4000' })).toEqual({ found: 1, read: 2 });
		expect(read({ words: 'unknown' })).toEqual({ found: 0, read: 0 });

		const { cursor } = store.list({ words: 'refund', limit: 50 });
		expect(read({ words: 'refund', cursor }).read).toBeLessThanOrEqual(3 * 51);
		rows();
		store.touch({
			id: 's8',
			agent: 'assistant',
			user: 'ada',
			title: 'Refund of order 8',
			createdAt: 8,
			activeAt: 9_000,
		});
		const { written } = rows();
		store.touch({ id: 's8', agent: 'assistant', user: 'ada', title: 'New words', createdAt: 8, activeAt: 9_001 });
		expect(rows().written - written).toBe(2);
	});
});

test('a session is found by its present title, by those who may list it, until it is removed', async () => {
	const owner = `titles-${crypto.randomUUID()}`;
	const { keys, bindings } = await createKeys({
		kim: { owner, user: 'kim', role: 'customer' },
		lee: { owner, user: 'lee', role: 'customer' },
		sam: { owner, role: 'staff' },
		stranger: { owner: `${owner}-else` },
	});
	const ask = (as: keyof typeof keys, path: string, body?: object, method = body === undefined ? 'GET' : 'POST') =>
		worker.request(
			`https://runlet.example.com/v1/sessions${path}`,
			{
				method,
				headers: { authorization: `Bearer ${keys[as]}`, 'content-type': 'application/json' },
				...(body && { body: JSON.stringify(body) }),
			},
			bindings,
		);
	const find = async (as: keyof typeof keys, query: string) =>
		(await (await ask(as, `?${query}`)).json<{ sessions: { id: string }[] }>()).sessions.map(({ id }) => id);
	play('Hello.');
	const made = await ask('kim', '', { agent: 'scripted', text: 'Where is my parcel? 包裹在哪里' });
	const { id } = await made.json<{ id: string }>();
	await expect.poll(() => find('kim', 'q=parcel')).toEqual([id]);
	expect(await find('sam', 'q=Parcels')).toEqual([id]);
	expect(await find('sam', 'q=parcel&user=kim&agent=scripted&status=completed')).toEqual([id]);
	expect(await find('sam', `q=${encodeURIComponent('包裹')}`)).toEqual([id]);
	for (const query of ['q=parcel&user=lee', 'q=parcel&agent=other', 'q=parcel&status=running', 'q=parcel+lost', 'q=!'])
		expect([query, await find('sam', query)]).toEqual([query, []]);
	for (const as of ['lee', 'stranger'] as const) expect(await find(as, 'q=parcel')).toEqual([]);
	expect((await ask('lee', '?q=parcel&user=kim')).status).toBe(403);
	for (const query of ['q=', `q=${'x'.repeat(201)}`]) expect((await ask('sam', `?${query}`)).status).toBe(400);

	expect((await ask('sam', `/${id}`, { title: 'Late delivery' }, 'PATCH')).status).toBe(200);
	await expect.poll(() => find('kim', 'q=late')).toEqual([id]);
	expect(await find('kim', 'q=parcel')).toEqual([]);
	await ask('sam', `/${id}`, undefined, 'DELETE');
	await expect.poll(() => find('kim', 'q=late')).toEqual([]);
});

test('a session that an older version listed is found after its next activity', async () => {
	await runInDurableObject(directories.get(directories.newUniqueId()), (_, { storage }) => {
		const entry = { id: 's', agent: 'assistant', title: 'Receipts', createdAt: 1 };
		const find = () => new DirectoryStore(storage).list({ words: 'receipts', limit: 1 }).sessions.length;
		new DirectoryStore(storage).touch({ ...entry, activeAt: 1 });
		storage.sql.exec(
			'DROP TABLE word; ALTER TABLE session DROP COLUMN word_row; ALTER TABLE session DROP COLUMN owner',
		);
		storage.sql.exec('ALTER TABLE feedback DROP COLUMN owner; DROP VIEW schema_version');
		storage.sql.exec('CREATE VIEW schema_version AS SELECT 3 AS version');
		expect(find()).toBe(0);
		new DirectoryStore(storage).touch({ ...entry, activeAt: 2 });
		expect(find()).toBe(1);
	});
});
