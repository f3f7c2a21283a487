import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import type { FileBucket } from '../../../src/cloudflare/config/env.ts';
import { FileStore } from '../../../src/cloudflare/session/files/session-files.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { nameStep } from '../../../src/cloudflare/session/store/workspace.ts';
import { createWorkspace, toBytes } from '../../../src/core/workspace/create.ts';
import { type Quota, usualQuota } from '../../../src/core/workspace/plan.ts';
import type { Caller, WorkspaceStore } from '../../../src/core/workspace/store.ts';
import { refusal } from '../../core/chat/support.ts';
import { type CreateWorkspace, describeWorkspace, snapshot } from '../../core/workspace/contract.ts';
import { counted } from '../../rows.ts';

interface Setting {
	readonly bucket?: FileBucket;
	readonly quota?: Partial<Quota>;
}

/** A session in a new object. Each call reads the rows, like the first call of an instance. */
async function createSession({ bucket, quota }: Setting = {}) {
	const object = env.SESSIONS.get(env.SESSIONS.newUniqueId());
	const config = () => ({ files: bucket, workspaceQuota: { ...usualQuota, ...quota }, roomLimits: {} });
	const use = <T>(work: (store: SessionStore, files: FileStore, storage: DurableObjectStorage) => T | Promise<T>) =>
		runInDurableObject(object, async (_, { storage }) => {
			const store = new SessionStore(storage);
			return work(store, new FileStore({ store, config, assertMayChange: () => {} }), storage);
		});
	await use((store) => store.create({ id: object.id.toString(), agent: 'scripted', owner: 'local', createdAt: 1 }));
	let turn = 0;
	const store: WorkspaceStore = {
		// Each call of a test belongs to a later turn.
		nameStep: (callId) => nameStep(turn++, callId),
		find: (path) => use((_, files) => files.find(path)),
		list: (query) => use((_, files) => files.list(query)),
		read: (file, from, to) => use((_, files) => files.read(file, from, to)),
		findLine: (file, line) => use((_, files) => files.findLine(file, line)),
		// A signal can be used only in the object that created it.
		change: (edits, caller, result) => use((_, files) => files.change(edits, withoutSignal(caller), result)),
		undo: (steps, caller) => use((_, files) => files.undo(steps, withoutSignal(caller))),
		changes: (limit, before) => use((_, files) => files.changes(limit, before)),
		readNote: (key) => use((_, files) => files.readNote(key)),
		recall: (caller) => use((_, files) => files.recall(caller)),
	};
	return { workspace: createWorkspace(store), use };
}

const withoutSignal = (caller: Caller | undefined) => caller && { callId: caller.callId, step: caller.step };

const createIn =
	(setting: Setting): CreateWorkspace =>
	async (files = {}) => {
		const { workspace } = await createSession(setting);
		const edits = Object.entries(files).map(([path, content]) => {
			return { type: 'write', path, content: toBytes(content, path) } as const;
		});
		if (edits.length > 0) await workspace.change(edits);
		return workspace;
	};

describeWorkspace('in a session', createIn({ bucket: env.FILES }));
describeWorkspace('in a session without a bucket', createIn({}));

