import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { nameUploads } from '../../../src/cloudflare/objects/shards.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { fromBase64, joinBytes, toBase64 } from '../../../src/core/base/bytes.ts';
import { setClock } from '../../clock.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker, { runtime } from '../../worker.ts';

type Name = 'alice' | 'bob' | 'ada' | 'ben' | 'boss' | 'small' | 'full' | 'crowded' | 'gone';
let keys: Readonly<Record<Name, string>>;
let bindings: Record<string, unknown>;
beforeAll(async () => {
	const customer = { owner: 'shop', role: 'customer' } as const;
	({ keys, bindings } = await createKeys({
		alice: ['run'],
		bob: ['run'],
		ada: { ...customer, user: 'ada' },
		ben: { ...customer, user: 'ben' },
		boss: { owner: 'shop', role: 'admin' },
		...{ small: ['run'], full: ['run'], crowded: ['run'], gone: ['run'] },
	}));
});
afterEach(() => setClock());

const serve = (app = worker, more: object = {}) => ({
	baseURL: 'https://runlet.example.com/v1',
	maxRetries: 0,
	fetch: async (url: unknown, init?: RequestInit) => app.request(String(url), init ?? {}, { ...bindings, ...more }),
});

const createClient = (name: Name, app = worker) => new OpenAI({ ...serve(app), apiKey: keys[name] });

const createAnthropic = (name: Name) =>
	new Anthropic({ ...serve(), apiKey: keys[name], baseURL: 'https://runlet.example.com' });

const upload = (client: OpenAI, content: string | Uint8Array<ArrayBuffer>, name = 'notes.txt', more: object = {}) =>
	client.files.create({ file: new File([content], name), purpose: 'user_data', ...more });

const ask = (name: Name, path: string, init: RequestInit = {}) =>
	worker.request(
		`https://runlet.example.com${path}`,
		{ ...init, headers: { authorization: `Bearer ${keys[name]}`, ...init.headers } },
		bindings,
	);

const thrown = (work: PromiseLike<unknown>): Promise<unknown> =>
	Promise.resolve(work).then(
		() => expect.unreachable('nothing was thrown'),
		(error: unknown) => error,
	);

const findObject = (owner: string) => env.DIRECTORIES.get(env.DIRECTORIES.idFromName(nameUploads(owner)));
const countRows = (owner: string) =>
	runInDurableObject(findObject(owner), (_, { storage }) =>
		['upload', 'upload_piece'].map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray().length),
	);
const listKeys = async () => (await env.FILES.list({ prefix: 'uploads/' })).objects.map(({ key }) => key);

const large = new Uint8Array(2_500_000).fill(7);

