/** `/mcp/:agent`: access, and hostile clients. */
import { env, SELF } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { createSession, request } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import worker, { aborted } from '../../worker.ts';
import { connect, readText } from './client.ts';
import { fakeTheWeb, serveTools } from './fake-servers.ts';

const path = '/mcp/scripted';
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const accept = { accept: 'application/json, text/event-stream' };

afterEach(() => {
	vi.restoreAllMocks();
});

describe('access to an agent', () => {
	test('is separate for two owners who use the same session name', async () => {
		const { keys, bindings } = await createKeys({ ada: ['run'], bob: ['run'] });
		const open = (key: string, to = `${path}?session=shared`) =>
			connect(to, {
				headers: { authorization: `Bearer ${key}` },
				fetch: (sent) => worker.fetch(sent, bindings),
			});
		const [ada, bob] = await Promise.all([open(keys.ada), open(keys.bob)]);
		const remember = { name: 'remember', arguments: { key: 'k' } };
		expect(readText(await ada.callTool(remember))).toBe('1');
		expect(readText(await bob.callTool(remember))).toBe('1');
		const started = await ada.callTool({ name: 'agent_start', arguments: { text: 'Hi' } });
		const { sessionId } = started.structuredContent as { readonly sessionId: string };
		const foreign = await open(keys.bob, `${path}?session=${sessionId}`);
		await expect(foreign.callTool(remember)).rejects.toThrow('no such session');
		for (const name of ['agent_get', 'agent_cancel', 'agent_ask', 'agent_start'])
			await expect(
				bob.callTool({ name, arguments: { session: sessionId, ...(/ask|start/.test(name) && { text: 'x' }) } }),
				name,
			).rejects.toThrow('no such session');
	});

	test('is refused to a request with a session token, and to a request without a key', async () => {
		const { keys, bindings } = await createKeys({ ada: ['run'] });
		const send = (headers: Record<string, string>, url = path) =>
			worker.request(
				url,
				{
					method: 'POST',
					body: JSON.stringify(list),
					headers: { ...accept, ...headers, 'content-type': 'application/json' },
				},
				bindings,
			);
		const created = await worker.request(
			'/v1/sessions',
			{
				method: 'POST',
				body: '{"agent":"scripted"}',
				headers: { authorization: `Bearer ${keys.ada}`, 'content-type': 'application/json' },
			},
			bindings,
		);
		const { token } = await created.json<{ token: string }>();
		const refused = await send({ authorization: `Bearer ${token}` });
		expect([refused.status, await refused.json()]).toMatchObject([
			403,
			{ jsonrpc: '2.0', error: { data: { code: 'forbidden' } } },
		]);
		const stranger = await send({});
		expect(stranger.status).toBe(401);
		expect(stranger.headers.get('www-authenticate')).toContain('Bearer');
		expect((await send({ authorization: `Bearer ${keys.ada}` })).status).toBe(200);
	});

	test('is refused to a page of another site, with and without a key', async () => {
		const { keys, bindings } = await createKeys({ ada: ['run'] });
		const headers = { ...accept, 'content-type': 'application/json', origin: 'https://evil.example.com' };
		const body = JSON.stringify(list);
		const keyed = { ...headers, authorization: `Bearer ${keys.ada}` };
		expect((await worker.request(path, { method: 'POST', body, headers: keyed }, bindings)).status).toBe(403);
		expect((await request(path, list, headers)).status).toBe(403);
		const allowed = { ...bindings, CORS_ORIGINS: 'https://evil.example.com' };
		expect((await worker.request(path, { method: 'POST', body, headers: keyed }, allowed)).status).toBe(200);
	});

	test('fails with 404 on every MCP route without the plugin mcp, and the answer shows the missing import', async () => {
		const app = createApp({ agents: [], providers: () => [] });
		const asked = [
			['POST', '/mcp/any'],
			['GET', '/v1/mcp'],
			['PUT', '/v1/mcp/tracker'],
			['POST', '/v1/mcp/tracker/login'],
			['GET', '/v1/mcp/callback'],
		] as const;
		for (const [method, path] of asked) {
			const response = await app.request(`http://localhost${path}`, { method, headers: accept }, env);
			expect(response.status, path).toBe(404);
			expect(await response.text(), path).toContain("import { mcp } from 'runlet/cloudflare/mcp'");
		}
	});
});

