import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';

const ask: typeof fetch = (input, init) => SELF.fetch(new Request(input, init));
const create = (fetch = ask) => createClient({ baseUrl: 'http://localhost', retryDelayMs: 0, fetch });
const createUser = () => `user ${crypto.randomUUID()}`;

test('a client writes memories, reads them, finds them by words, and removes them', async () => {
	const [runlet, user] = [create(), createUser()];
	const written = await runlet.putMemory('projects/my site.md', 'The site is in Hono.', { user });
	expect(written).toMatchObject({ path: 'projects/my site.md', source: { via: 'http' } });
	expect(await runlet.getMemory('projects/my site.md', { user })).toEqual(written);
	const other = await runlet.putMemory('food.md', 'Eats no meat.', { user });
	expect(await runlet.listMemories({ user })).toEqual({ memories: [other, written] });
	expect(await runlet.searchMemories('Which site?', { user, limit: 5 })).toEqual([written]);
	expect(await runlet.listMemories({ user: createUser() })).toEqual({ memories: [] });
	await expect(runlet.putMemory('food.md', 'New.', { user, isNew: true })).rejects.toMatchObject({
		code: 'precondition_failed',
	});
	await runlet.deleteMemory('food.md', { user });
	expect(await runlet.listMemories({ user })).toEqual({ memories: [written] });
	await runlet.eraseMemories({ user });
	expect(await runlet.listMemories({ user })).toEqual({ memories: [] });
	await expect(runlet.getMemory('food.md', { user })).rejects.toMatchObject({ code: 'not_found' });
	await expect(runlet.getMemory('../sessions', { user })).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('an export contains all memories, even if they fill several pages', async () => {
	const [runlet, user] = [create(), createUser()];
	const paths = Array.from({ length: 101 }, (_, n) => `${100 + n}.md`);
	await Promise.all(paths.map((path) => runlet.putMemory(path, `At ${path}.`, { user })));
	expect((await Array.fromAsync(runlet.exportMemories({ user }))).map(({ path }) => path)).toEqual(paths);
	expect((await runlet.listMemories({ user, limit: 2 })).cursor).toBe('101.md');
});

test('refuses a change that is based on an old version, and accepts a retry after a lost answer', async () => {
	const user = createUser();
	let lost = 0;
	const runlet = create(async (input, init) => {
		const response = await ask(input, init);
		if (init?.method !== 'PUT' || lost++ > 0) return response;
		await response.body?.cancel();
		throw new TypeError('The network is gone.');
	});
	const first = await create().putMemory('a.md', 'One.', { user });
	const second = await runlet.putMemory('a.md', 'Two.', { user, version: first.version });
	expect(lost).toBe(2);
	expect(second).toMatchObject({ text: 'Two.' });
	const stale = { user, version: first.version };
	await expect(runlet.putMemory('a.md', 'Three.', stale)).rejects.toMatchObject({ code: 'precondition_failed' });
	await expect(runlet.deleteMemory('a.md', stale)).rejects.toMatchObject({ code: 'precondition_failed' });
	await runlet.deleteMemory('a.md', { user, version: second.version });
	expect(await runlet.listMemories({ user })).toEqual({ memories: [] });
});