describe('the unchanged openai package', () => {
	test('uploads, lists, reads and deletes a file', async () => {
		const client = createClient('alice');
		const made = await upload(client, 'Begin on Friday.');
		expect(made).toMatchObject({
			...{ id: expect.stringMatching(/^file-[0-9a-f]{32}$/), object: 'file', bytes: 16, filename: 'notes.txt' },
			...{ purpose: 'user_data', status: 'processed', created_at: expect.any(Number) },
		});
		expect(made).not.toHaveProperty('expires_at');
		expect(await client.files.retrieve(made.id)).toEqual(made);
		expect(await Array.fromAsync(client.files.list())).toEqual([made]);
		const content = await client.files.content(made.id);
		expect(await content.text()).toBe('Begin on Friday.');
		expect(Object.fromEntries(content.headers)).toMatchObject({
			'content-type': 'text/plain; charset=utf-8',
			'content-disposition': expect.stringContaining('attachment; filename="notes.txt"'),
		});
		expect(await client.files.delete(made.id)).toMatchObject({ id: made.id, object: 'file', deleted: true });
		for (const work of [client.files.retrieve(made.id), client.files.content(made.id), client.files.delete(made.id)])
			expect(await thrown(work)).toMatchObject({ status: 404, code: 'not_found' });
		expect(await countRows('alice')).toEqual([0, 0]);
	});

	test('lists pages in both orders, also while it deletes what it has read', async () => {
		const client = createClient('bob');
		const ids: string[] = [];
		for (let n = 0; n < 5; n++) ids.push((await upload(client, `${n}`, 'n.txt', { purpose: 'vision' })).id);
		const other = await upload(client, 'x', 'x.txt', { purpose: 'batch' });
		const list = async (query: object) => (await Array.fromAsync(client.files.list(query))).map(({ id }) => id);
		expect((await list({ order: 'asc', limit: 2, purpose: 'vision' })).toSorted()).toEqual(ids.toSorted());
		const all = await list({ limit: 4 });
		expect(all).toEqual((await list({ order: 'asc', limit: 4 })).toReversed());
		expect(all).toContain(other.id);
		for await (const { id } of client.files.list({ limit: 2 })) await client.files.delete(id);
		expect(await list({})).toEqual([]);
	});

	test('keeps a large file in the bucket, and in the object without a bucket', async () => {
		const client = createClient('alice');
		const before = await listKeys();
		const { id } = await upload(client, large, 'large.bin');
		expect(await listKeys()).toEqual([...before, `uploads/${id}`].toSorted());
		expect(new Uint8Array(await (await client.files.content(id)).arrayBuffer())).toEqual(large);
		await client.files.delete(id);
		expect(await listKeys()).toEqual(before);
		const medium = large.subarray(0, 1_048_576).slice();
		const inRows = await upload(client, medium, 'medium.bin');
		expect(await listKeys()).toEqual(before);
		expect(new Uint8Array(await (await client.files.content(inRows.id)).arrayBuffer())).toEqual(medium);
		await client.files.delete(inRows.id);
	});
});

describe('a file that expires', () => {
	test('is gone from that moment on, and its bytes are removed by the alarm', async () => {
		const client = createClient('gone');
		const expires = { expires_after: { anchor: 'created_at', seconds: 3_600 } };
		const { id, created_at, expires_at } = await upload(client, large, 'large.bin', expires);
		expect(expires_at).toBe(created_at + 3_600);
		const kept = await upload(client, 'kept');
		setClock(new Date((created_at + 3_590) * 1_000).toISOString());
		expect((await client.files.retrieve(id)).id).toBe(id);
		setClock(new Date((created_at + 3_602) * 1_000).toISOString());
		expect(await thrown(client.files.content(id))).toMatchObject({ status: 404 });
		expect((await Array.fromAsync(client.files.list())).map((one) => one.id)).toEqual([kept.id]);
		expect(await listKeys()).toContain(`uploads/${id}`);
		expect(await runDurableObjectAlarm(findObject('gone'))).toBe(true);
		expect(await listKeys()).not.toContain(`uploads/${id}`);
		expect(await countRows('gone')).toEqual([1, 1]);
	});

	test.each([
		[{ seconds: 3_599, anchor: 'created_at' }, 'expires_after[seconds]'],
		[{ seconds: 2_592_001, anchor: 'created_at' }, 'expires_after[seconds]'],
		[{ seconds: 3_600, anchor: 'last_used' }, 'expires_after[anchor]'],
	])('has limits: %j', async (expires_after, param) => {
		expect(await thrown(upload(createClient('gone'), 'x', 'x.txt', { expires_after }))).toMatchObject({
			status: 400,
			param,
		});
	});
});