describe('the workspace of a session', () => {
	test('reads only the returned rows and bytes if it has 10,000 files of 200 MB in all', async () => {
		const { use } = await createSession({ bucket: env.FILES });
		const content = new Uint8Array(20_000).fill(120);
		for (let n = 0; n < 10_000; n += 1_000)
			await use((_, files) =>
				files.change(
					Array.from({ length: 1_000 }, (__, at) => {
						return { type: 'write', path: `d${(n + at) % 100}/f${n + at}.txt`, content } as const;
					}),
				),
			);
		await use(async (_, __, storage) => {
			const { storage: counting, rows } = counted(storage);
			const store = new SessionStore(counting);
			const config = () => ({ files: env.FILES, workspaceQuota: usualQuota, roomLimits: {} });
			const own = new FileStore({ store, config, assertMayChange: () => {} });
			const large = createWorkspace(own);
			const cost = async (work: () => unknown): Promise<number> => {
				rows();
				await work();
				return rows().read;
			};
			// A row each for the file, its content and the index.
			expect(await cost(() => large.list({ path: 'd7', limit: 10 }))).toBeLessThanOrEqual(40);
			expect(await cost(() => large.list({ limit: 10 }))).toBeLessThanOrEqual(40);
			expect(await cost(() => large.list({ recursive: true, limit: 10 }))).toBeLessThanOrEqual(30);
			expect(await cost(() => store.workspace.files.listFiles('d50', 10))).toBeLessThanOrEqual(30);
			expect(await cost(() => large.stat('d7/f7.txt'))).toBeLessThanOrEqual(3);
			expect(await cost(() => large.read('d7/f7.txt', { to: 10 }))).toBeLessThanOrEqual(6);
			expect(await cost(() => large.readLines('d7/f7.txt'))).toBeLessThanOrEqual(6);
			expect(await cost(() => large.changes({ limit: 10 }))).toBeLessThanOrEqual(50);
			expect(await cost(() => large.write('d7/f7.txt', 'new'))).toBeLessThanOrEqual(40);
			const move = (at: number) => ({ type: 'move', from: `d${at % 100}/f${at}.txt`, to: `m/f${at}.txt` }) as const;
			await large.change(Array.from({ length: 1_000 }, (_, at) => move(at)));
			expect(await cost(() => large.changes({ limit: 10 }))).toBeLessThanOrEqual(60);
			for (let n = 0; n < 60; n++) await large.write('one.txt', `text ${n}\n`);
			expect(await cost(() => large.changes({ limit: 50 }))).toBeLessThanOrEqual(200);
		});
	});

	test('does not repeat the change of a repeated call, but a later turn can use the same id', async () => {
		const { use } = await createSession();
		const ask = (role: 'user' | 'assistant') =>
			use((store) => store.messages.add(1, role === 'user' ? { role, content: 'go' } : { role, content: 'yes' }, 1));
		await ask('user');
		await ask('assistant');
		const call = () =>
			use(async (_, files) => {
				const workspace = createWorkspace(files).forCall('call_1');
				const before = await workspace.recall();
				if (before === undefined) await workspace.change([{ type: 'write', path: 'a', content: 'x' }], { size: 1 });
				return before;
			});
		expect([await call(), await call()]).toEqual([undefined, { size: 1 }]);
		await ask('assistant');
		expect([await call(), await call()]).toEqual([undefined, { size: 1 }]);
	});

	test('removes unneeded contents from the bucket', async () => {
		const { use } = await createSession({ bucket: env.FILES, quota: { bytes: 3_000_000 } });
		const large = new Uint8Array(2_000_000);
		const prefix = await use((store) => store.bucketFolder);
		const count = async () => (await env.FILES.list({ prefix })).objects.length;
		const due = () =>
			use(
				(store) =>
					store.outbox.listDue(Number.POSITIVE_INFINITY).filter(({ message }) => message.to === 'bucket').length,
			);
		await use((_, files) => files.change([{ type: 'write', path: 'a', content: large }]));
		expect([await count(), await due()]).toEqual([1, 0]);
		// The journal keeps the old content for a while.
		await use((_, files) => files.change([{ type: 'write', path: 'a', content: new Uint8Array(10) }]));
		expect([await count(), await due()]).toEqual([1, 0]);
		// Two such contents exceed the quota.
		await use((_, files) => files.change([{ type: 'write', path: 'a', content: large }]));
		await use((_, files) => files.change([{ type: 'write', path: 'a', content: new Uint8Array(10) }]));
		expect([await count(), await due()]).toEqual([2, 1]);
		// A refused change leaves no content in the bucket.
		const refused = await use((_, files) =>
			refusal(files.change([{ type: 'write', path: 'a', content: large, ifVersion: -1 }])),
		);
		expect([refused.code, await count(), await due()]).toEqual(['conflict', 2, 1]);
	});

	test('keeps a thousand changes with their contents in its journal', async () => {
		const { use } = await createSession();
		await use(async (store, files) => {
			for (let n = 0; n < 1_010; n++)
				await files.change([{ type: 'write', path: 'a', content: new TextEncoder().encode(`${n}`) }]);
			const kept = store.workspace.journal.page(2_000);
			expect([kept.length, kept[0]?.id, kept.at(-1)?.id]).toEqual([1_000, '1010.0', '11.0']);
		});
		const contents = await use((_, __, { sql }) => sql.exec('SELECT COUNT(*) AS n FROM content').one().n);
		expect(contents).toBe(1_001);
	});

	test('enforces the limits of the quota, and stores nothing of a refused change', async () => {
		const { workspace } = await createSession({ quota: { files: 2, bytes: 100, fileBytes: 60 } });
		expect((await refusal(workspace.write('a', 'x'.repeat(61)))).message).toMatch(/a file at most 60/);
		await workspace.write('a', 'x'.repeat(60));
		expect((await refusal(workspace.write('b', 'x'.repeat(50)))).message).toMatch(/at most 100 bytes/);
		await workspace.write('b', '');
		expect((await refusal(workspace.write('c', ''))).message).toMatch(/at most 2 files/);
		expect(await snapshot(workspace)).toEqual({ a: 'x'.repeat(60), b: '' });
	});
});
