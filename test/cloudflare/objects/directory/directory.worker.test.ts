import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterEach, assert, expect, test } from 'vitest';
import type { DirectoryPage, Listed } from '../../../../src/cloudflare/objects/directory/api.ts';
import { Directory } from '../../../../src/cloudflare/objects/directory/object.ts';
import { DirectoryStore } from '../../../../src/cloudflare/objects/directory/store.ts';
import { setClock } from '../../../clock.ts';
import { counted } from '../../../rows.ts';

afterEach(() => setClock());

/** A new directory for each test. */
function newDirectory() {
	return env.DIRECTORIES.get(env.DIRECTORIES.newUniqueId());
}

function entry(id: string, activeAt: number, more: Partial<Listed> = {}): Listed {
	return { id, agent: 'assistant', createdAt: 1_000, activeAt, ...more };
}

/** Yields every page of a list. Calls `between` with the number of the page. */
function allPages(store: DirectoryStore, limit: number, between: (page: number) => void = () => {}): Listed[] {
	const seen: Listed[] = [];
	let page: DirectoryPage = { sessions: [] };
	for (let n = 0; n === 0 || page.cursor !== undefined; n++) {
		page = store.list({ cursor: page.cursor, limit });
		expect(page.sessions.length).toBeLessThanOrEqual(limit);
		seen.push(...page.sessions);
		expect(seen.length, 'a list that does not end').toBeLessThan(5_000);
		between(n);
	}
	return seen;
}

const readIds = (sessions: readonly Listed[]) => sessions.map(({ id }) => id);

test('refuses a call after the deadline of the call', async () => {
	const directory = newDirectory();
	await runInDurableObject(directory, async (one) => {
		assert(one instanceof Directory);
		const late = Date.now() - 1;
		const touch = one.touch(entry('late', 1_000), undefined, late);
		for (const call of [touch, one.list({ limit: 10 }, late), one.readHeld(undefined, late)])
			await expect(call).rejects.toMatchObject({ code: 'overloaded' });
	});
	await directory.touch(entry('soon', 1_000), undefined, Date.now() + 60_000);
	expect(readIds((await directory.list({ limit: 10 })).sessions)).toEqual(['soon']);
});

test('lists sessions by last activity, newest first, and in a fixed order if the times are equal', async () => {
	const directory = newDirectory();
	const titled = entry('a', 5_000, { title: 'Receipts', agent: 'support', createdAt: 3_000 });
	for (const one of [entry('c', 4_000), titled, entry('b', 5_000), entry('d', 9_000)]) await directory.touch(one);
	const { sessions, cursor } = await directory.list({ limit: 10 });
	expect(sessions).toEqual([entry('d', 9_000), entry('b', 5_000), titled, entry('c', 4_000)]);
	expect(cursor).toBeUndefined();
});

test('a newer activity moves a session to the front, and an older activity changes nothing', async () => {
	const directory = newDirectory();
	await directory.touch(entry('a', 1_000, { title: 'old' }));
	await directory.touch(entry('b', 2_000));
	await directory.touch(entry('a', 3_000, { title: 'new' }));
	await directory.touch(entry('a', 2_999, { title: 'late' }));
	expect((await directory.list({ limit: 10 })).sessions).toEqual([
		entry('a', 3_000, { title: 'new' }),
		entry('b', 2_000),
	]);
	await directory.touch(entry('a', 3_000));
	expect((await directory.list({ limit: 1 })).sessions).toEqual([entry('a', 3_000)]);
});

test('returns a cursor except on the last page', async () => {
	const directory = newDirectory();
	expect(await directory.list({ limit: 1 })).toEqual({ sessions: [] });
	for (const at of [1, 2, 3, 4]) await directory.touch(entry(`s${at}`, at));
	const first = await directory.list({ limit: 2 });
	expect(readIds(first.sessions)).toEqual(['s4', 's3']);
	expect(first.cursor).toBeDefined();
	const second = await directory.list({ limit: 2, cursor: first.cursor });
	expect(readIds(second.sessions)).toEqual(['s2', 's1']);
	expect(second.cursor).toBeUndefined();
});

test('a removed session stays removed after a late activity and after a restart', async () => {
	const directory = newDirectory();
	setClock('2026-03-01T12:00:00Z');
	await directory.touch(entry('a', 1_000));
	await directory.remove('a');
	await directory.remove('never listed');
	await evictDurableObject(directory);
	setClock('2026-03-02T11:59:59Z');
	await directory.remove('another');
	await directory.touch(entry('a', Date.parse('2026-03-02T11:59:58Z')));
	await directory.touch(entry('never listed', 9_000));
	expect(await directory.list({ limit: 10 })).toEqual({ sessions: [] });
});

test('lists a new session that has the id of a removed session', async () => {
	const directory = newDirectory();
	await directory.touch(entry('a', 5_000, { createdAt: 4_000 }));
	await directory.remove('a');
	await directory.touch(entry('a', 8_000, { createdAt: 4_001 }));
	await directory.touch(entry('a', 7_000, { createdAt: 4_000 }));
	expect((await directory.list({ limit: 10 })).sessions).toEqual([entry('a', 8_000, { createdAt: 4_001 })]);
});

