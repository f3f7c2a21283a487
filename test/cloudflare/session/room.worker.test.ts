import { env, runInDurableObject, SELF } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { type Config, readConfig } from '../../../src/cloudflare/config/config.ts';
import type { RoomLimits } from '../../../src/cloudflare/objects/budget.ts';
import { allEvents, createSession, readHistory, readObject, readState, readText, request, send } from '../../client.ts';
import { countWork } from '../../rows.ts';
import { play } from '../../script.ts';

const mebibyte = 1_048_576;
const large = 'word '.repeat(100_000);

const readOwn = (id: string): Promise<Config> =>
	runInDurableObject(readObject(id), (one) => readConfig(Reflect.get(one, 'env')));

/** Runs `work` with other limits of bytes than the limits of the Worker under test. */
async function limited(limits: RoomLimits, work: () => Promise<void>): Promise<void> {
	const { roomLimits } = await readOwn(await createSession());
	const before = { ...roomLimits };
	Object.assign(roomLimits, limits);
	await work().finally(() => Object.assign(roomLimits, before));
}

const say = (id: string, text: string) => request(`/v1/sessions/${id}/messages`, { text });
const put = (id: string, path: string, bytes: number) =>
	request(`/v1/sessions/${id}/files/${path}`, 'x'.repeat(bytes - 2), {}, 'PUT');
const exportLines = async (id: string) =>
	new TextDecoder().decode(
		await (await request(`/v1/sessions/${id}/export`, undefined, { accept: 'application/x-ndjson' })).arrayBuffer(),
	);
const importLines = (body: string) =>
	SELF.fetch('http://localhost/v1/sessions/import', {
		method: 'POST',
		body,
		headers: { 'content-type': 'application/x-ndjson' },
	});
const remove = (id: string, path = '') => request(`/v1/sessions/${id}${path}`, undefined, {}, 'DELETE');
const readBytes = async (id: string): Promise<number> => Number((await readState(id)).bytes);
const full = (scope: keyof RoomLimits) => ({
	error: {
		code: 'too_large',
		message: expect.stringMatching(new RegExp(`^storage: .*${scope.toUpperCase()}_BYTES.*Delete .*raise`)),
		data: { field: 'storage', scope, limit: expect.any(Number), used: expect.any(Number) },
	},
});
/** The bytes of an owner or a user in the owner's list. */
const readHeld = (owner = 'local', user?: string) => {
	const directory = env.DIRECTORIES.get(env.DIRECTORIES.idFromName(owner));
	return directory.readHeld(user);
};

describe('a session with a storage limit', () => {
	test('when full, refuses messages and stores nothing, but can be read and deleted', () =>
		limited({ session: 1_900_000 }, async () => {
			const id = await createSession();
			play('One.', 'Two.', 'Three.', 'Four.', 'Five.');
			const statuses: number[] = [];
			for (let n = 0; n < 5; n++) statuses.push((await say(id, large)).status);
			expect(statuses).toEqual([200, 200, 200, 413, 413]);
			const before = await readBytes(id);
			expect(before).toBeLessThanOrEqual(1_900_000);
			for (let n = 0; n < 20; n++) {
				const refused = await say(id, large);
				expect(refused.status).toBe(413);
				expect(await refused.json()).toMatchObject(full('session'));
			}
			expect(await readBytes(id)).toBe(before);
			expect(await readHistory(id)).toHaveLength(6);
			expect((await request(`/v1/sessions/${id}/export`)).status).toBe(200);
			expect((await remove(id)).status).toBe(204);
		}));

	test('is not created by a first message that exceeds the limit', () =>
		limited({ session: mebibyte / 2 }, async () => {
			play('never');
			const headers = { 'idempotency-key': 'large-first' };
			const made = await request('/v1/sessions', { agent: 'scripted', text: large.repeat(2) }, headers);
			expect(made.status).toBe(413);
			expect(await made.json()).toMatchObject(full('session'));
			play('Hello.');
			const again = await request('/v1/sessions', { agent: 'scripted', text: 'hi' }, headers);
			expect(await again.json()).toMatchObject({ text: 'Hello.' });
		}));

	test('when full, refuses files from people and from its agent until a deletion frees space', () =>
		limited({ session: 2 * mebibyte }, async () => {
			const id = await createSession('hands');
			expect((await put(id, 'a.txt', mebibyte)).status).toBe(201);
			const refused = await put(id, 'b.txt', mebibyte);
			expect(refused.status).toBe(413);
			expect(await refused.json()).toMatchObject(full('session'));
			const write = { id: 'w', name: 'write_file', input: { path: 'c.txt', text: 'x'.repeat(mebibyte) } };
			play({ toolCalls: [write] }, 'Full.');
			await allEvents(await send(id, 'Write.'));
			const result = (await readHistory(id)).find(({ role }) => role === 'tool');
			expect(result).toMatchObject({ isError: true, content: expect.stringContaining('SESSION_BYTES') });
			expect((await say(id, 'hi')).status).toBe(413);
			expect((await remove(id, '/files/a.txt')).status).toBe(204);
			expect(await readBytes(id)).toBeLessThan(1.5 * mebibyte);
			play('Hello.');
			expect((await say(id, 'hi')).status).toBe(200);
			expect((await put(id, 'b.txt', mebibyte / 2)).status).toBe(201);
		}));

	test('counts files in the bucket, and does not count deleted files', () =>
		limited({ session: 4 * mebibyte }, async () => {
			const id = await createSession();
			expect((await put(id, 'a.txt', 3 * mebibyte)).status).toBe(201);
			expect(await readBytes(id)).toBeGreaterThan(3 * mebibyte);
			expect((await put(id, 'b.txt', 3 * mebibyte)).status).toBe(413);
			expect(await readBytes(id)).toBeLessThan(4 * mebibyte);
			await limited({ session: mebibyte }, async () => {
				expect((await remove(id, '/files/a.txt')).status).toBe(204);
			});
			expect((await put(id, 'b.txt', 3 * mebibyte)).status).toBe(201);
		}));

	test('is not imported if its messages exceed the limit', () =>
		limited({}, async () => {
			const id = await createSession();
			play('One.');
			await say(id, large.repeat(2));
			const lines = await exportLines(id);
			await limited({ session: mebibyte / 2 }, async () => {
				const imported = await importLines(lines);
				expect(imported.status).toBe(413);
				expect(await imported.json()).toMatchObject(full('session'));
			});
		}));

	test('leaves no rows and no files behind when its import is refused', () =>
		limited({}, async () => {
			const id = await createSession();
			play('One.');
			await say(id, large);
			await put(id, 'a.txt', 3 * mebibyte);
			const lines = await exportLines(id);
			await limited({ session: 2 * mebibyte }, async () => {
				const count = countWork();
				const imported = await importLines(lines);
				expect(imported.status).toBe(413);
				expect(await imported.json()).toMatchObject(full('session'));
				const made = count().find(({ what }) => /INSERT INTO session .*token_key/s.test(what))?.object ?? '';
				expect(made).not.toBe('');
				const bytes = await runInDurableObject(readObject(made), (_, { storage }) => storage.sql.databaseSize);
				expect(bytes).toBeLessThan(20_000);
				await expect.poll(async () => (await env.FILES.list({ prefix: `sessions/${made}/` })).objects.length).toBe(0);
			});
		}));
});

