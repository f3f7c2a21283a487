import { env } from 'cloudflare:test';
import { expect, inject, test } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { toolbox } from '../../../src/core/index.ts';
import { webAgent } from '../../../src/core/toolboxes/web/robots.ts';
import worker from '../../worker.ts';

const receiver = inject('receiver');
const { port } = new URL(receiver);
const read = (url: string, { LOCAL }: { readonly LOCAL: string }) =>
	toolbox.perform('web_fetch', { url }, toolbox.withWeb(), { web: readConfig({ ...env, LOCAL }).web });
const hosts = [
	'127.0.0.1',
	'127.1',
	'0x7f.1',
	'2130706433',
	'[::ffff:127.0.0.1]',
	'[::1]',
	'localhost',
	'foo.localhost',
];

test.each(hosts)('a deployed Worker never requests %s', async (host) => {
	const outcome = await read(`http://${host}:${port}/echo/web-deployed`, { LOCAL: 'false' });
	expect(outcome).toMatchObject({ ok: false, error: { kind: 'invalid_argument' } });
	expect(await (await fetch(`${receiver}/echoed/web-deployed`)).json()).toEqual([]);
});

test('under npm start a tool can request this machine, but follows no redirect to a private address', async () => {
	const outcome = await read(`${receiver}/echo/web-local?type=text/plain`, { LOCAL: 'true' });
	expect(outcome).toMatchObject({
		ok: true,
		value: { contentType: 'text/plain', text: expect.stringContaining('web-local') },
	});
	const to = encodeURIComponent('http://169.254.169.254/latest/meta-data');
	const away = await read(`${receiver}/echo/web-away?status=302&to=${to}`, { LOCAL: 'true' });
	expect(away).toMatchObject({ ok: false, error: { message: expect.stringMatching(/^url: /) } });
});

test.each(['/v1/sessions', '/v1/usage', '/mcp/assistant', '/healthz?deep'])(
	'under npm start the API at %s needs no key, but refuses the requests of web tools',
	async (path) => {
		const ask = (headers: Record<string, string>) =>
			worker.request(`http://127.0.0.1:8787${path}`, { headers }, { ...env, LOCAL: 'true' });
		expect([401, 403]).not.toContain((await ask({ 'user-agent': 'curl' })).status);
		expect([401, 403]).toContain((await ask({ 'user-agent': webAgent })).status);
	},
);

test('a tool that reads the web sends its User-Agent with each request, also after a redirect', async () => {
	const seen: (string | null)[] = [];
	const fetch: typeof globalThis.fetch = async (input, init) => {
		seen.push(new Headers(init?.headers).get('user-agent'));
		const location = 'http://localhost:8788/v1/sessions';
		return String(input) === location
			? new Response('here')
			: new Response(null, { status: 302, headers: { location } });
	};
	const context = { web: { allowLoopback: true }, fetch };
	const outcome = await toolbox.perform('web_fetch', { url: 'http://127.0.0.1:9/' }, toolbox.withWeb(), context);
	expect([outcome.ok, seen]).toEqual([true, [webAgent, webAgent]]);
});
