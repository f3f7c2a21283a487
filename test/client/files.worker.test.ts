import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { createSession } from '../client.ts';

const client = createClient({
	baseUrl: 'http://localhost',
	fetch: (input, init) => SELF.fetch(new Request(input, init)),
});

test('the client writes, lists, reads and deletes files, and lists their changes', async () => {
	const id = await createSession();
	expect(await client.writeFile(id, 'a b/ü?#%.txt', 'text')).toMatchObject({ path: 'a b/ü?#%.txt', size: 4 });
	await client.writeFile(id, 'b.bin', Uint8Array.of(1, 2, 0));
	const first = await client.listFiles(id, { limit: 1 });
	expect(first).toMatchObject({ files: [{ path: 'a b/ü?#%.txt' }], cursor: 'a b/ü?#%.txt' });
	expect(await client.listFiles(id, { cursor: first.cursor })).toMatchObject({ files: [{ path: 'b.bin' }] });
	expect(await (await client.readFile(id, 'a b/ü?#%.txt')).text()).toBe('text');
	expect(new Uint8Array(await (await client.readFile(id, 'b.bin')).arrayBuffer())).toEqual(Uint8Array.of(1, 2, 0));
	await client.deleteFile(id, 'b.bin');
	expect((await client.listChanges(id)).changes.map(({ kind, path }) => [kind, path])).toEqual([
		['deleted', 'b.bin'],
		['created', 'b.bin'],
		['created', 'a b/ü?#%.txt'],
	]);
	await expect(client.readFile(id, 'b.bin')).rejects.toMatchObject({ code: 'not_found' });
});

test('refuses a path with empty or dot segments, which could reach another route', async () => {
	const id = await createSession();
	for (const path of ['../messages', '..', 'a/./b', '', 'a//b', 'a/'])
		for (const work of [client.readFile(id, path), client.writeFile(id, path, 'x'), client.deleteFile(id, path)])
			await expect(work).rejects.toThrow(/is no path/);
});
