/** An unused session moves to the bucket, and comes back when somebody opens it (docs/data.md, "Archive"). */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Config, readConfig } from '../../../src/cloudflare/config/config.ts';
import type { FileBucket } from '../../../src/cloudflare/config/env.ts';
import { migrate } from '../../../src/cloudflare/objects/migrate.ts';
import { ArchiveRows } from '../../../src/cloudflare/session/store/archive.ts';
import { schema } from '../../../src/cloudflare/session/store/schema.ts';
import { cacheReads } from '../../../src/cloudflare/session/store/tables.ts';
import { allEvents, createSession, readHistory, readObject, readState, request, restart, send } from '../../client.ts';
import { die } from '../../crash.ts';
import { countWork } from '../../rows.ts';
import { play } from '../../script.ts';
import { breakStorage, mendStorage } from '../../storage.ts';
import firstTables from '../objects/first/session.sql?raw';

const dayMs = 86_400_000;

interface Archiving {
	archiveAfterMs: number | undefined;
	files: FileBucket;
}

/** The configuration of all sessions in the Worker under test. */
const readOwn = (id: string): Promise<Config> =>
	runInDurableObject(readObject(id), (one) => readConfig(Reflect.get(one, 'env')));

async function configure(id: string, changes: Partial<Archiving>): Promise<void> {
	Object.assign(await readOwn(id), changes);
}

afterEach(async () => {
	await configure(await createSession(), { archiveAfterMs: undefined, files: env.FILES });
});

/** Creates a session with a turn while sessions are archived after 90 days. */
async function createUsed(agent = 'scripted'): Promise<string> {
	const id = await createSession(agent);
	await configure(id, { archiveAfterMs: 90 * dayMs });
	play('One.');
	await allEvents(await send(id, 'Hello.'));
	return id;
}

const inStorage = <T>(id: string, work: (storage: DurableObjectStorage) => T) =>
	runInDurableObject(readObject(id), (_, { storage }) => work(storage));
const readAlarm = (id: string) => inStorage(id, (storage) => storage.getAlarm());
const isArchived = (id: string) =>
	inStorage(id, ({ sql }) => 'archive' in sql.exec('SELECT * FROM schema_version').one());
const listArchives = async (id: string) =>
	(await env.FILES.list({ prefix: `archives/${id}/` })).objects.map(({ key }) => key);

/** Makes a session as old as if it was last used so many days ago. Restarts its object. */
async function age(id: string, days = 91): Promise<void> {
	await inStorage(id, ({ sql }) => {
		const ms = days * dayMs;
		sql.exec('UPDATE run SET created_at = created_at - ?, ended_at = ended_at - ?', ms, ms);
		sql.exec(
			'UPDATE session SET created_at = created_at - ?, listed_at = listed_at - ?, used_at = used_at - ?',
			...[ms, ms, ms],
		);
	});
	await restart(id);
}

const isRested = async (id: string) => ((await readAlarm(id)) ?? 0) > Date.now() + dayMs / 2;

/** Fires the session's alarm until that is true. */
async function fireUntil(id: string, isDone: (id: string) => Promise<boolean>): Promise<void> {
	const fire = async () => {
		await runDurableObjectAlarm(readObject(id));
		return isDone(id);
	};
	await expect.poll(fire).toBe(true);
}

/** Archives a session as if it was not used for so many days. */
async function archive(id: string, days?: number): Promise<void> {
	await fireUntil(id, isRested);
	await age(id, days);
	await runDurableObjectAlarm(readObject(id));
	// The reports of the new instance go first, so the alarm fires once more.
	await expect.poll(() => isArchived(id)).toBe(true);
}

