/** The path of the proxy of `npm start` by which the page connects a model. A server plays the provider. */
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { parseEnv } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { findVariablesFile } from '../../src/command/dev/connect/variables-file.ts';
import { answerConnect, type ConnectOptions } from '../../src/command/dev/connect.ts';
import { createProxy } from '../../src/command/dev/proxy.ts';

let folder: string;
let provider: Server;
let seen: IncomingMessage[];
let answer: { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> };
const open: Server[] = [];

const models = {
	data: [
		{ id: 'claude-old', created_at: '2024-01-01T00:00:00Z' },
		{ id: 'claude-new', created_at: '2026-01-01T00:00:00Z' },
		{ id: 'gpt-5.4', created: 1 },
		{ id: 'text-embedding-3', created: 2 },
	],
};

beforeAll(async () => {
	provider = createServer((req, res) => {
		seen.push(req);
		res.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
		res.end(JSON.stringify(answer.body));
	});
	await listen(provider);
});
afterAll(() => provider.close());
beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-connect-'));
	seen = [];
	answer = { status: 200, body: models };
});
afterEach(async () => {
	for (const server of open.splice(0)) {
		server.closeAllConnections();
		server.close();
	}
	await rm(folder, { recursive: true });
});

async function listen(server: Server): Promise<number> {
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	return findPort(server);
}

function findPort(server: Server): number {
	const address = server.address();
	return typeof address === 'object' && address !== null ? address.port : 0;
}

async function startProxy(more: Partial<ConnectOptions> = {}): Promise<number> {
	const options = { basePath: '', hasModel: false, findFile: () => findVariablesFile(folder, undefined), ...more };
	const server = createProxy({
		secret: 'the-secret',
		findAddress: () => Promise.reject(new Error('there is no Worker')),
		onlyLoopback: true,
		answerFirst: (req) => answerConnect(req, options),
	});
	open.push(server);
	return listen(server);
}

const baseUrl = () => `http://127.0.0.1:${findPort(provider)}`;
const access = (more: object = {}) => ({ provider: 'ANTHROPIC', key: 'sk-fake', baseUrl: baseUrl(), ...more });

