import { env, runInDurableObject, SELF } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { createSession, readObject, readState, request, restart } from '../../client.ts';

interface Page {
	readonly files: readonly { readonly path: string; readonly size: number; readonly mime: string }[];
	readonly cursor?: string;
}

const toUrl = (id: string, path = '') => `http://localhost/v1/sessions/${id}/files${path === '' ? '' : `/${path}`}`;
const put = (id: string, path: string, body: BodyInit | null, headers: Record<string, string> = {}) =>
	SELF.fetch(toUrl(id, path), { method: 'PUT', body, headers });
const get = (id: string, path: string, headers: Record<string, string> = {}) =>
	SELF.fetch(toUrl(id, path), { headers });
const list = async (id: string, query = ''): Promise<Page> => (await SELF.fetch(`${toUrl(id)}${query}`)).json();
const listPaths = async (id: string) => (await list(id)).files.map(({ path }) => path);

describe('files over HTTP', () => {
	test('a file is put, listed, read and deleted', async () => {
		const id = await createSession();
		const created = await put(id, 'notes/plan.md', 'Begin on Friday.');
		expect([created.status, created.headers.get('etag')]).toEqual([201, expect.stringMatching(/^"1-\w+"$/)]);
		expect(await created.json()).toEqual({
			path: 'notes/plan.md',
			size: 16,
			mime: 'text/markdown',
			modifiedAt: expect.stringMatching(/^\d{4}-.*Z$/),
		});
		expect((await put(id, 'notes/plan.md', 'Begin on Monday.')).status).toBe(200);
		await restart(id);
		expect(await list(id)).toEqual({ files: [expect.objectContaining({ path: 'notes/plan.md', size: 16 })] });
		const read = await get(id, 'notes/plan.md');
		expect([read.status, await read.text()]).toEqual([200, 'Begin on Monday.']);
		expect((await SELF.fetch(toUrl(id, 'notes/plan.md'), { method: 'DELETE' })).status).toBe(204);
		expect(await list(id)).toEqual({ files: [] });
		const missing = await get(id, 'notes/plan.md');
		expect(missing.status).toBe(404);
		expect(await missing.json()).toMatchObject({
			error: { message: 'path: there is no file notes/plan.md. GET /v1/sessions/ID/files lists what there is.' },
		});
		expect((await SELF.fetch(toUrl(id, 'notes/plan.md'), { method: 'DELETE' })).status).toBe(404);
	});

	test('changes are listed with diffs, newest first', async () => {
		const id = await createSession();
		await put(id, 'a.txt', 'one\n');
		await put(id, 'a.txt', 'two\n');
		const first = await (await request(`/v1/sessions/${id}/changes?limit=1`)).json<{ cursor: string }>();
		expect(first).toEqual({
			changes: [
				{
					id: '2.0',
					path: 'a.txt',
					kind: 'changed',
					at: expect.any(String),
					diff: expect.stringContaining('-one\n+two'),
				},
			],
			cursor: '2.0',
		});
		expect(await (await request(`/v1/sessions/${id}/changes?cursor=${first.cursor}`)).json()).toMatchObject({
			changes: [{ id: '1.0', path: 'a.txt', kind: 'created' }],
		});
	});

	test('a long list has pages', async () => {
		const id = await createSession();
		for (let n = 0; n < 5; n++) await put(id, `f/${n}`, 'x');
		const seen: string[] = [];
		for (let query = '?limit=2'; ; ) {
			const { files, cursor } = await list(id, query);
			seen.push(...files.map(({ path }) => path));
			if (cursor === undefined) break;
			query = `?limit=2&cursor=${encodeURIComponent(cursor)}`;
		}
		expect(seen).toEqual(['f/0', 'f/1', 'f/2', 'f/3', 'f/4']);
	});

	test('a large file is stored in the bucket, and is read whole and in ranges', async () => {
		const id = await createSession();
		const bytes = Uint8Array.from({ length: 20_000_000 }, (_, at) => (at * 31 + (at >> 8)) % 256);
		expect((await put(id, 'data.bin', bytes)).status).toBe(201);
		const { objects } = await env.FILES.list({ prefix: `sessions/${id}/` });
		expect(objects.map(({ size }) => size)).toEqual([bytes.length]);
		const read = new Uint8Array(await (await get(id, 'data.bin')).arrayBuffer());
		expect([read.length, read.findIndex((byte, at) => byte !== bytes[at])]).toEqual([bytes.length, -1]);
		const part = await get(id, 'data.bin', { range: 'bytes=9000000-9000009' });
		expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 9000000-9000009/20000000']);
		expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(9_000_000, 9_000_010));
		expect((await SELF.fetch(`http://localhost/v1/sessions/${id}`, { method: 'DELETE' })).status).toBe(204);
		await expect.poll(async () => (await env.FILES.list({ prefix: `sessions/${id}/` })).objects).toEqual([]);
	});

	test('after a crash, objects of the bucket that belong to no file are removed', async () => {
		const id = await createSession();
		const key = `sessions/${id}/orphan`;
		await runInDurableObject(readObject(id), (_, { storage }) =>
			new SessionStore(storage).outbox.beginWriting(key, Date.now()),
		);
		await env.FILES.put(key, 'bytes');
		await restart(id);
		await readState(id);
		await expect.poll(() => env.FILES.head(key)).toBeNull();
	});

	test('a client with the newest version gets 304, and a range of a small file gets 206', async () => {
		const id = await createSession();
		await put(id, 'a.txt', '0123456789');
		const { headers } = await get(id, 'a.txt');
		const etag = headers.get('etag') ?? '';
		expect((await get(id, 'a.txt', { 'if-none-match': etag })).status).toBe(304);
		for (const [range, text] of [
			['bytes=2-4', '234'],
			['bytes=7-', '789'],
			['bytes=-2', '89'],
			['bytes=8-99', '89'],
		] as const) {
			const part = await get(id, 'a.txt', { range });
			expect([part.status, await part.text()]).toEqual([206, text]);
		}
		for (const range of ['bytes=20-', 'bytes=4-2', 'bytes=0-1,3-4', 'bytes=-0', 'lines=1-2'])
			expect((await get(id, 'a.txt', { range })).status, range).toBe(200);
		await put(id, 'a.txt', 'new');
		expect((await get(id, 'a.txt', { 'if-none-match': etag })).status).toBe(200);
	});

	const remove = (id: string, path: string, headers: Record<string, string>) =>
		SELF.fetch(toUrl(id, path), { method: 'DELETE', headers });
	const tagOf = (response: Response) => response.headers.get('etag') ?? '';
	const mismatch = (field: string, message: RegExp) => ({
		error: { code: 'precondition_failed', message: expect.stringMatching(message), data: { field } },
	});

	test('If-Match replaces and deletes only the version that was read, and If-None-Match: * only creates', async () => {
		const id = await createSession();
		const only = { 'If-None-Match': '*' };
		const first = await put(id, 'a.txt', 'one', only);
		expect(first.status).toBe(201);
		const second = await put(id, 'a.txt', 'two', { 'If-Match': `"other", ${tagOf(first)}` });
		expect(second.status).toBe(200);
		for (const [refused, error] of [
			[
				await put(id, 'a.txt', 'three', { 'If-Match': tagOf(first) }),
				mismatch('If-Match', /a\.txt was changed meanwhile/),
			],
			[await put(id, 'b.txt', 'three', { 'If-Match': '*' }), mismatch('If-Match', /there is no file b\.txt/)],
			[await put(id, 'a.txt', 'three', only), mismatch('If-None-Match', /a\.txt is there already/)],
			[await remove(id, 'a.txt', { 'If-Match': tagOf(first) }), mismatch('If-Match', /a\.txt was changed meanwhile/)],
		] as const)
			expect([refused.status, await refused.json()]).toEqual([412, error]);
		for (const [name, value] of [
			['If-Match', 'no quotes'],
			['If-None-Match', tagOf(second)],
		] as const)
			expect((await put(id, 'a.txt', 'three', { [name]: value })).status).toBe(400);
		expect(await (await get(id, 'a.txt')).text()).toBe('two');
		expect((await put(id, 'a.txt', 'four', { 'If-Match': '*' })).status).toBe(200);
		const last = await get(id, 'a.txt');
		expect(await last.text()).toBe('four');
		expect((await remove(id, 'a.txt', { 'If-Match': tagOf(last) })).status).toBe(204);
		expect((await remove(id, 'a.txt', { 'If-Match': '*' })).status).toBe(404);
	});

	test('a file that changes during its conditional replacement is not replaced', async () => {
		const id = await createSession();
		const etag = tagOf(await put(id, 'a.txt', 'one'));
		const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
		const slow = put(id, 'a.txt', readable, { 'If-Match': etag });
		const writer = writable.getWriter();
		await writer.write(new Uint8Array(1_500_000));
		const countBegun = () =>
			runInDurableObject(
				readObject(id),
				(_, { storage }) => storage.sql.exec('SELECT id FROM outbox').toArray().length,
			);
		await expect.poll(countBegun).toBe(1);
		expect((await put(id, 'a.txt', 'two')).status).toBe(200);
		await writer.close();
		expect((await slow).status).toBe(412);
		expect(await (await get(id, 'a.txt')).text()).toBe('two');
	});

	test('a browser executes no uploaded file', async () => {
		const id = await createSession();
		const active = '<script>alert(1)</script>';
		for (const [name, type] of [
			['page.html', 'text/plain; charset=utf-8'],
			['page.xhtml', 'text/plain; charset=utf-8'],
			['image.svg', 'text/plain; charset=utf-8'],
			['feed.xml', 'text/plain; charset=utf-8'],
			['code.js', 'text/plain; charset=utf-8'],
			['code.mjs', 'text/plain; charset=utf-8'],
			['style.css', 'text/plain; charset=utf-8'],
			['page.htm', 'text/plain; charset=utf-8'],
			['app.webmanifest', 'text/plain; charset=utf-8'],
			['no-extension', 'text/plain; charset=utf-8'],
			['table.csv', 'text/csv; charset=utf-8'],
			['data.json', 'application/json; charset=utf-8'],
			['mod.wasm', 'application/octet-stream'],
			['paper.pdf', 'application/pdf'],
			['photo.png', 'text/plain; charset=utf-8'],
		] as const) {
			await put(id, name, active, { 'content-type': 'text/html' });
			const { headers } = await get(id, name);
			expect([name, headers.get('content-type')]).toEqual([name, type]);
			expect(headers.get('x-content-type-options')).toBe('nosniff');
			expect(headers.get('content-disposition')).toContain(`attachment; filename="${name}"`);
			expect(headers.get('content-security-policy')).toContain("default-src 'none'");
			expect(headers.get('content-security-policy')).toMatch(/; sandbox$/);
		}
		await put(id, 'photo.png', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0));
		expect((await get(id, 'photo.png')).headers.get('content-type')).toBe('image/png');
	});

	test('a download has the name of the file, even with special characters', async () => {
		const id = await createSession();
		await put(id, encodeURIComponent('Ünï "x" (1)\u20ac.txt'), 'x');
		expect((await get(id, encodeURIComponent('Ünï "x" (1)\u20ac.txt'))).headers.get('content-disposition')).toBe(
			`attachment; filename="_n_ _x_ (1)_.txt"; filename*=UTF-8''%C3%9Cn%C3%AF%20%22x%22%20%281%29%E2%82%AC.txt`,
		);
	});

	test('every path traversal is refused, and leaves no file', async () => {
		const id = await createSession();
		const tricks = [
			'%2e%2e%2fsecret',
			'a/%2e%2e%2f%2e%2e%2fb',
			'..%2f..%2fetc%2fpasswd',
			'%2fetc%2fpasswd',
			'a%5cb',
			'c:%2fa',
			'a%00b',
			'a%0d%0ab',
			'a%E2%80%AEb',
			'a%E2%80%8Bb',
			'%EF%BC%8E%EF%BC%8E%EF%BC%8Fa',
			'a%EF%BC%8Fb',
			'con',
			'NUL.txt',
			'a/',
			'a//b',
			'%20',
			'a.%20',
			'x'.repeat(300),
			`${'d/'.repeat(2_500)}x`,
		];
		for (const trick of tricks)
			for (const method of ['PUT', 'GET', 'DELETE'] as const) {
				const response = await SELF.fetch(toUrl(id, trick), { method, ...(method === 'PUT' && { body: 'x' }) });
				expect([trick.slice(0, 40), method, response.status]).toEqual([trick.slice(0, 40), method, 400]);
				expect(Object(await response.json()).error.message).toMatch(/^path: /);
			}
		expect(await listPaths(id)).toEqual([]);
	});

	test('composed and decomposed letters are the same name', async () => {
		const id = await createSession();
		await put(id, encodeURIComponent('e\u0301.txt'), 'x');
		expect(await (await get(id, encodeURIComponent('\u00e9.txt'))).text()).toBe('x');
		expect(await listPaths(id)).toEqual(['\u00e9.txt']);
	});

	test('a file cannot replace a folder, and no path can be below a file', async () => {
		const id = await createSession();
		await put(id, 'a/b', 'x');
		expect((await put(id, 'a', 'x')).status).toBe(400);
		expect((await put(id, 'a/b/c', 'x')).status).toBe(400);
		expect((await get(id, 'a')).status).toBe(404);
	});

	test('a body that is too large is read to its end and refused, with and without Content-Length', async () => {
		const id = await createSession();
		const size = 110_000_000;
		let sent = 0;
		const toStream = () =>
			new ReadableStream({
				pull: (controller) => {
					if (sent >= size) return controller.close();
					controller.enqueue(new Uint8Array(1_000_000));
					sent += 1_000_000;
				},
			});
		for (const body of [toStream, () => toStream().pipeThrough(new FixedLengthStream(size))]) {
			sent = 0;
			const response = await put(id, 'big.bin', body());
			expect([response.status, sent]).toEqual([413, size]);
			expect(await response.json()).toMatchObject({
				error: { code: 'too_large', message: expect.stringMatching(/^body: more than 104857600 bytes/) },
			});
		}
		expect(await listPaths(id)).toEqual([]);
		await expect.poll(async () => (await env.FILES.list({ prefix: `sessions/${id}/` })).objects).toEqual([]);
	});

	test('an upload to an unknown session is not found', async () => {
		expect((await put('0'.repeat(64), 'a.txt', 'x')).status).toBe(404);
		expect((await put(env.SESSIONS.newUniqueId().toString(), 'a.txt', 'x')).status).toBe(404);
	});
});