/** All rows of all tables, except of what was told to other objects and when the session was used. */
function dump(id: string): Promise<Record<string, unknown>> {
	return inStorage(id, ({ sql }) => {
		const query =
			"SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND name NOT LIKE '\\_cf%' ESCAPE '\\'";
		const tables = [...sql.exec<{ name: string; sql: string }>(query)].filter((one) => one.name !== 'outbox');
		const rows = (name: string) =>
			[...sql.exec(`SELECT * FROM "${name}"`)].map((row) => JSON.stringify({ ...row, used_at: 0 }, toText));
		const isTable = (statement: string | null) => statement?.startsWith('CREATE TABLE') === true;
		return Object.fromEntries(tables.map((one) => [one.name, [one.sql, isTable(one.sql) && rows(one.name)]]));
	});
}

const toText = (_: string, value: unknown) =>
	value instanceof ArrayBuffer ? [...new Uint8Array(value)].join() : value;

async function readEverything(id: string): Promise<readonly string[]> {
	const paths = ['', '/messages', '/files', '/changes', '/tasks', '/trace', '/export', '/events'];
	const texts: string[] = [];
	for (const path of paths) texts.push(await (await request(`/v1/sessions/${id}${path}`)).text());
	return texts;
}

const call = (name: string, input: object, id: string) => ({ toolCalls: [{ id, name, input }] });

/** Uses a session in many ways. */
async function createRich(): Promise<string> {
	const id = await createUsed();
	const at = (path: string) => `/v1/sessions/${id}${path}`;
	play(
		call('write_file', { path: 'notes/a.txt', content: 'One.' }, 'w'),
		call('long', { characters: 300_000 }, 'l'),
		'Long.',
	);
	await allEvents(await send(id, 'Work.'));
	play(call('pay', { amount: 1 }, 'p'));
	await allEvents(await send(id, 'Pay.'));
	play('Paid.');
	await request(at('/tool-results'), [{ id: 'p', approve: true }]);
	await request(at('/files/bytes.bin'), 'x'.repeat(70_000), {}, 'PUT');
	await request(at('/files/large.txt'), 'y'.repeat(1_500_000), {}, 'PUT');
	const { runs } = await (await request(at('/export'))).json<{ runs: { id: string }[] }>();
	await request(at(`/runs/${runs[0]?.id}/feedback`), { rating: 'up' }, {}, 'PUT');
	await request(at('/token'), {});
	return id;
}

/** A bucket whose calls of some methods are replaced. */
const changeBucket = (changes: Partial<FileBucket>): FileBucket =>
	new Proxy<FileBucket>(env.FILES, {
		get: (bucket, name) => Reflect.get(changes, name) ?? Reflect.get(bucket, name).bind(bucket),
	});
const fail = () => Promise.reject(new Error('the bucket is away'));

test('an unused session moves to the bucket, and comes back with all its rows when it is opened', async () => {
	const id = await createRich();
	await fireUntil(id, isRested);
	await age(id);
	const [rows, shown] = [await dump(id), await readEverything(id)];
	await inStorage(id, ({ sql }) => sql.exec('UPDATE session SET used_at = NULL'));
	await restart(id);
	await runDurableObjectAlarm(readObject(id));
	await expect.poll(() => isArchived(id)).toBe(true);
	expect(await inStorage(id, ({ sql }) => sql.databaseSize)).toBeLessThanOrEqual(8_192);
	expect(await readAlarm(id)).toBeNull();
	expect(await listArchives(id)).toHaveLength(1);
	await restart(id);
	expect(await readEverything(id)).toEqual(shown);
	expect(await dump(id)).toEqual(rows);
	await expect.poll(() => listArchives(id)).toEqual([]);
	await fireUntil(id, isRested);
	play('Again.');
	await allEvents(await send(id, 'And on.'));
	expect((await readHistory(id)).at(-1)).toMatchObject({ content: 'Again.' });
});