/** Sends a request as the page of the proxy would. `headers` replaces its headers; an empty one is left out. */
async function ask(port: number, method: string, body: unknown, headers: Record<string, string> = {}) {
	const own = {
		...{ host: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json' },
		...{ 'sec-fetch-site': 'same-origin', ...headers },
	};
	const req = request({
		...{ host: '127.0.0.1', port, method, path: '/v1/local/model' },
		headers: Object.fromEntries(Object.entries(own).filter(([, value]) => value !== '')),
	});
	req.end(body === undefined ? undefined : JSON.stringify(body));
	const [res]: IncomingMessage[] = await once(req, 'response');
	const text = res === undefined ? '' : await readText(res);
	return { status: res?.statusCode, text, headers: res?.headers };
}

const readVars = () => readFile(join(folder, '.dev.vars'), 'utf8').catch(() => undefined);

test('lists the models of a provider that accepts the key, the newest first, and stores nothing', async () => {
	const port = await startProxy();
	const { status, text } = await ask(port, 'POST', access());
	expect([status, JSON.parse(text)]).toEqual([200, { models: ['claude-new', 'claude-old'] }]);
	expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer sk-fake', 'anthropic-version': '2023-06-01' });
	expect(await readVars()).toBeUndefined();
});

test('names the models of other providers as Runlet does', async () => {
	const port = await startProxy();
	const openai = await ask(port, 'POST', access({ provider: 'OPENAI' }));
	expect(JSON.parse(openai.text)).toEqual({ models: ['gpt-5.4'] });
	expect(seen[0]?.headers.authorization).toBe('Bearer sk-fake');
	const own = await ask(port, 'POST', access({ provider: 'CHAT', key: '' }));
	expect(JSON.parse(own.text).models).toContain('chat/claude-new');
	expect(seen[1]?.headers.authorization).toBeUndefined();
	const methods = ['generateContent'];
	const gemini = [
		{ name: 'models/gemini-3-pro', supportedGenerationMethods: methods },
		{ name: 'models/aqa', supportedGenerationMethods: [] },
	];
	answer = { status: 200, body: { models: gemini } };
	expect(JSON.parse((await ask(port, 'POST', access({ provider: 'GEMINI' }))).text)).toEqual({
		models: ['gemini-3-pro'],
	});
});

test('writes key, address and model, keeps all other lines, and lets only its user read the file', async () => {
	const lines = '# mine\nGITHUB_TOKEN=abc\nexport ANTHROPIC_API_KEY="old"\nMODEL=demo\nLAST=1';
	await writeFile(join(folder, '.dev.vars'), lines);
	await chmod(join(folder, '.dev.vars'), 0o644);
	const port = await startProxy();
	const { status, text } = await ask(port, 'PUT', access({ model: 'claude-new' }));
	expect([status, text]).toEqual([200, '{"file":".dev.vars"}']);
	expect(await readVars()).toBe(
		`# mine\nGITHUB_TOKEN=abc\nANTHROPIC_API_KEY=sk-fake\nMODEL=claude-new\nLAST=1\nANTHROPIC_BASE_URL=${baseUrl()}\n`,
	);
	expect((await stat(join(folder, '.dev.vars'))).mode & 0o777).toBe(0o600);
	await ask(port, 'PUT', access({ key: 'sk-two', baseUrl: '', model: 'claude-old' }));
	const variables = parseEnv((await readVars()) ?? '');
	expect(variables).toMatchObject({ ANTHROPIC_API_KEY: 'sk-two', MODEL: 'claude-old', GITHUB_TOKEN: 'abc' });
	expect(variables).not.toHaveProperty('ANTHROPIC_BASE_URL');
});

test('a new address never gets a key that was stored before', async () => {
	await writeFile(join(folder, '.dev.vars'), 'CHAT_API_KEY=secret\nCHAT_BASE_URL=https://mine.example/v1\n');
	const port = await startProxy();
	await ask(port, 'PUT', access({ provider: 'CHAT', key: '', model: 'chat/x' }));
	expect(await readVars()).toBe(`CHAT_BASE_URL=${baseUrl()}\nMODEL=chat/x\n`);
	expect((await ask(port, 'PUT', access({ key: '', model: 'claude-new' }))).status).toBe(400);
});

test.each([
	['the page of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, 403],
	['a page of another port of this machine', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }, 403],
	['a page without an origin of its own', { origin: 'null' }, 403],
	['a program that is no browser', { origin: '', 'sec-fetch-site': '' }, 403],
	['a form, which cannot send JSON', { 'content-type': 'text/plain' }, 403],
	['a foreign name that leads to this machine', { host: 'evil.example', origin: 'http://evil.example' }, 403],
])('refuses %s', async (_, headers, status) => {
	const port = await startProxy();
	for (const method of ['POST', 'PUT'])
		expect((await ask(port, method, access({ model: 'claude-new' }), headers)).status).toBe(status);
	expect(seen).toEqual([]);
	expect(await readVars()).toBeUndefined();
});

test.each([
	['a line break in the key', { key: 'sk-a\nLOCAL=true' }, 'key'],
	['a quotation mark in the key', { key: 'sk-"a' }, 'key'],
	['a comment in the key', { key: 'sk-a#b' }, 'key'],
	['a line break in the model', { model: 'claude\nLOCAL=true' }, 'model'],
	['an address that is none', { baseUrl: 'not an address' }, 'baseUrl'],
	['an address of another scheme', { baseUrl: 'file:///etc/passwd' }, 'baseUrl'],
	['an address with a password', { baseUrl: 'http://a:b@127.0.0.1' }, 'baseUrl'],
	['an unknown provider', { provider: 'PATH' }, 'provider'],
	['no key', { key: '' }, 'key'],
])('refuses %s, and does not repeat the key', async (_, more, field) => {
	const port = await startProxy();
	const { status, text } = await ask(port, 'PUT', access({ model: 'claude-new', ...more }));
	expect(status).toBe(400);
	expect(JSON.parse(text).error.message).toMatch(new RegExp(`^${field}: `));
	expect(text).not.toContain('sk-');
	expect(await readVars()).toBeUndefined();
});

test('says in plain words what a provider says about a wrong key, without the key', async () => {
	answer = { status: 401, body: { error: { message: 'invalid x-api-key: sk-fake' } } };
	const { status, text } = await ask(await startProxy(), 'POST', access());
	expect(status).toBe(400);
	expect(JSON.parse(text).error.message).toBe('key: Anthropic refuses this (401) and says: “invalid x-api-key: …”');
});

test('says that an address cannot be reached, or that no API is there', async () => {
	const port = await startProxy();
	const closed = await ask(port, 'POST', access({ baseUrl: 'http://127.0.0.1:1' }));
	expect(JSON.parse(closed.text).error.message).toMatch(/^baseUrl: http:\/\/127\.0\.0\.1:1 cannot be reached/);
	answer = { status: 200, body: '<html>' };
	const other = await ask(port, 'POST', access());
	expect(JSON.parse(other.text).error.message).toContain('but not with a list of models (status 200)');
});

test('does not follow a redirect, which could carry the key to somebody else', async () => {
	answer = { status: 302, body: {}, headers: { location: `${baseUrl()}/elsewhere` } };
	const { status } = await ask(await startProxy(), 'POST', access());
	expect([status, seen.length]).toEqual([400, 1]);
});

test('changes the file behind a link, and refuses a file with a value of several lines', async () => {
	await writeFile(join(folder, 'shared'), 'A=1\n');
	await symlink(join(folder, 'shared'), join(folder, '.dev.vars'));
	const port = await startProxy();
	await ask(port, 'PUT', access({ model: 'claude-new' }));
	expect(await readFile(join(folder, 'shared'), 'utf8')).toContain('MODEL=claude-new');
	const lines = 'ANTHROPIC_API_KEY="one\nA=2\ntwo"\n';
	await writeFile(join(folder, 'shared'), lines);
	expect((await ask(port, 'PUT', access({ model: 'claude-new' }))).status).toBe(409);
	expect(await readVars()).toBe(lines);
});

test('uses .env where a project has no .dev.vars, and the file of the chosen environment', async () => {
	await writeFile(join(folder, '.env'), 'A=1\n');
	expect(findVariablesFile(folder, undefined)).toBe(join(folder, '.env'));
	await writeFile(join(folder, '.dev.vars.staging'), '');
	expect(findVariablesFile(folder, 'staging')).toBe(join(folder, '.dev.vars.staging'));
});

test('says that --var MODEL has precedence, and names the file to the page', async () => {
	const port = await startProxy({ hasModel: true });
	const { status, text } = await ask(port, 'PUT', access({ model: 'claude-new' }));
	expect([status, JSON.parse(text).error.message]).toEqual([409, expect.stringContaining('--var MODEL')]);
	const { text: told, headers } = await ask(port, 'GET', undefined, { origin: '', 'content-type': '' });
	expect([told, headers?.['cache-control']]).toEqual(['{"file":".dev.vars"}', 'no-store']);
});