test('remembers the id of a removed session for a day', async () => {
	const directory = newDirectory();
	const ids = (kept: string) =>
		runInDurableObject(directory, (_, { storage }) =>
			storage.sql
				.exec<{ id: string }>('SELECT id FROM session WHERE id LIKE ?', kept)
				.toArray()
				.map(({ id }) => id),
		);
	await directory.touch(entry('listed', 1));
	await runInDurableObject(directory, (_, { storage }) => {
		const store = new DirectoryStore(storage);
		for (let n = 0; n < 150; n++) store.remove(`old ${n}`, Date.parse('2026-03-01T12:00:00Z') + n);
	});
	setClock('2026-03-02T11:59:59.999Z');
	await directory.remove('x');
	expect(await ids('old %')).toHaveLength(150);
	setClock('2026-03-02T12:00:01Z');
	for (const left of [50, 0, 0]) {
		await directory.remove('x');
		expect(await ids('old %')).toHaveLength(left);
	}
	expect(await ids('%')).toEqual(['listed', 'x']);
});

test('while some of 1,000 sessions change, the pages list each unchanged session once and in order', async () => {
	await runInDurableObject(newDirectory(), (_, { storage }) => {
		const store = new DirectoryStore(storage);
		const id = (n: number) => `s${String(n).padStart(4, '0')}`;
		// Ten sessions at each time, so that pages end between equal times.
		for (let n = 0; n < 1_000; n++) store.touch(entry(id(n), 10_000 + Math.floor(n / 10)));
		const changed = new Set<string>();
		const change = (one: string, work: () => void) => {
			changed.add(one);
			work();
		};
		const seen = allPages(store, 37, (page) => {
			const at = 20_000 + page;
			change(id((page * 97) % 1_000), () => store.touch(entry(id((page * 97) % 1_000), at)));
			change(id((page * 61 + 5) % 1_000), () => store.remove(id((page * 61 + 5) % 1_000), at));
			change(`new ${page}`, () => store.touch(entry(`new ${page}`, at)));
			change(`past ${page}`, () => store.touch(entry(`past ${page}`, 10_000 + ((page * 13) % 100))));
		});
		const unchanged = Array.from({ length: 1_000 }, (_, n) => id(999 - n)).filter((one) => !changed.has(one));
		expect(unchanged.length).toBeGreaterThan(900);
		expect(readIds(seen).filter((one) => !changed.has(one))).toEqual(unchanged);
		expect(new Set(readIds(seen)).size).toBe(seen.length);
	});
});

const anyTime = fc.nat(15).map((n) => n * 1_200_000);
const happening = fc.record({
	kind: fc.constantFrom('touch', 'remove'),
	id: fc.nat(12).map(String),
	at: anyTime,
});

test('pages list every unchanged session exactly once, even if other sessions change between two pages', async () => {
	await runInDurableObject(newDirectory(), (_, { storage }) => {
		const store = new DirectoryStore(storage);
		fc.assert(
			fc.property(
				fc.array(fc.tuple(fc.nat(12).map(String), anyTime), { maxLength: 20 }),
				fc.array(fc.array(happening, { maxLength: 4 }), { maxLength: 12 }),
				fc.integer({ min: 1, max: 4 }),
				(before, between, limit) => {
					storage.sql.exec('DELETE FROM session');
					for (const [id, at] of before) store.touch(entry(id, at));
					const start = allPages(store, 100);
					const touched = new Set<string>();
					const seen = allPages(store, limit, (page) => {
						for (const { kind, id, at } of between[page] ?? []) {
							touched.add(id);
							if (kind === 'remove') store.remove(id, at);
							else store.touch(entry(id, at));
						}
					});
					expect(new Set(readIds(seen)).size).toBe(seen.length);
					expect(seen.filter(({ id }) => !touched.has(id))).toEqual(start.filter(({ id }) => !touched.has(id)));
				},
			),
			{ numRuns: 300 },
		);
	});
});

test('a new activity writes one row and four index entries, and a known activity writes nothing', async () => {
	await runInDurableObject(newDirectory(), (_, { storage }) => {
		const { storage: counting, rows } = counted(storage);
		const store = new DirectoryStore(counting);
		for (let n = 0; n < 100; n++) store.touch(entry(`s${n}`, n));
		rows();
		for (const at of [1_000, 2_000]) {
			store.touch(entry('s0', at));
			expect(rows().written).toBe(5);
			store.touch(entry('s0', at));
			store.touch(entry('s0', at - 1));
			expect(rows().written).toBe(0);
		}
		expect(readIds(store.list({ limit: 1 }).sessions)).toEqual(['s0']);
	});
});

test('lists waiting sessions by activity until they continue', async () => {
	await runInDurableObject(newDirectory(), (_, { storage }) => {
		const store = new DirectoryStore(storage);
		const call = { callId: 'c', kind: 'approval', place: 0 } as const;
		const wait = { since: 1_000, calls: [call, { ...call, callId: 'd', place: 1 }] };
		const readWaiting = () => [
			readIds(store.list({ limit: 9, isWaiting: true }).sessions),
			store.listWaiting({ limit: 9 }).entries.map(({ session, callId }) => `${session} ${callId}`),
		];
		for (const [id, at] of [
			['a', 1],
			['b', 2],
			['c', 3],
		] as const)
			store.touch({ ...entry(id, at), wait });
		store.touch(entry('d', 4));
		expect(readWaiting()).toEqual([
			['c', 'b', 'a'],
			['a c', 'a d', 'b c', 'b d', 'c c', 'c d'],
		]);
		store.touch({ ...entry('a', 5), wait: { ...wait, calls: wait.calls.slice(1) } });
		store.touch({ ...entry('b', 6), wait: null });
		// Older versions do not send whether the session waits.
		store.touch(entry('c', 7));
		store.remove('d', 8);
		expect(readWaiting()).toEqual([
			['c', 'a'],
			['a d', 'c c', 'c d'],
		]);
		expect(readIds(store.list({ limit: 9 }).sessions)).toEqual(['c', 'b', 'a']);
		store.remove('a', 9);
		expect(readWaiting()).toEqual([['c'], ['c c', 'c d']]);
	});
});