describe('a file of somebody else', () => {
	test('cannot be listed, read, deleted or named in a request', async () => {
		const { id } = await upload(createClient('ada'), 'The secret is 42.');
		play('No.', 'No.', 'No.');
		for (const name of ['ben', 'boss', 'alice'] as const) {
			const client = createClient(name);
			expect(JSON.stringify(await Array.fromAsync(client.files.list({ after: '~' })))).not.toContain(id);
			const part = { type: 'file' as const, file: { file_id: id } };
			const works: (() => PromiseLike<unknown>)[] = [
				() => client.files.retrieve(id),
				() => client.files.content(id),
				() => client.files.delete(id),
				() => client.chat.completions.create({ model: 'scripted', messages: [{ role: 'user', content: [part] }] }),
				() =>
					client.responses.create({
						model: 'scripted',
						input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
					}),
			];
			for (const work of works) {
				const error = await thrown(work());
				expect(error).toMatchObject({ status: 404 });
				expect(String(error)).not.toContain('42');
			}
		}
		expect(await (await createClient('ada').files.content(id)).text()).toBe('The secret is 42.');
	});

	test('has the same answer as a file that never was', async () => {
		const { id } = await upload(createClient('ada'), 'x');
		const read = async (path: string) => (await ask('ben', path)).text();
		expect(await read(`/v1/files/${id}`)).toBe(await read(`/v1/files/file-${'0'.repeat(32)}`));
		expect(await read('/v1/files/..%2F..%2Fuploads')).toBe(await read(`/v1/files/${id}`));
	});
});

describe('a form', () => {
	const send = (body: BodyInit, headers: Record<string, string> = {}) =>
		ask('small', '/v1/files', { method: 'POST', body, headers });
	const form = (entries: readonly [string, string | File][]) => {
		const made = new FormData();
		for (const [name, value] of entries) made.append(name, value);
		return made;
	};
	const file = new File(['x'], 'x.txt');
	const type = { 'content-type': 'multipart/form-data; boundary=x' };

	test.each<[string, () => BodyInit, Record<string, string>, number, string]>([
		['without a file', () => form([['purpose', 'user_data']]), {}, 400, 'file'],
		['whose file is a text', () => form([['file', 'text']]), {}, 400, 'file'],
		[
			'with two files',
			() =>
				form([
					['file', file],
					['file', file],
				]),
			{},
			400,
			'file',
		],
		[
			'with another purpose',
			() =>
				form([
					['file', file],
					['purpose', 'evil'],
				]),
			{},
			400,
			'purpose',
		],
		['of JSON', () => '{}', { 'content-type': 'application/json' }, 415, 'content-type'],
		['without a type', () => new Uint8Array([1]), {}, 415, 'content-type'],
		['without a boundary', () => 'x', { 'content-type': 'multipart/form-data' }, 400, 'body'],
		['that is none', () => 'hello', type, 400, 'body'],
		[
			'that is cut off',
			() => '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nab',
			type,
			400,
			'body',
		],
		['that is too large', () => form([['file', new File([new Uint8Array(4_300_000)], 'x')]]), {}, 413, 'body'],
		['whose file is too large', () => form([['file', new File([new Uint8Array(4_194_305)], 'x')]]), {}, 413, 'file'],
		[
			'with a small content-length',
			() => form([['file', new File([new Uint8Array(5_000_000)], 'x')]]),
			{ 'content-length': '10' },
			413,
			'body',
		],
		['with a large content-length', () => form([['file', file]]), { 'content-length': '99999999' }, 413, 'body'],
	])('%s is refused, and names the field', async (_, body, headers, status, param) => {
		const response = await send(body(), headers);
		const text = await response.text();
		expect([response.status, text]).toEqual([status, expect.stringContaining(`"param":"${param}"`)]);
		expect(await (await ask('small', '/v1/files')).json()).toMatchObject({ data: [] });
	});

	test.each([
		['../../etc/passwd', 'passwd'],
		['C:\\windows\\evil.exe', 'evil.exe'],
		['a\u0007\u202eb.txt', 'ab.txt'],
		['..', 'file'],
		['x/', 'file'],
		[`${'x'.repeat(300)}.txt`, `${'x'.repeat(251)}.txt`],
	])('with the filename %j keeps the name alone', async (name, kept) => {
		const client = createClient('small');
		const { id, filename } = await upload(client, 'x', name);
		expect(filename).toBe(kept);
		expect((await client.files.content(id)).headers.get('content-disposition')).not.toMatch(/[/\\\0]etc|windows/);
		await client.files.delete(id);
	});

	test('whose file lies about its type has the type of its bytes, and never runs in a browser', async () => {
		const client = createClient('small');
		const html = '<script>alert(1)</script>';
		for (const [name, claimed, mime] of [
			['photo.png', 'image/png', 'text/plain'],
			['page.html', 'image/png', 'text/html'],
			['page', 'text/html', 'text/plain'],
			['drawing.svg', 'image/svg+xml', 'image/svg+xml'],
		] as const) {
			const made = await client.files.create({
				file: await toFile(Buffer.from(html), name, { type: claimed }),
				purpose: 'vision',
			});
			expect(made, name).toMatchObject({ mime_type: mime });
			const { headers } = await client.files.content(made.id);
			expect(headers.get('content-type'), name).toBe('text/plain; charset=utf-8');
			expect(headers.get('x-content-type-options')).toBe('nosniff');
			expect(headers.get('content-security-policy')).toContain('sandbox');
			await client.files.delete(made.id);
		}
	});
});

