import { describe, expect, it } from 'vitest';
import { chat, providers } from '../../../src/core/index.ts';
import { type Served, serve } from './serve.ts';
import { call, connect, keep } from './support.ts';

/** The answer of a server to `tools/call`: a response, or nothing if it cuts the connection. */
type Hostile = (id: number, request: Request) => Response | Promise<Response>;

const inputSchema = { type: 'object' };
const tools = [{ name: 'go', description: 'Goes.', inputSchema }];

/** Serves revision 2025-11-25 correctly until a tool is called. */
function serveHostile(answerCall: Hostile): Promise<Served> {
	return serve(async (request) => {
		const text = request.method === 'POST' ? await request.text() : '{}';
		const { id, method }: { id?: number; method?: string } = JSON.parse(text);
		const answer = (result: object) => Response.json({ jsonrpc: '2.0', id, result });
		if (method === 'initialize')
			return answer({
				protocolVersion: '2025-11-25',
				capabilities: { tools: {} },
				serverInfo: { name: 'h', version: '1' },
			});
		if (method === 'tools/list') return answer({ tools });
		if (method === 'tools/call') return answerCall(id ?? 0, request);
		return new Response(null, { status: id === undefined && request.method === 'POST' ? 202 : 405 });
	});
}

/** A stream that sends a text, and then closes, breaks or hangs. */
function stream(text: string, ends: 'closes' | 'breaks' | 'hangs'): Response {
	const body = new ReadableStream({
		start: (controller) => {
			controller.enqueue(new TextEncoder().encode(text));
			if (ends === 'closes') controller.close();
			if (ends === 'breaks') setTimeout(() => controller.error(new Error('died')), 10);
		},
	});
	return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** 10 MB of JSON, in pieces. */
function flood(id: number): Response {
	const piece = new TextEncoder().encode('x'.repeat(65_536));
	let sent = 0;
	const body = new ReadableStream<Uint8Array>({
		start: (controller) => {
			controller.enqueue(
				new TextEncoder().encode(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`),
			);
		},
		pull: (controller) => {
			if (sent++ < 160) controller.enqueue(piece);
			else {
				controller.enqueue(new TextEncoder().encode('"}]}}'));
				controller.close();
			}
		},
	});
	return new Response(body, { headers: { 'content-type': 'application/json' } });
}

const json = (id: number, rest: object) => Response.json({ jsonrpc: '2.0', id, ...rest });

const attacks: Readonly<Record<string, readonly [Hostile, words: RegExp]>> = {
	hangs: [() => new Promise(() => {}), /no answer within/],
	'sends only comments and never ends': [() => stream(': wait\n\n', 'hangs'), /no answer within/],
	'dies in the call': [
		() => {
			throw new Error('died');
		},
		/could not be reached/,
	],
	'dies in the middle of its stream': [
		() => stream(': wait\n\n', 'breaks'),
		/could not be reached.*may have had effects/,
	],
	'closes its stream without a result': [
		() => stream(': wait\n\n', 'closes'),
		/ended its answer without a result.*may have had effects/,
	],
	'sends 10 MB': [flood, /more than 8388608 bytes/],
	'sends garbage': [
		() => new Response('}{', { headers: { 'content-type': 'application/json' } }),
		/could not be asked/,
	],
	'sends a wrong content type': [
		() => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
		/Unexpected content type/,
	],
	'sends an invalid result': [(id) => json(id, { result: { content: 'text' } }), /./],
	'answers with an error': [
		(id) => json(id, { error: { code: -32_602, message: 'no such thing' } }),
		/refused this: .*no such thing/,
	],
	'answers 500': [() => new Response('oops', { status: 500 }), /oops/],
	'answers 401 without saying where to log in': [
		() => new Response('', { status: 401 }),
		/does not let this agent in \(401\)/,
	],
	'redirects to a private address': [
		() => new Response(null, { status: 307, headers: { location: 'http://169.254.169.254/latest' } }),
		/url: (not https|an IP address)|redirects/,
	],
	'redirects to another server': [
		() => new Response(null, { status: 307, headers: { location: 'https://other.example/mcp' } }),
		/redirects a request with a body|could not be/,
	],
	'redirects for ever': [
		() => new Response(null, { status: 307, headers: { location: '/mcp' } }),
		/redirects too often/,
	],
};

describe('a server that', () => {
	it.each(Object.entries(attacks))(
		'%s does not break a run, and the model gets an error',
		async (_, [answer, words]) => {
			const served = keep(await serveHostile(answer));
			const timeoutMs = words.source.includes('no answer within') ? 300 : 60_000;
			const { loadTools } = await connect(served, { timeoutMs });
			const go = { toolCalls: [{ id: 'a', name: 'fixture_go', input: {} }] };
			const model = providers.scripted([go, 'I see.']);
			const run = chat.run({ model: 'scripted', providers: [model], loadTools }, [chat.userMessage('go')]);
			const { status, text, messages } = await run.result;
			expect([status, text]).toEqual(['completed', 'I see.']);
			const told = messages.find(({ role }) => role === 'tool');
			expect(told).toMatchObject({ isError: true, content: expect.stringMatching(words) });
			expect(String(told?.content)).toMatch(/^fixture: /);
		},
	);

	it('always closes its stream gets at most ten requests a second', async () => {
		let streams = 0;
		const served = keep(
			await serve(async (request) => {
				const { id, method }: { id?: number; method?: string } =
					request.method === 'POST' ? JSON.parse(await request.text()) : {};
				if (request.method === 'GET') {
					streams++;
					return stream('retry: 0\n\n', 'closes');
				}
				if (method === 'initialize')
					return json(id ?? 0, {
						result: {
							protocolVersion: '2025-11-25',
							capabilities: { tools: {} },
							serverInfo: { name: 'h', version: '1' },
						},
					});
				return method === 'tools/list'
					? json(id ?? 0, { result: { tools } })
					: new Response(null, { status: id === undefined ? 202 : 404 });
			}),
		);
		const begun = Date.now();
		await connect(served);
		await expect.poll(() => streams).toBeGreaterThan(3);
		expect(streams).toBeLessThanOrEqual(2 + (Date.now() - begun) / 100);
	});

	it('was slow in one call can still answer the next call', async () => {
		let calls = 0;
		const served = keep(
			await serveHostile((id) => {
				if (calls++ === 0) return new Promise(() => {});
				return json(id, { result: { content: [{ type: 'text', text: 'here' }] } });
			}),
		);
		const connection = await connect(served, { timeoutMs: 1_000 });
		expect(await call(connection.tools, 'go')).toMatchObject({ isError: true });
		expect(await call(connection.tools, 'go')).toMatchObject({ output: 'here' });
	});
});