describe.each(['owner', 'user'] as const)('a full %s', (scope) => {
	const body = scope === 'user' ? { user: 'hoarder' } : {};
	const make = async () => {
		const made = await request('/v1/sessions', { agent: 'scripted', ...body });
		return { ...(await made.json<{ id: string; error?: object }>()), status: made.status };
	};
	const held = async () => (await readHeld('local', 'hoarder'))[scope] ?? 0;

	test('refuses messages, sessions, files and imports until a deletion', async () => {
		const [one, other] = [await make(), await make()];
		play('One.');
		await say(other.id, 'hi');
		const lines = await exportLines(other.id);
		await expect.poll(held).toBeGreaterThan(0);
		const most = (await held()) + 3 * mebibyte;
		await limited({ [scope]: most }, async () => {
			for (const path of ['a.txt', 'b.txt']) expect((await put(one.id, path, 2 * mebibyte)).status).toBe(201);
			await expect.poll(async () => (await say(other.id, 'hi')).status).toBe(413);
			const before = await readBytes(other.id);
			for (let n = 0; n < 20; n++) expect(await (await say(other.id, large)).json()).toMatchObject(full(scope));
			expect(await readBytes(other.id)).toBe(before);
			expect(await make()).toMatchObject({ status: 413, ...full(scope) });
			expect(await (await put(other.id, 'c.txt', 10)).json()).toMatchObject(full(scope));
			if (scope === 'owner') expect(await (await importLines(lines)).json()).toMatchObject(full(scope));
			expect((await exportLines(one.id)).length).toBeGreaterThan(mebibyte);
			expect((await remove(one.id)).status).toBe(204);
			play('Two.');
			await expect.poll(held).toBeLessThan(most);
			expect(await (await say(other.id, 'hi')).json()).toMatchObject({ text: 'Two.' });
			expect((await make()).status).toBe(201);
		});
		await remove(other.id);
	});
});

test('an owner with free storage needs no call to the directory, and a small turn reports no bytes', async () => {
	const id = await createSession();
	play('One.', 'Two.');
	await allEvents(await send(id, 'tell me'));
	const listed = () => request('/v1/sessions?limit=1').then((response) => response.text());
	await expect.poll(listed).toContain('tell me');
	const count = countWork(env.DIRECTORIES.idFromName('local').toString());
	expect(readText(await allEvents(await send(id, 'go')))).toBe('Two.');
	expect(count()).toEqual([]);
});

test('reads the limits from the environment, and refuses invalid limits with the remedy', () => {
	const read = (more: object) => readConfig({ ...env, ...more }).roomLimits;
	expect(read({ SESSION_BYTES: '5', OWNER_BYTES: 7, USER_BYTES: 'none' })).toEqual({ session: 5, owner: 7 });
	for (const name of ['SESSION_BYTES', 'OWNER_BYTES', 'USER_BYTES'])
		for (const value of ['', '0', '-1', '1.5', '1 GiB'])
			expect(() => read({ [name]: value })).toThrow(new RegExp(`${name}: must be a whole number of bytes.*none`));
});

test('GET /v1/usage shows the bytes of an owner and a user, and the limits', async () => {
	const made = await request('/v1/sessions', { agent: 'scripted', user: 'shown' });
	const { id } = await made.json<{ id: string }>();
	await put(id, 'a.txt', 2 * mebibyte);
	const read = async (query: string) =>
		(await (await request(`/v1/usage${query}`)).json<{ storage: { bytes: number }[] }>()).storage;
	await expect.poll(async () => (await read('?owner=local&user=shown'))[0]?.bytes).toBeGreaterThan(2 * mebibyte);
	expect(await read('?owner=local&user=shown')).toEqual([
		{ owner: 'local', user: 'shown', bytes: expect.any(Number), limit: 10 * 1_024 * mebibyte },
	]);
	expect(await read('?owner=local')).toEqual([
		{ owner: 'local', bytes: expect.any(Number), limit: 100 * 1_024 * mebibyte },
	]);
	await remove(id);
	await expect.poll(async () => (await read('?owner=local&user=shown'))[0]?.bytes).toBe(0);
});
