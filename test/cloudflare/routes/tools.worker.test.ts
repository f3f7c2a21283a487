/** The HTTP tools of an owner: `/v1/tools`, and runs that call them. */
import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { readHistory, request } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import { secretsKeys } from '../../secrets-keys.ts';
import worker from '../../worker.ts';

interface Shown {
	readonly name: string;
	readonly [field: string]: unknown;
}
interface Refusal {
	readonly error: { readonly code: string; readonly message: string; readonly data?: { readonly field?: string } };
}
interface Echoed {
	readonly status: number;
	readonly body: {
		readonly method: string;
		readonly url: string;
		readonly headers: Record<string, string>;
		readonly body: string;
	};
}

const receiver = inject('receiver');
const text = { type: 'string' } as const;
const schema = (properties: object, required: readonly string[] = []) => ({ type: 'object', properties, required });
const token = 'sesame-4f0c9b1e/2a7d+8356';

const simple = {
	description: 'Gives the weather.',
	inputSchema: schema({ city: text }),
	url: 'https://weather.example.com/{city}',
};
const put = (name: string, body: object) => request(`/v1/tools/${name}`, body, {}, 'PUT');
const read = async (name: string) => (await request(`/v1/tools/${name}`)).json<Shown>();
const list = async () => (await (await request('/v1/tools')).json<{ tools: Shown[] }>()).tools;
const remove = (name: string) => request(`/v1/tools/${name}`, undefined, {}, 'DELETE');

async function refused(response: Response, status: number, field: string, message: RegExp): Promise<void> {
	const { error } = await response.json<Refusal>();
	expect({ status: response.status, field: error.data?.field }).toEqual({ status, field });
	expect(error.message).toMatch(message);
}

async function readEchoed(
	name: string,
): Promise<{ readonly headers: Record<string, string>; readonly body: string }[]> {
	return (await fetch(`${receiver}/echoed/${name}`)).json();
}

let count = 0;
const newName = () => `t${++count}`;

/** Defines a tool, makes a scripted model call it, and returns the result. */
async function callTool(
	body: object,
	input: unknown,
	{ name = newName(), agent = 'extended', define = put }: { name?: string; agent?: string; define?: typeof put } = {},
) {
	const response = await define(name, body);
	expect(response.status, await response.clone().text()).toBeLessThan(300);
	const { requests } = play({ toolCalls: [{ id: 'c', name, input }] }, 'Done.');
	const { id, run } = await (await request('/v1/sessions', { agent, text: 'Go.' })).json<{
		id: string;
		run: { status: string };
	}>();
	expect(run.status).toBe('completed');
	const [result] = (await readHistory(id)).filter(({ role }) => role === 'tool');
	return { id, requests, isError: result?.isError === true, output: result?.content as Echoed };
}

const readDirectory = () => env.DIRECTORIES.get(env.DIRECTORIES.idFromName('local'));

afterEach(() =>
	runInDurableObject(readDirectory(), (_: unknown, { storage }) => void storage.sql.exec('DELETE FROM entry')),
);