describe('the limits of a person', () => {
	test('allow 1000 files', async () => {
		const client = createClient('crowded');
		const { id } = await upload(client, 'x');
		await runInDurableObject(findObject('crowded'), (_, { storage }) => {
			for (let n = 0; n < 999; n++)
				storage.sql.exec(
					"INSERT INTO upload VALUES (?, NULL, 'x', 'batch', 'text/plain', 1, 0, NULL, 1, NULL)",
					`f-${n}`,
				);
		});
		expect(await thrown(upload(client, 'y'))).toMatchObject({
			status: 413,
			message: expect.stringContaining('you may have 1000 files'),
		});
		await client.files.delete(id);
		expect((await upload(client, 'y')).bytes).toBe(1);
	});

	test('allow WORKSPACE_BYTES bytes', async () => {
		const client = createClient('full');
		await upload(client, 'x');
		await runInDurableObject(findObject('full'), (_, { storage }) => {
			storage.sql.exec("INSERT INTO upload VALUES ('huge', NULL, 'x', 'batch', 'x/y', 268000000, 0, NULL, 1, NULL)");
		});
		expect(await thrown(upload(client, large))).toMatchObject({
			status: 413,
			message: expect.stringMatching(/the files of you may have \d+ bytes/),
		});
	});
});

/** The parts of the newest message that the model got. */
const heard = (model: ReturnType<typeof play>) => {
	const message = model.requests.at(-1)?.messages.at(-1);
	return message !== undefined && 'parts' in message ? message.parts : undefined;
};