describe('a hostile client', () => {
	test('gets a 4xx or a protocol error for an invalid request', async () => {
		const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`;
		const bodies: readonly (readonly [what: string, body: string])[] = [
			['no JSON', '{'],
			['nothing', ''],
			['a number', '7'],
			['null', 'null'],
			['an empty batch', '[]'],
			['depth', deep],
			['5 MB', JSON.stringify({ ...list, params: { cursor: 'x'.repeat(5_000_000) } })],
			['no method', '{"jsonrpc":"2.0","id":1}'],
			['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"tools/steal"}'],
			['a method of objects', '{"jsonrpc":"2.0","id":1,"method":"__proto__"}'],
			['a wrong version', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}'],
			['no arguments', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}'],
			[
				'a list of arguments',
				'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[1]}}',
			],
			['half a surrogate', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}'],
		];
		for (const [what, body] of bodies) {
			const headers = { ...accept, 'content-type': 'application/json' };
			const response = await SELF.fetch(`http://localhost${path}`, { method: 'POST', body, headers });
			const text = await response.text();
			expect(response.status, `${what}: ${text.slice(0, 200)}`).toBeLessThan(500);
			expect(response.status >= 400 || text.includes('"error"'), `${what}: ${text.slice(0, 200)}`).toBe(true);
		}
	});

	test('gets a 4xx for unsupported methods, media types and versions, and for invalid session names', async () => {
		for (const method of ['GET', 'DELETE', 'PUT', 'PATCH'])
			expect((await request(path, undefined, accept, method)).status, method).toBe(405);
		const send = (headers: Record<string, string>, to = path) => request(to, list, { ...accept, ...headers });
		expect((await send({ accept: 'text/html' })).status).toBe(406);
		expect((await send({ 'content-type': 'text/plain' })).status).toBe(415);
		expect((await send({ 'mcp-protocol-version': '1999-01-01' })).status).toBe(400);
		expect((await send({}, `${path}?session=`)).status).toBe(400);
		expect((await send({}, `${path}?session=${'x'.repeat(201)}`)).status).toBe(400);
		expect((await send({}, `${path}?session=${'f'.repeat(64)}`)).status).toBeLessThan(500);
	});

	test('cannot forge or repeat an answer, or use it for other arguments or in another session', async () => {
		const raw = async (body: object, to = `${path}?session=states`) => {
			const meta = {
				'io.modelcontextprotocol/protocolVersion': '2026-07-28',
				'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
				'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
			};
			const headers = {
				...accept,
				'mcp-protocol-version': '2026-07-28',
				'mcp-method': 'tools/call',
				'mcp-name': 'pay',
			};
			const sent = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', ...body, _meta: meta } };
			const text = await (await request(to, sent, headers)).text();
			return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
		};
		const ask = async () => {
			const { result } = await raw({ arguments: { amount: 5 } });
			expect(result).toMatchObject({ resultType: 'input_required' });
			return result.requestState as string;
		};
		const yes = { inputResponses: { answer: { action: 'accept', content: { approve: true } } } };
		const state = await ask();
		for (const requestState of ['', 'x', `${state}0`, state.replace(/.$/, (last) => (last === '0' ? '1' : '0'))])
			expect((await raw({ arguments: { amount: 5 }, ...yes, requestState })).error, requestState).toBeDefined();
		expect(
			(await raw({ arguments: { amount: 5 }, ...yes, requestState: state }, `${path}?session=other`)).error,
		).toBeDefined();
		expect((await raw({ arguments: { amount: 5 }, ...yes, requestState: state })).result.content[0].text).toBe(
			'paid 5',
		);
		expect((await raw({ arguments: { amount: 5 }, ...yes, requestState: state })).error).toBeDefined();
		const second = await ask();
		expect((await raw({ arguments: { amount: 500 }, ...yes, requestState: second })).error).toBeDefined();
	});

	test('aborts its call by disconnecting', { timeout: 20_000 }, async () => {
		const client = await connect(`${path}?session=leaving`);
		const stop = new AbortController();
		const seen: string[] = [];
		const left = client.callTool(
			{ name: 'waits', arguments: { key: 'leaving' } },
			{
				signal: stop.signal,
				onprogress: ({ message }) => {
					seen.push(String(message));
					stop.abort();
				},
			},
		);
		await expect(left).rejects.toThrow();
		expect(seen).toEqual(['waiting']);
		await expect.poll(() => aborted.has('leaving'), { timeout: 10_000 }).toBe(true);
	});
});

test('runs calls of sequential tools one after another', async () => {
	const client = await connect(`${path}?session=${await createSession()}`);
	const calls = ['a', 'b', 'c'].map((text) => client.callTool({ name: 'last', arguments: { text } }));
	expect((await Promise.all(calls)).map(readText)).toEqual(['a', 'b', 'c']);
});

describe('an agent with MCP servers', () => {
	beforeEach(fakeTheWeb);

	test('offers the servers’ tools to its own clients, and calls these tools in a session', async () => {
		serveTools('shop.example.com', { find: { call: ({ what }) => `found ${what}` } });
		await request('/v1/mcp/shop', { url: 'https://shop.example.com/mcp' }, {}, 'PUT');
		const client = await connect('/mcp/connected?session=chained');
		const { tools } = await client.listTools();
		expect(tools.map(({ name }) => name)).toContain('shop_find');
		expect(readText(await client.callTool({ name: 'shop_find', arguments: { what: 'bread' } }))).toContain(
			'found bread',
		);
		await request('/v1/mcp/shop', undefined, {}, 'DELETE');
	});
});