describe('a definition', () => {
	test('is stored, read, listed by name, replaced and removed', async () => {
		expect(await list()).toEqual([]);
		const created = await put('weather', simple);
		expect(created.status).toBe(201);
		const shown = await created.json<Shown>();
		expect(shown).toEqual({
			name: 'weather',
			...simple,
			method: 'GET',
			headers: {},
			secretNames: [],
			timeoutMs: 30_000,
			maxResponseBytes: 100_000,
			createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
			updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
		});
		expect(await read('weather')).toEqual(shown);
		await put('another', simple);
		expect((await list()).map(({ name }) => name)).toEqual(['another', 'weather']);
		const replaced = await put('weather', { ...simple, method: 'POST', timeoutMs: 500, maxResponseBytes: 10 });
		expect(replaced.status).toBe(200);
		expect(await read('weather')).toMatchObject({ method: 'POST', timeoutMs: 500, createdAt: shown.createdAt });
		expect((await remove('weather')).status).toBe(204);
		expect((await remove('weather')).status).toBe(404);
		expect((await request('/v1/tools/weather')).status).toBe(404);
	});

	test.each<[what: string, body: object, field: string, message: RegExp]>([
		['no description', { ...simple, description: undefined }, 'description', /missing/],
		['an unknown field', { ...simple, headres: {} }, 'headres', /Did you mean headers/],
		['an unsupported method', { ...simple, method: 'TRACE' }, 'method', /GET, POST/],
		['an http URL', { ...simple, url: 'http://weather.example.com/' }, 'url', /not https/],
		['an IP address in the URL', { ...simple, url: 'https://10.0.0.1/' }, 'url', /IP address/],
		['a private name', { ...simple, url: 'https://db.internal/' }, 'url', /private network/],
		['a password in the URL', { ...simple, url: 'https://a:b@weather.example.com/' }, 'url', /password/],
		[
			'a host that the model chooses',
			{ ...simple, url: 'https://{city}.example.com/' },
			'url',
			/path and in the query/,
		],
		[
			'a port that the model chooses',
			{ ...simple, url: 'https://example.com:{city}/' },
			'url',
			/path and in the query/,
		],
		['a whole URL that the model chooses', { ...simple, url: '{city}' }, 'url', /path and in the query/],
		[
			'a field in the URL that the schema does not have',
			{ ...simple, url: 'https://example.com/{town}' },
			'url',
			/\{town\}.*It has: city/,
		],
		['an unclosed brace in the URL', { ...simple, url: 'https://example.com/{city' }, 'url', /brace/],
		['a fragment', { ...simple, url: 'https://example.com/#{city}' }, 'url', /fragment/],
		['.. in the path', { ...simple, url: 'https://example.com/a/../{city}' }, 'url', /\.\./],
		[
			'a secret in the URL',
			{ ...simple, url: `https://example.com/?key=\${KEY}`, secrets: { KEY: token } },
			'url',
			/headers only/,
		],
		[
			'a reference to an unknown secret',
			{ ...simple, headers: { authorization: `Bearer \${KEY}` } },
			'headers.authorization',
			/\$\{KEY\} is no secret/,
		],
		[
			'an unclosed reference to a secret',
			{ ...simple, headers: { authorization: `Bearer \${KEY` } },
			'headers.authorization',
			/not closed/,
		],
		['a host header', { ...simple, headers: { Host: 'example.com' } }, 'headers.Host', /connection/],
		[
			'a forwarding header',
			{ ...simple, headers: { 'X-Forwarded-For': '1.2.3.4' } },
			'headers.X-Forwarded-For',
			/connection/,
		],
		['a line end in a header', { ...simple, headers: { a: 'b\r\nc: d' } }, 'headers.a', /ASCII/],
		['a header twice', { ...simple, headers: { a: '1', A: '2' } }, 'headers.A', /twice/],
		[
			'a secret in a header that follows redirects',
			{ ...simple, headers: { 'user-agent': `\${KEY}` }, secrets: { KEY: token } },
			'headers.user-agent',
			/redirect/,
		],
		[
			'an API key in a header instead of a secret',
			{ ...simple, headers: { authorization: `Bearer sk-${'a1'.repeat(20)}` } },
			'headers',
			/Put it into secrets/,
		],
		[
			'the value of a secret in another field',
			{ ...simple, description: `Use ${token}.`, secrets: { KEY: token } },
			'description',
			/value of the secret KEY/,
		],
		[
			'a secret that is not a string',
			{ ...simple, secrets: { KEY: 123456789 } },
			'secrets.KEY',
			/^secrets\.KEY: must be a text$/,
		],
		['a secret that is too short', { ...simple, secrets: { KEY: 'abc' } }, 'secrets.KEY', /4 to 4,096/],
		['a secret with a line end', { ...simple, secrets: { KEY: 'abcd\nefgh' } }, 'secrets.KEY', /visible ASCII/],
		['a timeout that is too long', { ...simple, timeoutMs: 120_001 }, 'timeoutMs', /120000/],
		['a maxResponseBytes that is too large', { ...simple, maxResponseBytes: 1_000_001 }, 'maxResponseBytes', /1000000/],
		['a schema of a string', { ...simple, inputSchema: { type: 'string' } }, 'inputSchema', /of an object/],
		[
			'an invalid schema',
			{ ...simple, inputSchema: { type: 'object', properties: { city: { type: 'town' } } } },
			'inputSchema',
			/properties\.city\.type/,
		],
		[
			'a $ref that leads out of the schema',
			{ ...simple, inputSchema: schema({ city: { $ref: 'https://example.com/city' } }) },
			'inputSchema',
			/leads out of the schema/,
		],
		[
			'a $ref in a circle',
			{ ...simple, inputSchema: schema({ city: { $ref: '#/properties/city' } }) },
			'inputSchema',
			/circle/,
		],
		[
			'a pattern that cannot be matched',
			{ ...simple, inputSchema: schema({ city: { type: 'string', pattern: '(a)\\1' } }) },
			'inputSchema',
			/pattern/,
		],
		[
			'an unknown draft of JSON Schema',
			{ ...simple, inputSchema: { ...schema({ city: text }), $schema: 'https://example.com/draft' } },
			'inputSchema',
			/draft/,
		],
		[
			'more than 20,000 characters',
			{ ...simple, inputSchema: schema({ city: { enum: ['x'.repeat(20_000)] } }) },
			'body',
			/20000 is the most/,
		],
	])('with %s is refused, and the error names the field', async (_, body, field, message) => {
		const response = await put('weather', body);
		const said = await response.clone().text();
		await refused(response, 400, field, message);
		if (field.startsWith('secrets')) expect(said).not.toMatch(/123456789|abcd/);
		expect(await list()).toEqual([]);
	});

	test('with a name that providers refuse is refused', async () => {
		await refused(await put('a.b', simple), 400, 'name', /letters, digits/);
		await refused(await put('x'.repeat(65), simple), 400, 'name', /64/);
	});

	test('that is nested too deep is refused', async () => {
		let inner: object = text;
		for (let n = 0; n < 200; n++) inner = { type: 'object', properties: { a: inner } };
		await refused(await put('weather', { ...simple, inputSchema: inner }), 400, 'body', /levels deep/);
	});

	test('above the limit of 100 is refused, and the error names the remedy', async () => {
		const { name: _, createdAt: __, updatedAt: ___, ...stored } = await (await put('many0', simple)).json<Shown>();
		const definition = JSON.stringify(stored);
		const directory = readDirectory();
		for (let n = 1; n < 100; n++) await directory.putEntry({ kind: 'tool', name: `many${n}`, definition, most: 100 });
		const response = await put('one-more', simple);
		expect(response.status).toBe(409);
		expect((await response.json<Refusal>()).error.message).toMatch(/100 tools.*Delete one/);
		expect((await put('many7', { ...simple, description: 'Changed.' })).status).toBe(200);
	});

	test('has the fields of one request if several requests store it at once', async () => {
		const versions = Array.from({ length: 8 }, (_, n) => ({
			...simple,
			url: `https://weather.example.com/v${n}`,
			headers: { authorization: `Bearer \${KEY}` },
			secrets: { KEY: `secret-of-${n}` },
		}));
		const statuses = await Promise.all(versions.map(async (body) => (await put('weather', body)).status));
		expect(statuses.filter((status) => status === 201)).toHaveLength(1);
		const { url } = await read('weather');
		const { headers, secrets, ...rest } = versions.find((body) => body.url === url) ?? versions[0] ?? {};
		expect(secrets).toBeDefined();
		expect(await read('weather')).toMatchObject({ ...rest, headers, secretNames: ['KEY'] });
	});
});

