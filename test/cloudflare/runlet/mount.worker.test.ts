import { env } from 'cloudflare:test';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { createDocument } from '../../../src/cloudflare/openapi/document.ts';
import { renderPage } from '../../../src/cloudflare/openapi/page.ts';
import { createRunlet, defineAgent } from '../../../src/cloudflare/runlet/index.ts';

const agents = [defineAgent({ name: 'plain', description: 'On the model of the Worker.' })];
const runlet = createRunlet({ agents, basePath: '/ai' });
const json = { 'content-type': 'application/json' };

/** The page of the binding `PAGE`. */
const html =
	'<link rel="icon" href="data:,"><link rel="stylesheet" href="./theme.css"><script src="./app.js"></script><a href="https://example.com">x</a>';
const policy = "default-src 'none'; script-src 'self'";
const pageFiles = {
	fetch: async (request: Request) => {
		const { pathname } = new URL(request.url);
		const [type = 'text/css', text = ''] = texts[pathname] ?? [];
		const headers = { 'content-type': type, 'content-security-policy': policy, 'x-path': pathname };
		return new Response(text, { headers });
	},
};
const document = createDocument();
const texts: Readonly<Record<string, readonly [type: string, text: string]>> = {
	'/': ['text/html; charset=utf-8', html],
	'/docs': ['text/html; charset=utf-8', renderPage(document)],
	'/openapi.json': ['application/json', JSON.stringify(document)],
};
const bindings = { ...env, LOCAL: 'true', CORS_ORIGINS: 'https://app.example.com', PAGE: pageFiles };

/** A Worker with its own routes. */
function createHost() {
	return new Hono<{ Bindings: object }>()
		.get('/', (c) => c.text('the host'))
		.get('/v1/agents', (c) => c.text('agents of the host'))
		.get('/aim', (c) => c.text('aim'));
}

const hosts = {
	'host.mount': createHost().mount('/ai', runlet.fetch),
	'host.route': createHost().route('/ai', runlet.app),
	'a route of Cloudflare': {
		request: (url: string, init: RequestInit, given: object) => runlet.fetch(new Request(url, init), given),
	},
};

describe.each(Object.entries(hosts))('under /ai, by %s', (_, host) => {
	const ask = (path: string, init: RequestInit = {}, given: object = bindings) =>
		host.request(`http://127.0.0.1${path}`, init, given);

	test('creates a session with an address under /ai, and reads the session there', async () => {
		const body = JSON.stringify({ agent: 'plain', text: 'What is 17 + 25?' });
		const created = await ask('/ai/v1/sessions', { method: 'POST', headers: json, body });
		expect(created.status).toBe(201);
		const location = created.headers.get('location') ?? '';
		expect(location).toMatch(/^\/ai\/v1\/sessions\/[0-9a-f]{64}$/);
		expect(await (await ask(location)).json()).toMatchObject({ status: 'completed', agent: 'plain' });
		expect(await (await ask(`${location}/messages`)).text()).toContain('I am the demo model');
	});

	test('the API document and its page have addresses under /ai', async () => {
		expect(await (await ask('/ai/openapi.json')).json()).toEqual({ ...document, servers: [{ url: '/ai' }] });
		const docs = await (await ask('/ai/docs')).text();
		const addresses = [...docs.matchAll(/(?:href|src)="([^#"][^"]*)"/g)].map(([, address = '']) => address);
		expect(addresses).toEqual([
			'data:,',
			'/ai/theme.css',
			'/ai/docs.css',
			'/ai/theme.js',
			'/ai/docs.js',
			'/ai/',
			'/ai/openapi.json',
		]);
	});

	test.each(['/ai', '/ai/'])('the page at %s keeps its content policy and loads files from /ai', async (path) => {
		const response = await ask(path);
		expect([response.status, response.headers.get('content-security-policy')]).toEqual([200, policy]);
		expect(await response.text()).toBe(html.replaceAll('./', '/ai/'));
		const file = await ask('/ai/theme.css');
		expect([file.status, file.headers.get('x-path')]).toEqual([200, '/theme.css']);
	});

	test.each(['/ai/', '/ai/docs', '/ai/openapi.json'])(
		'answers %s with a 404 and the lines to write if the page’s files are not bound',
		async (path) => {
			const response = await ask(path, {}, { ...bindings, PAGE: undefined });
			expect([response.status, await response.text()]).toEqual([
				404,
				expect.stringMatching(/node_modules\/runlet\/dist\/page.*binding = .*PAGE.*run_worker_first = true/),
			]);
		},
	);

	test('answers an unknown path with a 404 of Runlet that names the whole path', async () => {
		const response = await ask('/ai/v1/nothing');
		expect(response.status).toBe(404);
		expect(await response.json()).toEqual({
			error: { code: 'not_found', message: 'There is nothing at /ai/v1/nothing. /ai/docs has the routes.' },
		});
		const method = await ask('/ai/v1/sessions', { method: 'PUT' });
		expect([method.status, method.headers.get('allow')]).toEqual([405, 'GET, POST']);
	});

	test('pages of other origins have access if CORS_ORIGINS lists them', async () => {
		const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };
		const preflight = await ask('/ai/v1/sessions', { method: 'OPTIONS', headers });
		expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
		const other = await ask('/ai/v1/sessions', { method: 'OPTIONS', headers: { ...headers, origin: 'https://x.com' } });
		expect(other.headers.get('access-control-allow-origin')).toBeNull();
	});
});

test.each(['host.mount', 'host.route'] as const)('%s leaves the other routes of the host unchanged', async (way) => {
	const ask = (path: string) => hosts[way].request(`http://127.0.0.1${path}`, {}, bindings);
	expect(await (await ask('/')).text()).toBe('the host');
	expect(await (await ask('/v1/agents')).text()).toBe('agents of the host');
	expect(await (await ask('/aim')).text()).toBe('aim');
	expect((await ask('/nothing')).headers.get('content-type')).toContain('text/plain');
});

test('a Runlet under a path that is not its base path says which option to set', async () => {
	const host = createHost().route('/bot', createRunlet({ agents }).app);
	const response = await host.request('http://127.0.0.1/bot/v1/agents', {}, bindings);
	expect([response.status, await response.text()]).toEqual([
		404,
		expect.stringContaining("If Runlet stands under /bot, say so: createRunlet({ basePath: '/bot' })."),
	]);
});

test('a Runlet without a base path has its addresses at /', async () => {
	const plain = createRunlet({ agents });
	const ask = (path: string, init: RequestInit = {}) =>
		plain.fetch(new Request(`http://127.0.0.1${path}`, init), bindings);
	const created = await ask('/v1/sessions', {
		method: 'POST',
		headers: json,
		body: JSON.stringify({ agent: 'plain' }),
	});
	expect(created.headers.get('location')).toMatch(/^\/v1\/sessions\//);
	expect(await (await ask('/')).text()).toBe(html.replaceAll('./', '/'));
	expect(await (await ask('/openapi.json')).json()).toEqual(document);
});

test('without the page, its paths are 404, and the documents and the element stay', async () => {
	const without = createRunlet({ agents, page: false });
	const ask = (path: string) => without.fetch(new Request(`http://127.0.0.1${path}`), bindings);
	for (const path of ['/', '/app.js', '/style.css']) expect((await ask(path)).status, path).toBe(404);
	for (const path of ['/docs', '/openapi.json', '/embed.js', '/theme.css', '/v1/agents'])
		expect((await ask(path)).status, path).toBe(200);
	const withPage = createRunlet({ agents });
	expect((await withPage.fetch(new Request('http://127.0.0.1/'), bindings)).status).toBe(200);
});