describe('a request that names a file by its id', () => {
	const png = fromBase64(
		'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
	);
	const pdf = joinBytes('%PDF-1.4\n\u0000');

	test('gets the file as an inline file, in Chat Completions', async () => {
		const client = createClient('alice');
		const { id } = await upload(client, 'a,b', 'table.csv');
		const model = play('Read.', 'Read.');
		const create = (file: object) =>
			client.chat.completions.create({
				model: 'scripted',
				messages: [
					{
						role: 'user',
						content: [
							{ type: 'text', text: 'Read:' },
							{ type: 'file', file },
						],
					},
				],
			});
		await create({ file_id: id });
		const byId = heard(model);
		await create({ file_data: `data:text/csv;base64,${btoa('a,b')}`, filename: 'table.csv' });
		expect(byId).toEqual(heard(model));
		expect(byId).toContainEqual({ kind: 'file', mime: 'text/csv', data: btoa('a,b'), name: 'table.csv' });
	});

	test('gets the file as an inline file, in Responses', async () => {
		const client = createClient('alice');
		const [image, file] = [await upload(client, png, 'dot.png'), await upload(client, pdf, 'a.pdf')];
		const model = play('Seen.');
		await client.responses.create({
			model: 'scripted',
			input: [
				{
					role: 'user',
					content: [
						{ type: 'input_image', file_id: image.id, detail: 'low' },
						{ type: 'input_file', file_id: file.id, filename: 'own.pdf' },
					],
				},
			],
		});
		expect(heard(model)).toEqual([
			{ kind: 'image', mime: 'image/png', data: toBase64(png), meta: { detail: 'low' } },
			{ kind: 'file', mime: 'application/pdf', data: toBase64(pdf), name: 'own.pdf' },
		]);
	});

	test('gets the file as an inline file, in Messages, also in the result of a tool', async () => {
		const anthropic = createAnthropic('alice');
		const files: string[] = [];
		for (const [content, name] of [
			[png, 'dot.png'],
			[pdf, 'a.pdf'],
			['words', 'notes.md'],
		] as const)
			files.push((await anthropic.beta.files.upload({ file: new File([content], name) })).id);
		const [image = '', paper = '', text = ''] = files;
		const model = play('Seen.', { toolCalls: [{ id: 't', name: 'look', input: {} }] }, 'Seen.');
		const source = (file_id: string) => ({ type: 'file' as const, file_id });
		const content = [
			{ type: 'image' as const, source: source(image) },
			{ type: 'document' as const, source: source(paper) },
			{ type: 'document' as const, source: source(text), title: 'Own' },
		];
		await anthropic.beta.messages.create({ model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content }] });
		expect(heard(model)).toEqual([
			{ kind: 'image', mime: 'image/png', data: toBase64(png) },
			{ kind: 'file', mime: 'application/pdf', data: toBase64(pdf), name: 'a.pdf' },
			{ kind: 'file', mime: 'text/plain', data: btoa('words'), name: 'Own' },
		]);
		const tools = [{ name: 'look', input_schema: { type: 'object' as const } }];
		const asked = { role: 'user' as const, content: 'Look.' };
		const called = await anthropic.beta.messages.create({
			model: 'scripted',
			max_tokens: 100,
			tools,
			messages: [asked],
		});
		const [call] = called.content;
		if (call?.type !== 'tool_use') return expect.unreachable();
		const result = { type: 'tool_result' as const, tool_use_id: call.id, content: content.slice(0, 1) };
		await anthropic.beta.messages.create({
			...{ model: 'scripted', max_tokens: 100, tools },
			messages: [asked, { role: 'assistant', content: [call] }, { role: 'user', content: [result] }],
		});
		expect(heard(model)).toEqual([{ kind: 'image', mime: 'image/png', data: toBase64(png) }]);
	});

	test('is refused if the file is not what the part takes', async () => {
		const client = createClient('alice');
		const { id } = await upload(client, pdf, 'a.pdf');
		const input = [
			{ role: 'user' as const, content: [{ type: 'input_image' as const, file_id: id, detail: 'low' as const }] },
		];
		expect(await thrown(client.responses.create({ model: 'scripted', input }))).toMatchObject({
			status: 400,
			message: expect.stringContaining('image'),
		});
		const source = { type: 'file' as const, file_id: id };
		const messages = [{ role: 'user' as const, content: [{ type: 'image' as const, source }] }];
		expect(
			await thrown(createAnthropic('alice').beta.messages.create({ model: 'scripted', max_tokens: 9, messages })),
		).toMatchObject({ status: 400, message: expect.stringContaining('media_type') });
	});

	test('is refused if the file is deleted, or if the files are too large together', async () => {
		const client = createClient('alice');
		const { id } = await upload(client, large, 'large.bin');
		const create = (...ids: string[]) =>
			client.responses.create({
				model: 'scripted',
				input: [{ role: 'user', content: ids.map((file_id) => ({ type: 'input_file' as const, file_id })) }],
			});
		play('Read.');
		expect((await create(id)).output_text).toBe('Read.');
		expect(await thrown(create(id, id))).toMatchObject({ status: 413, param: 'input[0].content[1].file_id' });
		const other = await upload(client, large, 'other.bin');
		expect(await thrown(create(id, other.id))).toMatchObject({ status: 413 });
		await client.files.delete(id);
		expect(await thrown(create(other.id, id))).toMatchObject({ status: 404, param: 'input[0].content[1].file_id' });
		expect(await thrown(create(...Array.from({ length: 101 }, (_, n) => `file-${n}`)))).toMatchObject({ status: 400 });
		await client.files.delete(other.id);
	});

	test('leaves the input of a call as it is', async () => {
		const client = createClient('alice');
		const model = play('Done.');
		const input = { type: 'input_file', file_id: 'file-x', source: { type: 'file', file_id: 'file-x' } };
		await createAnthropic('alice').messages.create({
			...{ model: 'scripted', max_tokens: 9, tools: [{ name: 'send', input_schema: { type: 'object' } }] },
			messages: [
				{ role: 'user', content: 'Send.' },
				{ role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'send', input }] },
				{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'sent' }] },
			],
		});
		expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(JSON.stringify(input));
		expect(client).toBeDefined();
	});

	test('says which plugin a Worker without it lacks', async () => {
		const client = createClient('alice', createApp({ ...runtime, uploads: undefined }));
		const part = { type: 'file' as const, file: { file_id: 'file-x' } };
		const messages = [{ role: 'user' as const, content: [part] }];
		expect(await thrown(client.chat.completions.create({ model: 'scripted', messages }))).toMatchObject({
			status: 400,
			message: expect.stringMatching(/file_id: not possible here. Add the plugin files/),
		});
		expect(await thrown(client.files.list())).toMatchObject({
			status: 404,
			message: expect.stringContaining("from 'runlet/cloudflare/files'"),
		});
	});
});