describe('the request of a tool', () => {
	test('with GET percent-encodes the fields of the URL, and has the other fields in its query', async () => {
		const inputSchema = schema({
			who: text,
			q: text,
			tags: { type: 'array' },
			n: { type: 'number' },
			none: {},
			o: { type: 'object' },
		});
		const body = { ...simple, inputSchema, url: `${receiver}/echo/get/{who}?fixed=1&of={who}` };
		const input = { who: 'a b/c?d#e&f=é%2e', q: 'x&y=1', tags: ['s', 't u'], n: 1.5, none: null, o: { k: [1] } };
		const { output } = await callTool(body, input);
		const who = encodeURIComponent(input.who);
		expect(output.body).toMatchObject({ method: 'GET', body: '' });
		const { pathname, search, searchParams } = new URL(output.body.url, receiver);
		expect(pathname).toBe(`/echo/get/${who}`);
		expect(search).toContain(`?fixed=1&of=${who}&`);
		expect([...searchParams].slice(2)).toEqual([
			['q', 'x&y=1'],
			['tags', 's'],
			['tags', 't u'],
			['n', '1.5'],
			['o', '{"k":[1]}'],
		]);
	});

	test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('with %s sends fields outside the URL as JSON', async (method) => {
		const body = {
			...simple,
			method,
			inputSchema: schema({ city: text, deep: {} }),
			url: `${receiver}/echo/body/{city}`,
		};
		const { output } = await callTool(body, { city: 'Ulm', deep: { a: [null, 'ü'] } });
		expect(output).toMatchObject({ status: 200, contentType: 'application/json' });
		expect(output.body).toMatchObject({
			method,
			url: '/echo/body/Ulm',
			headers: { 'content-type': 'application/json' },
		});
		expect(JSON.parse(output.body.body)).toEqual({ deep: { a: [null, 'ü'] } });
	});

	test('has the headers of the definition, with its secrets', async () => {
		const name = newName();
		const body = {
			...simple,
			url: `${receiver}/echo/${name}`,
			headers: { authorization: `Bearer \${TOKEN}`, 'x-two': `\${TOKEN}:\${OTHER_1}`, accept: 'text/plain' },
			secrets: { TOKEN: token, OTHER_1: 'another-secret' },
		};
		await callTool(body, {}, { name });
		const [{ headers } = { headers: {} }] = await readEchoed(name);
		expect(headers).toMatchObject({
			authorization: `Bearer ${token}`,
			'x-two': `${token}:another-secret`,
			accept: 'text/plain',
		});
	});

	test('is not made if a field puts .. into the path, and the model gets an error', async () => {
		const name = newName();
		const body = { ...simple, url: `${receiver}/echo/${name}/{city}/x` };
		const { isError, output } = await callTool(body, { city: '../../admin' }, { name });
		expect(isError).toBe(true);
		expect(output).toMatch(/\.\./);
		expect(await readEchoed(name)).toEqual([]);
	});

	test('requires every field in the URL, and the model gets an error that names a missing field', async () => {
		const name = newName();
		await put(name, { ...simple, url: `${receiver}/echo/${name}/{city}` });
		const { requests } = play(
			{ toolCalls: [{ id: 'a', name, input: {} }] },
			{ toolCalls: [{ id: 'b', name, input: { city: 'Ulm' } }] },
			'Done.',
		);
		await request('/v1/sessions', { agent: 'extended', text: 'Go.' });
		expect(requests[0]?.tools?.find((tool) => tool.name === name)?.inputSchema).toMatchObject({ required: ['city'] });
		expect(JSON.stringify(requests[1]?.messages.at(-1))).toMatch(/city/);
		expect(JSON.stringify(requests[2]?.messages.at(-1))).toContain(`/echo/${name}/Ulm`);
	});
});

