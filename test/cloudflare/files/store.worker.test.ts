import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FileBucket } from '../../../src/cloudflare/config/env.ts';
import { OwnerUploads } from '../../../src/cloudflare/files/store.ts';
import { nameUploads } from '../../../src/cloudflare/objects/shards.ts';
import type { Upload } from '../../../src/cloudflare/objects/upload-api.ts';
import { setClock } from '../../clock.ts';

const large = new Uint8Array(1_200_000).fill(7);
const start = Date.parse('2030-01-01T00:00:00Z');

let owner = '';
let count = 0;
beforeEach(() => {
	owner = `uploads-${count++}`;
	setClock(new Date(start).toISOString());
});
afterEach(() => setClock());

const findObject = () => env.DIRECTORIES.get(env.DIRECTORIES.idFromName(nameUploads(owner)));

const createUpload = (id: string, more: Partial<Upload> = {}): Upload => ({
	...{ id: `${owner}-${id}`, user: 'ada', name: 'a.bin', purpose: 'user_data', mime: 'x/y', size: large.length },
	...{ createdAt: start, ...more },
});

const room = { roomLimits: {}, workspaceQuota: { files: 10, bytes: 1e8, fileBytes: 1e7 } };

/** Uses a store in the object of the owner. */
const use = <T>(bucket: FileBucket | undefined, work: (store: OwnerUploads) => Promise<T>, more = {}) =>
	runInDurableObject(findObject(), (_, { storage }) =>
		work(new OwnerUploads({ storage, now: () => start, config: () => ({ files: bucket, ...room, ...more }) })),
	);

const listKeys = async () => (await env.FILES.list({ prefix: `uploads/${owner}` })).objects.map(({ key }) => key);
const countRows = () =>
	runInDurableObject(findObject(), (_, { storage }) => storage.sql.exec('SELECT * FROM upload').toArray().length);

const change = (more: Partial<FileBucket>): FileBucket =>
	new Proxy<FileBucket>(env.FILES, {
		get: (bucket, name) => Reflect.get(more, name) ?? Reflect.get(bucket, name).bind(bucket),
	});
const broken = async () => {
	throw new Error('The bucket is down.');
};

test('an upload that is sent again counts once', async () => {
	for (const bucket of [env.FILES, undefined]) {
		const upload = createUpload(bucket === undefined ? 'rows' : 'bucket');
		await use(bucket, async (store) => {
			expect(await store.putUpload(upload, large)).toEqual({ ok: true });
			expect(await store.putUpload(upload, large)).toEqual({ ok: true });
		});
	}
	expect(await countRows()).toBe(2);
});

test('an upload that does not reach the bucket is nowhere, and can be sent again', async () => {
	const upload = createUpload('a');
	await use(change({ put: broken }), async (store) => {
		expect(await store.putUpload(upload, large)).toMatchObject({ ok: false, error: { code: 'storage_unavailable' } });
		expect(await store.listUploads({ user: 'ada', limit: 9 })).toMatchObject({ value: [] });
		expect(await store.readUploads('ada', [upload.id], 1e9)).toMatchObject({ value: [] });
	});
	await use(env.FILES, async (store) => {
		expect(await store.putUpload(upload, large)).toEqual({ ok: true });
		expect(await store.readUploads('ada', [upload.id], 1e9)).toMatchObject({ value: [{ content: large }] });
	});
});

test('an upload that ends in a crash is removed from the bucket an hour later', async () => {
	const upload = createUpload('a');
	const dies = change({
		put: async (key, value) => {
			await env.FILES.put(key, value);
			await broken();
		},
	});
	await use(dies, (store) => store.putUpload(upload, large));
	expect(await listKeys()).toHaveLength(1);
	setClock(new Date(start + 3_600_001).toISOString());
	expect(await runDurableObjectAlarm(findObject())).toBe(true);
	expect([await listKeys(), await countRows()]).toEqual([[], 0]);
});

test('an upload whose person is erased while it arrives leaves nothing', async () => {
	const upload = createUpload('a');
	await use(env.FILES, async (store) => {
		const bucket = change({
			put: async (key, value) => {
				await store.removeUploads('ada');
				return env.FILES.put(key, value);
			},
		});
		await use(bucket, async (slow) => {
			expect(await slow.putUpload(upload, large)).toMatchObject({ ok: false, error: { code: 'not_found' } });
		});
	});
	expect([await listKeys(), await countRows()]).toEqual([[], 0]);
});

test('a deletion that the bucket refuses hides the file at once, and is tried again', async () => {
	const upload = createUpload('a');
	await use(env.FILES, (store) => store.putUpload(upload, large));
	await use(change({ delete: broken }), async (store) => {
		expect(await store.removeUploads('ada', upload.id)).toEqual({ ok: true, value: 1 });
		expect(await store.listUploads({ user: 'ada', limit: 9 })).toMatchObject({ value: [] });
		expect(await store.removeUploads('ada', upload.id)).toEqual({ ok: true, value: 0 });
	});
	expect(await listKeys()).toHaveLength(1);
	expect(await runDurableObjectAlarm(findObject())).toBe(true);
	expect([await listKeys(), await countRows()]).toEqual([[], 0]);
});

test('a file that is deleted while it is read is read whole, or is missing', async () => {
	const [inBucket, inRows] = [createUpload('a'), createUpload('b')];
	await use(env.FILES, (store) => store.putUpload(inBucket, large));
	await use(undefined, (store) => store.putUpload(inRows, large));
	await use(env.FILES, async (store) => {
		const reads = [inBucket, inRows].map(({ id }) => store.readUploads('ada', [id], 1e9));
		await store.removeUploads('ada');
		for (const read of await Promise.all(reads)) {
			if (read.ok) expect(read.value[0]?.content).toEqual(large);
			else expect(read.error.code).toBe('not_found');
		}
	});
});

test('a bucket that is not bound any more is an error that names it', async () => {
	const upload = createUpload('a');
	await use(env.FILES, (store) => store.putUpload(upload, large));
	await use(undefined, async (store) => {
		expect(await store.readUploads('ada', [upload.id], 1e9)).toMatchObject({
			ok: false,
			error: { code: 'not_configured', message: expect.stringContaining('FILES') },
		});
	});
});

test('the limits of an owner hold for all its users together', async () => {
	const limits = { roomLimits: { owner: 2_500_000 } };
	await use(
		undefined,
		async (store) => {
			for (const [id, user] of [
				['a', 'ada'],
				['b', 'ben'],
			] as const)
				expect((await store.putUpload(createUpload(id, { user }), large)).ok).toBe(true);
			const refused = await store.putUpload(createUpload('c', { user: 'cem' }), large);
			expect(refused).toMatchObject({ ok: false, error: { code: 'too_large', data: { field: 'file' } } });
			await store.removeUploads('ada');
			expect((await store.putUpload(createUpload('c', { user: 'cem' }), large)).ok).toBe(true);
		},
		limits,
	);
});

test('an object without files has no tables of them after an alarm', async () => {
	await use(undefined, async (store) => {
		await store.handleAlarm();
		expect(await store.listUploads({ limit: 9 })).toEqual({ ok: true, value: [] });
		expect(await store.removeUploads('ada')).toEqual({ ok: true, value: 0 });
	});
	await runInDurableObject(findObject(), (_, { storage }) => {
		expect(storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name LIKE 'upload%'").toArray()).toEqual([]);
	});
});
