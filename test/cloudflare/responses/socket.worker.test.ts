import { env, SELF } from 'cloudflare:test';
import { afterEach, expect, test } from 'vitest';
import { responses } from '../../../src/cloudflare/responses/index.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { request } from '../../client.ts';
import { play } from '../../script.ts';

interface Said {
	readonly type: string;
	readonly status?: number;
	readonly error?: { readonly code: string; readonly param: string | null };
	readonly response?: { readonly id: string; readonly status: string };
}

const open: WebSocket[] = [];
afterEach(() => {
	for (const socket of open.splice(0)) socket.close();
});

/** Opens a connection. `next` returns the messages up to the end of a response, or a failure. */
async function connect(headers: Readonly<Record<string, string>> = {}) {
	const { webSocket: socket, status } = await SELF.fetch('http://localhost/v1/responses', {
		headers: { upgrade: 'websocket', ...headers },
	});
	if (socket === null) throw new Error(`There is no WebSocket, but the status ${status}.`);
	const waiting: Said[] = [];
	const readers: ((said: Said) => void)[] = [];
	socket.addEventListener('message', ({ data }) => {
		const said: Said = JSON.parse(String(data));
		const reader = readers.shift();
		if (reader === undefined) waiting.push(said);
		else reader(said);
	});
	const { promise: closed, resolve } = Promise.withResolvers<CloseEvent>();
	socket.addEventListener('close', resolve);
	socket.accept();
	open.push(socket);
	const take = () => waiting.shift() ?? new Promise<Said>((resolve) => readers.push(resolve));
	return {
		closed,
		take,
		close: () => socket.close(),
		send: (body: object) => socket.send(JSON.stringify({ type: 'response.create', model: 'scripted', ...body })),
		sendText: (text: string) => socket.send(text),
		next: async (): Promise<readonly Said[]> => {
			const all: Said[] = [];
			for (;;) {
				const said = await take();
				all.push(said);
				if (/^(error|response\.(completed|incomplete|failed))$/.test(said.type)) return all;
			}
		},
	};
}

test('a WebSocket answers its messages one after the other, each with the events of its own response', async () => {
	const { requests } = play('One.', 'Two.');
	const socket = await connect({ 'idempotency-key': 'of-the-opening', 'x-stainless-retry-count': '0' });
	socket.send({ input: 'First' });
	socket.send({ input: 'Second' });
	const [first, second] = [await socket.next(), await socket.next()];
	for (const events of [first, second]) {
		expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
		expect(new Set(events.flatMap(({ response }) => response?.id ?? [])).size).toBe(1);
		expect(events.at(-1)).toMatchObject({ response: { status: 'completed' } });
	}
	expect(second[0]?.response?.id).not.toBe(first[0]?.response?.id);
	expect(requests).toHaveLength(2);
	const stored = await request(`/v1/responses/${first[0]?.response?.id}`);
	expect(await stored.json()).toMatchObject({ status: 'completed', store: true });
});

test('a response that is not stored goes on in its connection, until a failure, and in no other', async () => {
	const { requests } = play('One.', 'Two.', 'Not this.');
	const socket = await connect();
	const after = async (previous: string | undefined, input: unknown, where = socket) => {
		where.send({ store: false, input, previous_response_id: previous });
		return (await where.next()).at(-1);
	};
	const missing = { status: 404, error: { code: 'previous_response_not_found', param: 'previous_response_id' } };
	const first = (await after(undefined, 'First'))?.response?.id;
	const second = (await after(first, 'Second'))?.response?.id;
	expect(requests.at(-1)?.messages.map(({ content }) => content)).toEqual(['First', 'One.', 'Second']);
	expect(await after(second, 'Third', await connect())).toMatchObject(missing);
	const lost = [{ type: 'function_call_output', call_id: 'call_none', output: 'x' }];
	expect(await after(second, lost)).toMatchObject({ type: 'error', status: 409 });
	expect(await after(second, 'Third')).toMatchObject(missing);
	expect(requests).toHaveLength(2);
});

test('a WebSocket names the mistake in a message, and stays open', async () => {
	play('Hello.');
	const socket = await connect();
	const fail = async (text: string) => {
		socket.sendText(text);
		return (await socket.next()).at(-1);
	};
	const message = { type: 'response.create', model: 'scripted', input: 'Go' };
	expect(await fail('{')).toMatchObject({ type: 'error', status: 400, error: { code: 'invalid_request' } });
	expect(await fail('{"type":"session.update"}')).toMatchObject({ status: 400, error: { param: 'type' } });
	for (const field of ['stream', 'background'])
		expect(await fail(JSON.stringify({ ...message, [field]: true }))).toMatchObject({ error: { param: field } });
	expect(await fail(JSON.stringify({ ...message, generate: false }))).toMatchObject({ error: { param: 'generate' } });
	expect(await fail(JSON.stringify({ ...message, model: 'none' }))).toMatchObject({ error: { param: 'model' } });
	socket.send({ input: 'Go' });
	expect((await socket.next()).at(-1)).toMatchObject({ response: { status: 'completed' } });
});

test('a WebSocket at which too many messages wait is closed, and they begin no runs', async () => {
	const going = Promise.withResolvers<string>();
	const { requests } = play(() => going.promise, 'Done, too.');
	const socket = await connect();
	socket.send({ input: 'First' });
	const id = (await socket.take()).response?.id;
	for (let left = 16; left > 0; left--) socket.send({ input: 'Go' });
	expect((await socket.closed).code).toBe(1008);
	going.resolve('Done.');
	await (await request(`/v1/responses/${id}?stream=true`)).text();
	const later = await connect();
	later.send({ input: 'Later' });
	await later.next();
	expect(requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['First', 'Later']);
});

test('a client that leaves does not stop its run', async () => {
	const going = Promise.withResolvers<string>();
	play(() => going.promise);
	const socket = await connect();
	socket.send({ input: 'Go' });
	const id = (await socket.take()).response?.id;
	socket.close();
	going.resolve('Done.');
	await (await request(`/v1/responses/${id}?stream=true`)).text();
	expect(await (await request(`/v1/responses/${id}`)).json()).toMatchObject({ status: 'completed' });
});

test('without an upgrade there is no WebSocket', async () => {
	const plain = await SELF.fetch('http://localhost/v1/responses');
	expect([plain.status, await plain.json()]).toMatchObject([400, { error: { param: 'upgrade' } }]);
});

test('a page of another site opens no WebSocket with the cookies of an account', async () => {
	const product = createApp({ agents: [], providers: () => [], authenticate: () => ({ owner: 'alice' }) }, [responses]);
	const openFrom = (origin: string) =>
		product.request('https://shop.example/v1/responses', { headers: { upgrade: 'websocket', origin } }, env);
	expect((await openFrom('https://evil.example')).status).toBe(403);
	const { status, webSocket } = await openFrom('https://shop.example');
	expect(status).toBe(101);
	webSocket?.accept();
	webSocket?.close();
});