test('a session comes back in the object that archived it, for two requests with one read of the bucket', async () => {
	const id = await createUsed();
	await archive(id);
	let reads = 0;
	const get: FileBucket['get'] = (...asked) => {
		reads++;
		return env.FILES.get(...asked);
	};
	await configure(id, { files: changeBucket({ get }) });
	const [history, state] = await Promise.all([readHistory(id), readState(id)]);
	expect([history.length, state.status, reads]).toEqual([2, 'completed', 1]);
	await createUsed();
	expect((await request(`/v1/sessions/${env.SESSIONS.newUniqueId()}`)).status).toBe(404);
	expect(reads).toBe(1);
});

test('no session has an alarm or is archived by default', async () => {
	const id = await createUsed();
	await configure(id, { archiveAfterMs: undefined });
	await restart(id);
	await age(id);
	await fireUntil(id, async () => (await readAlarm(id)) === null);
	expect(await isArchived(id)).toBe(false);
});

test('a read counts as use, and writes at most a row a day', async () => {
	const id = await createUsed();
	await fireUntil(id, isRested);
	await age(id, 89);
	const work = countWork(id);
	const count = () => inStorage(id, () => work().reduce((sum, { rows }) => sum + rows, 0));
	await readState(id);
	expect(await count()).toBe(1);
	await readState(id);
	await restart(id);
	await readState(id);
	expect(await count()).toBe(0);
	await inStorage(id, ({ sql }) => sql.exec('UPDATE run SET ended_at = ended_at - ?', 10 * dayMs));
	await restart(id);
	await fireUntil(id, isRested);
	expect(await isArchived(id)).toBe(false);
});

test('a session that waits for a person is not archived', async () => {
	const id = await createUsed();
	play(call('pay', { amount: 1 }, 'p'));
	await allEvents(await send(id, 'Pay.'));
	await age(id);
	await fireUntil(id, async () => (await readAlarm(id)) === null);
	expect(await isArchived(id)).toBe(false);
});

test('lists show an archived session and its status, and do not restore it', async () => {
	const id = await createUsed();
	await archive(id);
	const list = async (query: string) =>
		(await (await request(`/v1/sessions?limit=96${query}`)).json<{ sessions: { id: string }[] }>()).sessions;
	expect(await list('')).toContainEqual(expect.objectContaining({ id, title: 'Hello.' }));
	expect(await list('&status=completed')).toContainEqual(expect.objectContaining({ id, status: 'completed' }));
	expect(await list('&status=error')).not.toContainEqual(expect.objectContaining({ id }));
	expect(await isArchived(id)).toBe(true);
	const read = (caller: object) =>
		runInDurableObject(readObject(id), (one) => Reflect.apply(Reflect.get(one, 'brief'), one, [caller]));
	expect(await read({ owner: 'other' })).toMatchObject({ ok: false, error: { code: 'not_found' } });
	expect(
		await read({ owner: 'local', role: 'customer', by: { owner: 'local', via: 'key', id: 'k', user: 'x' } }),
	).toMatchObject({ ok: false });
});

