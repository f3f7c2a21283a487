/** `GET /v1/sessions?q=` finds sessions by their contents (docs/sessions.md, "Find one by what was said"). */
import { env, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { listSessions } from '../../../../src/cloudflare/objects/directory/all.ts';
import type { Listed, SessionReport } from '../../../../src/cloudflare/objects/directory/api.ts';
import { DirectoryStore } from '../../../../src/cloudflare/objects/directory/store.ts';
import { nameShard } from '../../../../src/cloudflare/objects/shards.ts';
import { counted } from '../../../rows.ts';

const directories = env.DIRECTORIES;
const findDirectory = (name: string) => directories.get(directories.idFromName(name));

/** Works on a directory in an object of its own. */
const onStore = (
	work: (store: DirectoryStore, readRows: ReturnType<typeof counted>['rows'], sql: SqlStorage) => void,
) =>
	runInDurableObject(directories.get(directories.newUniqueId()), (_, { storage }) => {
		const { storage: counting, rows } = counted(storage);
		const store = new DirectoryStore(counting);
		rows();
		work(store, rows, storage.sql);
	});

const entry = { agent: 'open', createdAt: 1, activeAt: 1 };
const find = (store: DirectoryStore, words: string, query: object = {}) =>
	store.list({ words, limit: 50, contentsOf: ['open'], ...query }).sessions.map(({ id }) => id);

test('a search finds the words of title and contents together, in one directory and in five shards', async () => {
	const vocabulary = ['refund', '退款', 'café', 'tea'];
	const some = fc.subarray(vocabulary);
	const what = fc.constantFrom('touch', 'touch', 'touch', 'switch off', 'hide', 'remove');
	const operations = fc.array(
		fc.record({ what, session: fc.nat(9), title: some, text: some, isRepeated: fc.boolean() }),
		{
			minLength: 5,
			maxLength: 25,
		},
	);
	const searches = { 'refunds, cafe': ['refund', 'café'], 退款: ['退款'], 'tea 退款': ['tea', '退款'] };
	const users = [undefined, 'ada', 'ben'];
	await fc.assert(
		fc.asyncProperty(operations, async (operations) => {
			const [one, five] = [`one-${crypto.randomUUID()}`, `five-${crypto.randomUUID()}`];
			const all = { directories, findShardCount: (owner: string) => (owner === five ? 5 : 1) };
			type Known = { title: readonly string[]; text: readonly string[]; agent: string; user: string | null };
			const listed = new Map<string, Known>();
			const removed = new Set<string>();
			for (const [activeAt, { what, session, isRepeated, ...words }] of operations.entries()) {
				const id = `s${session}`;
				const about = { agent: session % 2 === 0 ? 'open' : 'closed', user: users[session % users.length] };
				const text = what === 'switch off' || words.text.length === 0 ? undefined : words.text.join(', ');
				// Pairs of sessions have the same time.
				const times = { createdAt: 1_000 + Math.floor(session / 2), activeAt };
				const report: SessionReport = { id, ...about, ...times, title: words.title.join(' '), text };
				for (const name of [one, nameShard(five, 5, about.user ?? id)])
					for (let n = 0; n < (isRepeated ? 2 : 1); n++)
						await (what === 'remove'
							? findDirectory(name).remove(id)
							: findDirectory(name).touch({ ...report, isHidden: what === 'hide' }));
				if (what === 'remove') removed.add(id);
				listed.delete(id);
				if (what !== 'remove' && what !== 'hide' && !removed.has(id)) {
					const known = { title: words.title, text: text === undefined ? [] : words.text };
					listed.set(id, { ...known, ...about, user: about.user ?? null });
				}
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
				for (const filter of [{}, { agent: 'open' }, { user: 'ada' }, { user: null, agent: 'closed' }] as Filter[])
					for (const contentsOf of [[], ['open'], ['open', 'closed']]) {
						const isMatch = ({ title, text, agent, user }: Known) =>
							wanted.every((word) => title.includes(word) || (contentsOf.includes(agent) && text.includes(word))) &&
							(filter.agent === undefined || agent === filter.agent) &&
							(filter.user === undefined || user === filter.user);
						const expected = [...listed].flatMap(([id, one]) => (isMatch(one) ? [id] : [])).sort();
						for (const owner of [one, five])
							expect(await search(owner, { words, contentsOf, ...filter })).toEqual(expected);
					}
		}),
		{ numRuns: 8 },
	);
}, 60_000);

interface Filter {
	readonly agent?: string;
	readonly user?: string | null;
}

test('a page of a search in contents reads only rows of sessions that match, whatever the number of sessions', () =>
	onStore((store, readRows) => {
		for (let n = 0; n < 3_000; n++) {
			const user = n % 1_000 === 7 ? 'rare' : 'ada';
			const text = `We speak about ${n % 2 === 0 ? 'apples' : 'pears'} and number ${n}.`;
			store.touch({ ...entry, id: `s${n}`, user, title: `Fruit ${n}`, createdAt: n, activeAt: n, text });
		}
		const read = (query: object) => {
			readRows();
			const { sessions, cursor } = store.list({ limit: 50, contentsOf: ['open'], ...query });
			return { found: sessions.length, read: readRows().read, cursor };
		};
		const first = read({ words: 'fruit apples' });
		expect(first.found).toBe(50);
		expect(first.read).toBeLessThanOrEqual(10 * 51);
		expect(read({ words: 'fruit apples', cursor: first.cursor }).read).toBeLessThanOrEqual(10 * 51);
		expect(read({ words: 'fruit' }).read).toBeLessThanOrEqual(10 * 51);
		expect(read({ words: 'pears', user: 'rare' })).toMatchObject({ found: 3, read: expect.toSatisfy((n) => n <= 30) });
		expect(read({ words: 'unknown' })).toMatchObject({ found: 0, read: 2 });
	}));

test('a report writes a row for a new text, and none for a repeated text or without a text', () =>
	onStore((store, readRows, sql) => {
		const touch = (more: object) => {
			readRows();
			store.touch({ ...entry, id: 's', title: 'Fruit', ...more });
			return readRows().written;
		};
		const withTitle = touch({});
		expect(sql.exec("SELECT 1 FROM sqlite_master WHERE name LIKE 'content%'").toArray()).toEqual([]);
		expect(touch({})).toBe(0);
		touch({ text: 'Apples.' });
		expect(touch({ text: 'Apples. Pears.' })).toBe(1);
		expect(touch({ text: 'Apples. Pears.' })).toBe(0);
		// An older report that comes late.
		expect(touch({ text: 'Apples. Pears.', activeAt: 0 })).toBe(0);
		expect(find(store, 'apples pears fruit')).toEqual(['s']);
		expect(sql.exec('SELECT COUNT(*) AS n FROM content').one()).toEqual({ n: 1 });
		expect(touch({})).toBe(1);
		expect(find(store, 'apples')).toEqual([]);
		expect(find(store, 'fruit')).toEqual(['s']);
		expect(withTitle).toBeGreaterThan(0);
	}));

test('contents leave the index with their session, and with a late report they do not come back', () =>
	onStore((store, _, sql) => {
		const report = { ...entry, id: 's', title: 'Fruit', text: 'Apples.' };
		store.touch(report);
		store.remove('s', 10);
		store.touch(report);
		store.touch({ ...report, isHidden: true });
		expect(sql.exec('SELECT COUNT(*) AS n FROM content').one()).toEqual({ n: 0 });
		expect(find(store, 'apples')).toEqual([]);
	}));

test('a search does not find the contents of an agent whose searchContents is off, and shows no excerpt of them', () =>
	onStore((store) => {
		store.touch({ ...entry, id: 's', title: 'Fruit', text: 'Fruit: apples.' });
		store.touch({ ...entry, id: 't', agent: 'closed', title: 'Fruit', createdAt: 2, text: 'Fruit: apples.' });
		expect(find(store, 'apples')).toEqual(['s']);
		expect(find(store, 'apples', { contentsOf: [] })).toEqual([]);
		const { sessions } = store.list({ words: 'fruit', limit: 2, contentsOf: ['open'] });
		expect(sessions.map(({ id, excerpt }) => [id, excerpt])).toEqual([
			['t', undefined],
			['s', 'Fruit: apples.'],
		]);
	}));