describe('the answer of a server', () => {
	const at = (query: string) => ({ ...simple, inputSchema: schema({}), url: `${receiver}/echo/answer?${query}` });

	test('is parsed if it is JSON, and otherwise stays a text', async () => {
		expect((await callTool(at('type=application/problem%2Bjson'), {})).output.body).toMatchObject({ method: 'GET' });
		const { output } = await callTool(at('type=text/plain'), {});
		expect(output).toMatchObject({ status: 200, contentType: 'text/plain', body: expect.stringContaining('"GET"') });
	});

	test('with a status of 400 or above is a failure with the text of the server', async () => {
		const { isError, output } = await callTool(at('status=422'), {});
		expect(isError).toBe(true);
		expect(output).toMatch(/GET .*answered 422: \{"method"/);
	});

	test('is a failure with its reason if it is too large, late or missing', async () => {
		const large = await callTool({ ...at(''), maxResponseBytes: 20 }, {});
		expect(large).toMatchObject({ isError: true, output: expect.stringMatching(/more than 20 bytes/) });
		await fetch(`${receiver}/late`, { method: 'PUT', body: '[-1]' });
		const late = await callTool({ ...at(''), method: 'POST', url: `${receiver}/late`, timeoutMs: 100 }, {});
		expect(late).toMatchObject({ isError: true, output: expect.stringMatching(/longer than 100 ms/) });
		await fetch(`${receiver}/cut`, { method: 'PUT', body: '[0]' });
		const cut = await callTool({ ...at(''), method: 'POST', url: `${receiver}/cut` }, {});
		expect(cut).toMatchObject({ isError: true, output: expect.stringMatching(/could not be reached/) });
	});
});

describe('a secret', () => {
	const withToken = (url: string, more: object = {}) => ({
		...simple,
		inputSchema: schema({}),
		url,
		headers: { authorization: `Bearer \${TOKEN}` },
		secrets: { TOKEN: token },
		...more,
	});
	const forms = [token, encodeURIComponent(token), btoa(token).slice(0, 24), JSON.stringify(token).slice(1, -1)];
	const expectHidden = (shown: unknown): void => {
		for (const form of forms) expect(JSON.stringify(shown)).not.toContain(form);
	};

	test.each(['', '?status=500', '?encoding=base64', '?encoding=uri', '?type=text/html', '?status=404&encoding=base64'])(
		'that the server repeats (%s) is in no result, event, message, export or log',
		async (query) => {
			const logs: unknown[] = [];
			for (const level of ['info', 'warn', 'error', 'log'] as const)
				vi.spyOn(console, level).mockImplementation((...line) => void logs.push(line));
			const name = newName();
			const { id, output, requests } = await callTool(withToken(`${receiver}/echo/${name}${query}`), {}, { name });
			vi.restoreAllMocks();
			expect((await readEchoed(name))[0]?.headers.authorization).toBe(`Bearer ${token}`);
			expect(JSON.stringify(output)).toContain('[secret]');
			expectHidden(output);
			expectHidden(requests);
			expectHidden(logs);
			for (const path of ['messages', 'export', 'events'])
				expectHidden(await (await request(`/v1/sessions/${id}/${path}`)).text());
		},
	);

	test('is in no answer of the API, and is stored encrypted', async () => {
		const answers = [
			await put('hidden', withToken(`${receiver}/echo/x`)),
			await request('/v1/tools/hidden'),
			await request('/v1/tools'),
		];
		for (const answer of answers) {
			const body = await answer.text();
			expectHidden(body);
			expect(body).toContain('"secretNames":["TOKEN"]');
			expect(body).toContain(`Bearer \${TOKEN}`);
		}
		const rows = await runInDurableObject(readDirectory(), (_: unknown, { storage }) =>
			storage.sql.exec('SELECT * FROM entry').toArray(),
		);
		expectHidden(rows);
		expect(rows).toMatchObject([{ name: 'hidden', sealed: expect.stringMatching(/^v1\./) }]);
	});

	test('is kept when a new definition omits the secret and has the same URL', async () => {
		const name = newName();
		const first = withToken(`${receiver}/echo/${name}`);
		await put(name, first);
		const { secrets: _, ...again } = { ...first, description: 'Another text.' };
		await callTool(again, {}, { name });
		expect((await readEchoed(name))[0]?.headers.authorization).toBe(`Bearer ${token}`);
		await refused(
			await put(name, { ...again, url: `${receiver}/echo/${name}2` }),
			400,
			'headers.authorization',
			/URL changes needs all of them/,
		);
		expect(await read(name)).toMatchObject({ url: first.url });
		const { headers: __, ...open } = again;
		await put(name, { ...open, headers: {} });
		expect(await read(name)).toMatchObject({ secretNames: [] });
		await refused(await put(name, again), 400, 'headers.authorization', /no secret/);
	});

	test('is sent after a redirect to the same origin, but not to another origin', async () => {
		const name = newName();
		const other = receiver.replace('127.0.0.1', 'localhost');
		const toSame = withToken(`${receiver}/echo/${name}?to=${encodeURIComponent(`/echo/${name}/same`)}`);
		await callTool(toSame, {}, { name });
		const toOther = withToken(`${receiver}/echo/${name}?to=${encodeURIComponent(`${other}/echo/${name}/other`)}`);
		await callTool(toOther, {}, { name });
		const came = (await readEchoed(name)).map(({ headers, body }) => [JSON.parse(body).url, headers.authorization]);
		const bearer = `Bearer ${token}`;
		expect(came.filter(([url]) => !url.includes('to='))).toEqual([
			[`/echo/${name}/same`, bearer],
			[`/echo/${name}/other`, undefined],
		]);
	});

	test('needs SECRETS_KEY, and the error without it says how to make a key', async () => {
		const without = { ...env, SECRETS_KEY: undefined };
		const ask = (body: object) =>
			worker.request(
				'http://localhost/v1/tools/hidden',
				{ method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
				without,
			);
		const response = await ask(withToken(`${receiver}/echo/x`));
		expect(response.status).toBe(503);
		const { error } = await response.json<Refusal>();
		expect(error).toMatchObject({
			code: 'not_configured',
			message: expect.stringMatching(/SECRETS_KEY: not set.*randomBytes\(32\).*secret put SECRETS_KEY/),
		});
		expect((await ask(simple)).status).toBe(201);
		const wrong = await worker.request('http://localhost/v1/tools', {}, { ...env, SECRETS_KEY: 'password' });
		expect((await wrong.json<Refusal>()).error.message).toMatch(/SECRETS_KEY: must be 32 random bytes as base64/);
	});

	test('that an older key encrypted can be read, and a run encrypts it with the newest key', async () => {
		const name = newName();
		const as = (key: string) => (path: string, body: object) =>
			worker.request(
				`http://localhost/v1/tools/${path}`,
				{ method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
				{ ...env, SECRETS_KEY: key },
			);
		const body = withToken(`${receiver}/echo/${name}`);
		const called = await callTool(body, {}, { name, define: async (...given) => as(secretsKeys.older)(...given) });
		expect(called.isError).toBe(false);
		const { secrets: _, ...again } = body;
		expect((await as(secretsKeys.newest)(name, again)).status).toBe(200);
		expect((await readEchoed(name))[0]?.headers.authorization).toBe(`Bearer ${token}`);
	});

	test('whose key is missing makes the call fail, and the error names the remedy', async () => {
		const define = async (path: string, body: object) =>
			worker.request(
				`http://localhost/v1/tools/${path}`,
				{ method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
				{ ...env, SECRETS_KEY: secretsKeys.unknown },
			);
		const { isError, output } = await callTool(withToken(`${receiver}/echo/x`), {}, { define });
		expect(isError).toBe(true);
		expect(output).toMatch(/SECRETS_KEY.*define it again/);
	});
});

describe('a run', () => {
	const definition = (name: string, more: object = {}) => ({
		...simple,
		inputSchema: schema({}),
		url: `${receiver}/echo/${name}`,
		...more,
	});
	const offered = async (agent: string, more: object = {}) => {
		const { requests } = play('Done.');
		await request('/v1/sessions', { agent, text: 'Go.', ...more });
		return requests[0]?.tools?.map(({ name }) => name);
	};

	test('offers the tools of its owner only if its agent has userTools', async () => {
		await put('mine', definition('mine'));
		expect(await offered('extended')).toContain('mine');
		expect(await offered('scripted')).not.toContain('mine');
	});

	test('prefers a tool of its agent or of the agent’s skills to the owner’s tool of the same name', async () => {
		for (const name of ['echo', 'ask', 'read_skill', 'search_tools']) await put(name, definition('taken'));
		const { output } = await callTool(definition('taken'), { text: 'own' }, { name: 'echo' });
		expect(output).toBe('own');
		expect(
			(await offered('extended'))
				?.filter((name) => ['echo', 'ask', 'read_skill', 'search_tools'].includes(name))
				.toSorted(),
		).toEqual(['echo', 'read_skill']);
		expect(await readEchoed('taken')).toEqual([]);
	});

	test('reads the definitions once, so a change applies to the next run', async () => {
		const name = newName();
		await put(name, definition(`${name}a`));
		play(
			async () => {
				await put(name, definition(`${name}b`));
				return { toolCalls: [{ id: 'a', name, input: {} }] };
			},
			async () => {
				await remove(name);
				return { toolCalls: [{ id: 'b', name, input: {} }] };
			},
			'Done.',
		);
		await request('/v1/sessions', { agent: 'extended', text: 'Go.' });
		expect(await readEchoed(`${name}a`)).toHaveLength(2);
		expect(await readEchoed(`${name}b`)).toEqual([]);
		expect(await offered('extended')).not.toContain(name);
	});

	test('fails with the code `overloaded` if the definitions cannot be read, and can be continued', async () => {
		const directory = readDirectory();
		await runInDurableObject(directory, (instance) => {
			Object.assign(instance, { listEntries: () => Promise.reject(new Error('broken')) });
		});
		play('Done.');
		const { id, error } = await (await request('/v1/sessions', { agent: 'extended', text: 'Go.' })).json<
			{ id: string } & Refusal
		>();
		expect(error.code).toBe('overloaded');
		await runInDurableObject(directory, (instance) => {
			Reflect.deleteProperty(instance, 'listEntries');
		});
		if (id !== undefined) expect((await request(`/v1/sessions/${id}/continue`, {})).status).toBe(200);
	});
});

describe('owners', () => {
	let keys: Readonly<Record<'alice' | 'bob' | 'admin', string>>;
	let bindings: Record<string, unknown>;
	beforeAll(async () => {
		({ keys, bindings } = await createKeys({ alice: ['run'], bob: ['run'], admin: ['admin'] }));
	});
	const ask = (key: string, path: string, method = 'GET', body?: object) =>
		worker.request(
			`https://runlet.example.com${path}`,
			{
				method,
				headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
				...(body !== undefined && { body: JSON.stringify(body) }),
			},
			bindings,
		);

	test('cannot see, change or call tools of each other', async () => {
		const body = { ...simple, headers: { authorization: `Bearer \${KEY}` }, secrets: { KEY: token } };
		expect((await ask(keys.alice, '/v1/tools/weather', 'PUT', body)).status).toBe(201);
		expect(await (await ask(keys.bob, '/v1/tools')).json()).toEqual({ tools: [] });
		expect((await ask(keys.bob, '/v1/tools/weather')).status).toBe(404);
		expect((await ask(keys.bob, '/v1/tools/weather', 'DELETE')).status).toBe(404);
		const { secrets: _, ...without } = body;
		expect((await ask(keys.bob, '/v1/tools/weather', 'PUT', without)).status).toBe(400);
		for (const [key, isOffered] of [
			[keys.alice, true],
			[keys.bob, false],
		] as const) {
			const { requests } = play('Done.');
			await ask(key, '/v1/sessions', 'POST', { agent: 'extended', text: 'Go.' });
			expect(requests[0]?.tools?.some(({ name }) => name === 'weather')).toBe(isOffered);
		}
	});

	test('need a key with the scope `run`, so session tokens and keys with only `admin` are refused', async () => {
		const { token: session } = await (await ask(keys.alice, '/v1/sessions', 'POST', { agent: 'extended' })).json<{
			token: string;
		}>();
		for (const credential of [session, keys.admin])
			for (const [path, method] of [
				['/v1/tools', 'GET'],
				['/v1/tools/a', 'GET'],
				['/v1/tools/a', 'PUT'],
				['/v1/tools/a', 'DELETE'],
			] as const)
				expect((await ask(credential, path, method, method === 'PUT' ? simple : undefined)).status).toBe(403);
	});

	test('cannot decrypt a secret that was copied from another owner', async () => {
		const body = { ...simple, headers: { authorization: `Bearer \${KEY}` }, secrets: { KEY: token } };
		await ask(keys.alice, '/v1/tools/copied', 'PUT', body);
		const objects = ['alice', 'bob'].map((owner) => env.DIRECTORIES.get(env.DIRECTORIES.idFromName(owner)));
		const [alice, bob] = objects;
		if (alice === undefined || bob === undefined) throw new Error('no object');
		const entry = await alice.getEntry('tool', 'copied');
		if (entry === undefined) throw new Error('no entry');
		await bob.putEntry({ kind: 'tool', name: 'copied', definition: entry.definition, sealed: entry.sealed, most: 100 });
		const { secrets: _, ...without } = body;
		const response = await ask(keys.bob, '/v1/tools/copied', 'PUT', without);
		await refused(response, 400, 'headers.authorization', /no secret/);
	});
});