describe('the archive of a session', () => {
	test('is removed with the session', async () => {
		const id = await createUsed();
		await archive(id);
		expect((await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE')).status).toBe(204);
		expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
		expect(await listArchives(id)).toEqual([]);
		expect(
			await inStorage(id, ({ sql }) => [...sql.exec("SELECT name FROM sqlite_master WHERE name = 'session'")]),
		).toEqual([]);
	});

	test('is removed with its user', async () => {
		const user = `user-${crypto.randomUUID()}`;
		const { id } = await (await request('/v1/sessions', { agent: 'scripted', user })).json<{ id: string }>();
		await configure(id, { archiveAfterMs: 90 * dayMs });
		play('One.');
		await allEvents(await send(id, 'Hello.'));
		await archive(id);
		await request(`/v1/users/${user}`, undefined, {}, 'DELETE');
		await expect.poll(() => listArchives(id)).toEqual([]);
		expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
	});

	test('is removed with a session whose lifetime ends', async () => {
		const response = await request('/v1/sessions', { agent: 'scripted', expiresAfterMs: 200 * dayMs });
		const { id } = await response.json<{ id: string }>();
		await configure(id, { archiveAfterMs: 90 * dayMs });
		play('One.');
		await allEvents(await send(id, 'Hello.'));
		await archive(id);
		expect(Math.round((Number(await readAlarm(id)) - Date.now()) / dayMs)).toBe(109);
		vi.setSystemTime(Date.now() + 110 * dayMs);
		try {
			await runDurableObjectAlarm(readObject(id));
		} finally {
			vi.useRealTimers();
		}
		await expect.poll(() => listArchives(id)).toEqual([]);
		expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
	});

	test('is no file of any session', async () => {
		const [id, other] = [await createUsed(), await createUsed()];
		await archive(id);
		const [key = ''] = await listArchives(id);
		for (const path of [key, `../../../${key}`, encodeURIComponent(key)])
			expect((await request(`/v1/sessions/${other}/files/${path}`)).status).not.toBe(200);
		expect(await (await request(`/v1/sessions/${other}/files`)).json()).toMatchObject({ files: [] });
	});
});

describe('archiving a session', () => {
	test('leaves it as it is if its object dies after the upload, twice in a row', async () => {
		const id = await createUsed();
		await fireUntil(id, isRested);
		await age(id);
		const rows = await dump(id);
		let deaths = 0;
		const put: FileBucket['put'] = async (key, value) => {
			await env.FILES.put(key, value);
			if (deaths++ < 2) await die(id, { isDurable: true });
		};
		await configure(id, { files: changeBucket({ put }) });
		await runDurableObjectAlarm(readObject(id)).catch(() => {});
		await expect.poll(() => deaths, { timeout: 60_000 }).toBeGreaterThan(0);
		expect(await isArchived(id)).toBe(false);
		expect(await dump(id)).toEqual(rows);
		for (let n = 0; n < 8 && deaths < 3; n++) await runDurableObjectAlarm(readObject(id)).catch(() => {});
		await expect.poll(() => isArchived(id)).toBe(true);
		expect(deaths).toBe(3);
		expect(await listArchives(id)).toHaveLength(1);
		await readHistory(id);
		expect(await dump(id)).toEqual(rows);
	});

	test('is tried again later if the bucket fails', async () => {
		const id = await createUsed();
		await fireUntil(id, isRested);
		await age(id);
		let puts = 0;
		const put = () => {
			puts++;
			return fail();
		};
		await configure(id, { files: changeBucket({ put }) });
		await runDurableObjectAlarm(readObject(id));
		await expect.poll(() => puts).toBe(1);
		await expect.poll(async () => ((await readAlarm(id)) ?? 0) - Date.now()).toBeGreaterThan(0);
		await runDurableObjectAlarm(readObject(id));
		expect([puts, await isArchived(id)]).toEqual([1, false]);
		expect(Number(await readAlarm(id)) - Date.now()).toBeGreaterThan(3_000_000);
		await configure(id, { files: env.FILES });
		await inStorage(id, ({ sql }) => sql.exec('UPDATE session SET used_at = NULL'));
		await restart(id);
		await runDurableObjectAlarm(readObject(id));
		await expect.poll(() => isArchived(id)).toBe(true);
	});

	test('leaves it as it is if its rows cannot be removed', async () => {
		const id = await createUsed();
		await fireUntil(id, isRested);
		await age(id);
		const rows = await dump(id);
		let drops = 0;
		breakStorage((_, statement) => statement.startsWith('DROP TABLE') && ++drops > 2, id);
		await runDurableObjectAlarm(readObject(id));
		await expect.poll(() => drops).toBeGreaterThan(2);
		mendStorage();
		expect(await dump(id)).toEqual(rows);
		expect(await readHistory(id)).toHaveLength(2);
	});

	test('is given up for a message that arrives meanwhile', async () => {
		const id = await createUsed();
		await fireUntil(id, isRested);
		await age(id);
		let [isUploaded, mayGoOn] = [false, false];
		const put: FileBucket['put'] = async (key, value) => {
			await env.FILES.put(key, value);
			isUploaded = true;
			while (!mayGoOn) await new Promise((resolve) => setTimeout(resolve, 5));
		};
		await configure(id, { files: changeBucket({ put }) });
		void runDurableObjectAlarm(readObject(id));
		await expect.poll(() => isUploaded).toBe(true);
		play('Two.');
		await allEvents(await send(id, 'Wait.'));
		mayGoOn = true;
		expect((await readHistory(id)).map(({ content }) => content)).toEqual(['Hello.', 'One.', 'Wait.', 'Two.']);
		await restart(id);
		await fireUntil(id, isRested);
		expect(await isArchived(id)).toBe(false);
		await expect.poll(() => listArchives(id)).toEqual([]);
	});
});

describe('restoring a session', () => {
	const readArchive = async (id: string) => {
		const [key = ''] = await listArchives(id);
		const bytes = new Uint8Array((await (await env.FILES.get(key))?.arrayBuffer()) ?? []);
		return { key, bytes };
	};

	test('begins anew if its object dies, twice in a row', async () => {
		const id = await createRich();
		await fireUntil(id, isRested);
		const rows = await dump(id);
		await archive(id);
		let deaths = 0;
		const get: FileBucket['get'] = async (...asked) => {
			const found = await env.FILES.get(...asked);
			if (found === null || deaths === 2) return found;
			const bytes = new Uint8Array(await found.arrayBuffer());
			const body = new ReadableStream<Uint8Array>({
				start: (controller) => controller.enqueue(bytes.subarray(0, bytes.length - 30)),
				pull: async () => {
					// Some rows are stored by now.
					await new Promise((resolve) => setTimeout(resolve, 20));
					deaths++;
					await die(id, { isDurable: true });
				},
			});
			return { body, arrayBuffer: found.arrayBuffer };
		};
		await configure(id, { files: changeBucket({ get }) });
		for (let n = 0; n < 2; n++) {
			expect((await request(`/v1/sessions/${id}`).catch(() => undefined))?.status ?? 500).toBeGreaterThanOrEqual(500);
			expect(await isArchived(id)).toBe(true);
		}
		expect(deaths).toBe(2);
		expect((await request(`/v1/sessions/${id}`)).status).toBe(200);
		const { run: _, ...kept } = await dump(id);
		const { run: __, ...before } = rows;
		expect(Object.keys(kept)).toEqual(Object.keys(before));
		expect(kept.message).toEqual(before.message);
		expect(kept.piece).toEqual(before.piece);
	});

	test('answers 503 with Retry-After if the bucket fails, and loses nothing', async () => {
		const id = await createUsed();
		await archive(id);
		await configure(id, { files: changeBucket({ get: fail }) });
		const refused = await request(`/v1/sessions/${id}/messages`, { text: 'Hello?' });
		expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
		expect(await isArchived(id)).toBe(true);
		await configure(id, { files: env.FILES });
		expect(await readHistory(id)).toHaveLength(2);
	});

	test('answers 503 if the bucket is not bound any more, and names it', async () => {
		const id = await createUsed();
		await archive(id);
		Object.assign(await readOwn(id), { files: undefined });
		const refused = await request(`/v1/sessions/${id}`);
		expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('FILES')]);
		await configure(id, { files: env.FILES });
		expect(await readHistory(id)).toHaveLength(2);
	});

	test('restores no part of an archive that is cut, altered, missing or of another session', async () => {
		const id = await createUsed();
		await archive(id);
		const other = await createUsed();
		await archive(other);
		const { key, bytes } = await readArchive(id);
		const altered = bytes.slice();
		altered[altered.length >> 1] = (altered[altered.length >> 1] ?? 0) ^ 8;
		const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
		const zip = async (lines: string) =>
			new Uint8Array(
				await new Response(new Blob([lines]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer(),
			);
		const lines = text.split('\n');
		const damaged = [
			bytes.slice(0, bytes.length - 12),
			altered,
			(await readArchive(other)).bytes,
			await zip(lines.slice(0, -2).join('\n')),
			await zip(lines.filter((line) => !line.startsWith('["message"')).join('\n')),
			await zip(''),
		];
		const errors = vi.spyOn(console, 'error').mockImplementation(() => {});
		for (const wrong of [...damaged, undefined]) {
			if (wrong === undefined) await env.FILES.delete(key);
			else await env.FILES.put(key, wrong);
			errors.mockClear();
			const refused = await request(`/v1/sessions/${id}`);
			expect([refused.status, await refused.text()]).toEqual([500, expect.stringContaining('archive')]);
			expect(errors.mock.calls.flat().join()).toContain('session.archive_damaged');
			expect(errors.mock.calls.flat().join()).toContain(id);
			expect(await inStorage(id, ({ sql }) => sql.databaseSize)).toBeLessThanOrEqual(8_192);
		}
		errors.mockRestore();
		await env.FILES.put(key, bytes);
		expect(await readHistory(id)).toHaveLength(2);
	});
});

test('ARCHIVE_AFTER_DAYS is a number of days, and needs the bucket', () => {
	const { FILES: _, ...bare } = env;
	expect(readConfig({ ...env }).archiveAfterMs).toBeUndefined();
	expect(readConfig({ ...env, ARCHIVE_AFTER_DAYS: '90' }).archiveAfterMs).toBe(90 * dayMs);
	expect(() => readConfig({ ...env, ARCHIVE_AFTER_DAYS: '0' })).toThrow('ARCHIVE_AFTER_DAYS');
	expect(() => readConfig({ ...bare, ARCHIVE_AFTER_DAYS: '90' })).toThrow(/ARCHIVE_AFTER_DAYS.*FILES/);
});

test('any rows come back as they were, with the tables of the newest version', async () => {
	const cell = fc.oneof(
		fc.string({ unit: 'grapheme' }),
		fc.constant('\u0000'),
		fc.constant('\'"\n'),
		fc.integer(),
		fc.double({ noNaN: true, noDefaultInfinity: true }),
	);
	const row = fc.record({ text: fc.oneof(cell, fc.constant(null)), bytes: fc.uint8Array({ maxLength: 40 }) });
	await fc.assert(
		fc.asyncProperty(fc.array(row, { maxLength: 20 }), (rows) =>
			runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
				const { sql } = storage;
				const archive = new ArchiveRows(cacheReads(storage));
				storage.transactionSync(() => migrate(sql, { tables: firstTables, migrations: [] }));
				sql.exec("INSERT INTO session (id, agent, created_at, owner, token_key) VALUES ('s', 'a', 1, 'o', 'k')");
				sql.exec('CREATE TABLE any (n INTEGER PRIMARY KEY, text, bytes BLOB); CREATE INDEX any_text ON any (text)');
				for (const { text, bytes } of rows)
					sql.exec('INSERT INTO any (text, bytes) VALUES (?, ?)', text, bytes.slice().buffer);
				const read = () => [...sql.exec('SELECT * FROM any ORDER BY n')];
				const before = read();
				const lines = [...archive.list('s')];
				archive.leave({ key: "it's", bytes: 1, owner: 'o', status: 'idle' });
				expect([archive.version, archive.find()?.key]).toEqual([0, "it's"]);
				await archive.restore(
					's',
					(async function* () {
						yield* lines;
					})(),
					7,
				);
				expect(read()).toEqual(before);
				expect(archive.version).toBe(schema.migrations.length + 1);
				expect(sql.exec('SELECT id, used_at, shards FROM session').one()).toEqual({
					id: 's',
					used_at: 7,
					shards: null,
				});
			}),
		),
		{ numRuns: 50 },
	);
});