test('the unchanged @anthropic-ai/sdk uploads, lists, reads and deletes a file', async () => {
	const { files } = createAnthropic('small').beta;
	const made = await files.upload({ file: new File(['words'], 'notes.md') });
	expect(made).toMatchObject({
		...{ type: 'file', filename: 'notes.md', mime_type: 'text/markdown', size_bytes: 5, downloadable: true },
		created_at: expect.stringMatching(/^\d{4}-.*Z$/),
	});
	const second = await files.upload({ file: new File(['more'], 'more.md') });
	const listed = (await Array.fromAsync(files.list({ limit: 1 }))).map(({ id }) => id);
	expect(listed.toSorted()).toEqual([made.id, second.id].toSorted());
	expect(await files.retrieveMetadata(made.id)).toEqual(made);
	expect(await (await files.download(made.id)).text()).toBe('words');
	for (const { id } of [made, second]) expect(await files.delete(id)).toMatchObject({ id, type: 'file_deleted' });
	expect(await thrown(files.retrieveMetadata(made.id))).toMatchObject({ status: 404 });
});

describe('a person who is exported and erased', () => {
	test('exports and removes the files of this person, and keeps the files of others', async () => {
		const [ada, ben] = [createClient('ada'), createClient('ben')];
		for await (const { id } of ada.files.list()) await ada.files.delete(id);
		await upload(ada, 'of Ada');
		await upload(ada, large, 'large.bin');
		const bens = await upload(ben, 'of Ben');
		const before = await listKeys();
		const exported = await (await ask('boss', '/v1/users/ada')).json<{ files: { name: string; content: string }[] }>();
		expect(exported.files.map(({ name, content }) => [name, fromBase64(content).length])).toEqual(
			expect.arrayContaining([
				['notes.txt', 6],
				['large.bin', large.length],
			]),
		);
		expect(JSON.stringify(exported)).not.toContain(bens.id);
		expect((await ask('boss', '/v1/users/ada', { method: 'DELETE' })).status).toBe(200);
		expect(await Array.fromAsync(ada.files.list())).toEqual([]);
		expect((await listKeys()).length).toBe(before.length - 1);
		expect(await countRows('shop')).toEqual([1, 1]);
		expect((await ben.files.retrieve(bens.id)).id).toBe(bens.id);
	});
});
