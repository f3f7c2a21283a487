import { env, SELF } from 'cloudflare:test';
import * as v from 'valibot';
import { afterAll, expect, test, vi } from 'vitest';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { operations } from '../../../src/cloudflare/openapi/operations.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { errorBody, failures } from '../../../src/cloudflare/wire/error.ts';
import type { Answer, Operation } from '../../../src/cloudflare/wire/operation.ts';
import { request } from '../../client.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';
import { fakeTheWeb, requireLogin, serveTools } from '../mcp/fake-servers.ts';
import { senders } from '../wire/protocols/webhooks/senders.ts';

type OperationId = keyof typeof operations;

const byId: Readonly<Record<OperationId, Operation>> = operations;
const call = (id: string, name: string, input: unknown) => ({ id, name, input });

/** The answers by operation and status. */
const seen = new Set<string>();

/** Calls an operation, and checks that the answer has exactly the fields of its record. */
async function ask(
	name: OperationId,
	given: {
		/** The path, for an operation with other parameters than `id` and `path`. */
		at?: string;
		id?: string;
		path?: string;
		json?: unknown;
		body?: string;
		headers?: Record<string, string>;
		fetch?: (url: string, init: RequestInit) => Promise<Response>;
	} = {},
): Promise<Record<string, unknown>> {
	const operation = byId[name];
	const { method, path } = operation;
	const place = given.at ?? path.replace(/:id\b/, given.id ?? '').replace(/:\w+/, given.path ?? '');
	const body = given.json === undefined ? given.body : JSON.stringify(given.json);
	const type = given.json === undefined ? 'text/markdown' : 'application/json';
	const { fetch = (url: string, init: RequestInit) => SELF.fetch(url, init) } = given;
	const response = await fetch(`http://localhost${place}`, {
		method: method.toUpperCase(),
		headers: { ...(body !== undefined && { 'content-type': type }), ...given.headers },
		body,
	});
	const where = `${name} ${response.status}`;
	seen.add(where);
	if (!response.ok && response.status !== 304 && response.status !== 101) {
		expect(Object.keys({ ...failures, ...operation.ownErrors }), where).toContain(String(response.status));
		return fits(operation.failure?.json ?? errorBody, await response.json(), where);
	}
	const answer = new Map<string, Answer>(Object.entries(operation.answers)).get(String(response.status));
	if (answer === undefined) throw new Error(`${where} is not described`);
	for (const header of answer.headers ?? []) expect(response.headers.has(header), `${where}: ${header}`).toBe(true);
	const media = response.headers.get('content-type')?.split(';')[0] ?? '';
	if (media === 'text/event-stream') {
		const { events } = answer.also?.[media] ?? {};
		if (events === undefined) throw new Error(`${where}: a stream is not described`);
		for (const [, data = ''] of (await response.text()).matchAll(/^data: (?!\[DONE\])(.*)$/gm))
			fits(events, JSON.parse(data), where);
		return {};
	}
	if (media !== 'application/json') {
		const text = await response.text();
		if (text !== '') expect(Object.keys(answer.also ?? {}), where).toContain(answer.also?.['*/*'] ? '*/*' : media);
		return {};
	}
	if (answer.json === undefined) throw new Error(`${where}: JSON is not described`);
	return fits(answer.json, await response.json(), where);
}

function fits(schema: v.GenericSchema, value: unknown, where: string): Record<string, unknown> {
	const { issues, output } = v.safeParse(schema, value);
	expect(issues === undefined ? [] : v.flatten(issues), `${where}: ${JSON.stringify(value).slice(0, 2_000)}`).toEqual(
		[],
	);
	expect(output, where).toEqual(value);
	return Object.fromEntries(Object.entries(Object(value)));
}

/** Calls the operations of MCP servers. `test/cloudflare/mcp` tests the logins. */
async function askOfServers(): Promise<void> {
	fakeTheWeb();
	const server = serveTools('mcp.example.com', { search: { call: () => 'found' } });
	const login = requireLogin(server, 'mcp.example.com', 'login.example.com');
	const path = { path: 'described' };
	const json = { ...operations.putServer.examples.server, url: 'https://mcp.example.com/mcp', auth: 'oauth' };
	for (let times = 0; times < 2; times++) await ask('putServer', { ...path, json });
	const { url } = await ask('startLogin', path);
	const back = login.logIn(String(url));
	await ask('finishLogin', { at: `${back.pathname}${back.search}` });
	await ask('getClientMetadata');
	await ask('listServers');
	const { tools } = await ask('getServer', path);
	await ask('acceptTools', { ...path, json: { tools: { search: Object(tools)[0].hash } } });
	await ask('endLogin', path);
	for (let times = 0; times < 2; times++) await ask('deleteServer', path);
	vi.restoreAllMocks();
}

const create = async (agent = 'scripted', more: object = {}) => {
	const { id } = await ask('createSession', { json: { agent, ...more } });
	return String(id);
};
const say = (id: string, json: object, headers: Record<string, string> = {}) =>
	ask('sendMessage', { id, json, headers });

test('the document describes every outcome of a run', async () => {
	const id = await create('scripted', { metadata: { customer: '42' }, budget: { tokens: 1_000_000, usd: 900 } });
	play({ text: 'yes', reasoning: 'hm', usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } });
	expect(await say(id, { text: 'hello' })).toMatchObject({ status: 'completed' });
	play({ toolCalls: [call('q', 'ask', { question: 'Which one?' })] });
	expect(await say(id, { text: 'ask me' })).toMatchObject({ status: 'awaiting_user' });
	await ask('getSession', { id });
	play('thanks');
	expect(await ask('answerQuestion', { id, json: { text: 'this one' } })).toMatchObject({
		status: 'completed',
	});
	play({ toolCalls: [call('m', 'by_hand', {}), call('p', 'pay', { amount: 3 })] });
	expect(await say(id, { text: 'work' })).toMatchObject({ status: 'awaiting_tools' });
	await ask('getSession', { id });
	expect(await ask('submitResults', { id, json: [{ id: 'm', output: 1 }] })).toMatchObject({ id });
	play('done');
	const approval = [{ id: 'p', approve: false, reason: 'no' }];
	expect(await ask('submitResults', { id, json: approval })).toMatchObject({ status: 'completed' });
	play({ toolCalls: [call('s', 'stop', {})] });
	expect(await say(id, { text: 'stop' })).toMatchObject({ status: 'halted' });
	const begun = Promise.withResolvers<void>();
	play(() => {
		begun.resolve();
		return new Promise(() => {});
	});
	const result = say(id, { text: 'work' });
	await begun.promise;
	await say(id, { text: 'and then' }, { prefer: 'respond-async' });
	const { runId } = v.parse(
		v.object({ runId: v.string() }),
		await say(id, { text: 'and again' }, { prefer: 'respond-async' }),
	);
	expect(await ask('listWaiting', { id })).toMatchObject({ waiting: [{ content: 'and then' }, { id: runId }] });
	await ask('removeWaiting', { id, path: runId });
	expect(await ask('getSession', { id })).toMatchObject({ status: 'running', waiting: 1 });
	expect(await ask('cancelRun', { id })).toMatchObject({ status: 'idle' });
	expect(await result).toMatchObject({ status: 'cancelled' });
	await ask('listMessages', { id });
	const exported = await ask('exportSession', { id });
	const rated = exported.runs;
	const path = String(Object(Array.isArray(rated) ? rated.at(-1) : undefined).id);
	await ask('rateRun', { id, path, json: { rating: 'up', note: 'Good.' } });
	await expect.poll(async () => (await ask('listFeedback')).feedback).not.toEqual([]);
	await ask('listMessages', { id });
	await ask('getSession', { id });
	await ask('exportSession', { id });
	await ask('unrateRun', { id, path });
	await ask('getTrace', { id });
	await ask('importSession', { json: exported });
	const part = { 'idempotency-key': 'described', 'content-range': 'bytes */9' };
	await ask('importSession', { headers: { 'content-type': 'application/x-ndjson', ...part } });
	await ask('forkSession', { id, json: {} });
	await ask('rerun', { id, json: { run: path } });
	await ask('exportSession', { id, headers: { accept: 'application/x-ndjson' } });
	const answer = await request(`/v1/sessions/${id}/messages`, { text: 'and again' });
	expect(await ask('getRequest', { path: answer.headers.get('x-request-id') ?? '' })).toMatchObject({
		session: { id },
	});
});

test('the document describes every answer to a request for a new session', async () => {
	const json = { agent: 'scripted', text: 'hello' };
	play('yes', 'yes', 'yes', { toolCalls: [call('q', 'ask', { question: 'Which one?' })] });
	expect(await ask('createSession', { json: { agent: 'scripted' } })).not.toHaveProperty('runId');
	expect(await ask('createSession', { json })).toMatchObject({ status: 'completed', text: 'yes' });
	await ask('createSession', { json, headers: { accept: 'text/event-stream' } });
	await ask('createSession', { json, headers: { prefer: 'respond-async' } });
	const asked = await ask('createSession', { json, headers: { 'idempotency-key': 'asks' } });
	expect(asked).toMatchObject({ status: 'awaiting_user', question: { question: 'Which one?' } });
	expect(await ask('createSession', { json, headers: { 'idempotency-key': 'asks' } })).toEqual(asked);
	await ask('listSessions');
	await expect.poll(async () => (await ask('listApprovals')).approvals).not.toEqual([]);
	play({ toolCalls: [{ id: 'p', name: 'pay', input: { amount: 1 } }] });
	const waits = await ask('createSession', { json });
	const { deny } = await ask('createLinks', { id: String(waits.id), json: { callId: 'p' } });
	const link = String(deny).split('/').at(-1);
	await ask('showDecision', { path: link });
	play('Not paid.');
	await ask('decide', { path: link });
	const id = String(asked.id);
	const { tokenId } = await ask('createToken', { id, json: {} });
	await ask('revokeToken', { id, path: String(tokenId) });
	await ask('changeSession', { id, json: { budget: { usd: 3 } } });
	await ask('deleteSession', { id });
	await ask('getSession', { id });
});

test('the document describes the answer 202 of every operation that starts a run', async () => {
	const headers = { prefer: 'respond-async' };
	const id = await create();
	play(
		{ toolCalls: [call('q', 'ask', { question: 'Which one?' })] },
		{ toolCalls: [call('m', 'by_hand', {})] },
		new Error('broken'),
		'mended',
	);
	await say(id, { text: 'ask me' });
	const { runId } = await ask('answerQuestion', { id, json: { text: 'this one' }, headers });
	expect(runId).toBeTypeOf('string');
	await ask('followRun', { id });
	await ask('submitResults', { id, json: [{ id: 'm', output: 1 }], headers });
	await ask('followRun', { id });
	await ask('continueRun', { id, headers });
	await ask('followRun', { id });
	expect(await ask('getSession', { id })).toMatchObject({ status: 'completed' });
});

test('the document describes every event and every message', async () => {
	const id = await create('full-compact');
	play(
		{ text: 'a '.repeat(1_500), toolCalls: [call('e', 'echo', { text: 'b '.repeat(800) })] },
		...Array.from({ length: 8 }, () => 'c '.repeat(500)),
	);
	for (const text of ['one', 'two', 'three'])
		await say(id, { text: `${text} ${'d '.repeat(300)}` }, { accept: 'text/event-stream' });
	const { messages } = await ask('listMessages', { id });
	const roles = v.parse(v.array(v.object({ role: v.string(), id: v.string() })), messages);
	expect(new Set(roles.map(({ role }) => role))).toEqual(new Set(['system', 'user', 'assistant', 'tool']));
	for (const { id: path } of roles) await ask('getMessage', { id, path });

	const other = await create();
	play({ reasoning: 'hm', toolCalls: [call('n', 'noisy', { times: 2 }), call('x', 'none', {})] }, new Error('broken'));
	await say(other, { text: 'go' }, { accept: 'text/event-stream' });
	await ask('getSession', { id: other });
	play('better', 'and again');
	await ask('continueRun', { id: other });
	await ask('followRun', { id: other });
	await ask('followRun', { id: await create() });
	play(new Error('broken'), { toolCalls: [call('e', 'echo', { text: 'hello' })] }, 'end');
	await say(other, {
		parts: [{ kind: 'text', text: 'this' }],
		attachments: [{ name: 'a.csv', type: 'text/csv', size: 3, contentText: 'a,b' }],
	});
	await ask('stepRun', { id: other });
	await ask('stepRun', { id: other, headers: { prefer: 'respond-async' } });
	await ask('listMessages', { id: other });
});

test('the document describes task lists and their events', async () => {
	const id = await create('planner');
	expect(await ask('listTasks', { id })).toEqual({ lists: [] });
	play({ toolCalls: [call('l', 'create_task_list', { title: 'Release', tasks: ['build'] })] }, 'done');
	await say(id, { text: 'go' }, { accept: 'text/event-stream' });
	expect(await ask('listTasks', { id })).toMatchObject({ lists: [{ title: 'Release' }] });
});

test('the document describes models, and both whole and streamed completions', async () => {
	const messages = [{ role: 'user', content: 'hello' }];
	const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }];
	const turn = { text: 'yes', reasoning: 'hm', toolCalls: [call('w', 'weather', {})] };
	play('yes', 'yes', turn, turn, new Error('broken'));
	const json = { model: 'scripted', messages };
	await ask('createCompletion', { json });
	await ask('createCompletion', { json: { ...json, stream: true, stream_options: { include_usage: true } } });
	await ask('createCompletion', { json: { ...json, tools } });
	await ask('createCompletion', { json: { ...json, tools, stream: true } });
	expect(await ask('createCompletion', { json: { model: 'none', messages } })).toHaveProperty('error.param', 'model');
	expect(await ask('createCompletion', { json })).toHaveProperty('error');
	await ask('listModels');
	await ask('getModel', { path: 'scripted' });
	await ask('getModel', { path: 'none' });
});

test('the document describes whole and streamed messages, their errors and their estimates', async () => {
	const messages = [{ role: 'user', content: 'hello' }];
	const tools = [{ name: 'weather', input_schema: { type: 'object', properties: {} } }];
	const sources = [{ id: 's', url: 'https://a.example/', title: 'A' }];
	const turn = { text: 'yes', reasoning: 'hm', sources, toolCalls: [call('w', 'weather', {})] };
	play('yes', 'yes', turn, turn, new Error('broken'), new Error('broken'));
	const json = { model: 'scripted', messages };
	await ask('createMessage', { json });
	await ask('createMessage', { json: { ...json, stream: true } });
	const rich = { ...json, tools, thinking: { type: 'adaptive' } };
	await ask('createMessage', { json: rich });
	await ask('createMessage', { json: { ...rich, stream: true } });
	await ask('createMessage', { json: { model: 'none', messages } });
	await ask('createMessage', { json: { ...json, thread: { type: 'create' } } });
	await ask('createMessage', { json });
	await ask('createMessage', { json: { ...json, stream: true } });
	await ask('countTokens', { json });
	await ask('countTokens', { json: { model: 'none', messages } });
});

test('the document describes responses, their streams and conversations', async () => {
	play({ text: 'yes', reasoning: 'hm', toolCalls: [call('e', 'echo', { text: 'x' })] }, 'yes', 'yes', 'no');
	const json = { model: 'scripted', input: 'hello' };
	const { id } = await ask('createResponse', { json });
	await ask('createResponse', { json: { ...json, stream: true } });
	expect(await ask('createResponse', { json: { ...json, model: 'none' } })).toHaveProperty('error.param', 'model');
	const response = String(id);
	await ask('getResponse', { path: response });
	await ask('getResponse', { at: `/v1/responses/${response}?stream=true&starting_after=3` });
	expect(await ask('getResponse', { path: 'none' })).toHaveProperty('error');
	await ask('listInputItems', { path: response });
	await ask('openSocket', { headers: { upgrade: 'websocket' } });
	expect(await ask('openSocket')).toHaveProperty('error.param', 'upgrade');
	play('Somebody said hello.');
	await ask('compact', { json });
	play('yes');
	await ask('cancelResponse', { path: response });
	await ask('createResponse', { json: { ...json, previous_response_id: response } });
	expect(await ask('deleteResponse', { path: response })).toHaveProperty('error');
	const conversation = await ask('createConversation', { json: { metadata: { agent: 'scripted' } } });
	const path = String(conversation.id);
	await ask('getConversation', { path });
	await ask('listConversationItems', { path });
	await ask('deleteConversation', { path });
	expect(await ask('getConversation', { path })).toHaveProperty('error');
	play('yes');
	const single = await ask('createResponse', { json });
	await ask('deleteResponse', { path: String(single.id) });
	play(new Error('broken'));
	expect(await ask('createResponse', { json })).toHaveProperty('error');
});

test('the document describes embeddings', async () => {
	const json = { model: 'demo', input: ['a car', 'a tree'] };
	await ask('createEmbedding', { json });
	await ask('createEmbedding', { json: { ...json, encoding_format: 'base64' } });
	expect(await ask('createEmbedding', { json: { ...json, input: [[1]] } })).toHaveProperty('error');
});

test('the document describes uploaded files', async () => {
	const [[type = '', { example }] = ['', { example: '' }]] = Object.entries(operations.createUpload.body);
	const headers = { 'content-type': type };
	const { id } = await ask('createUpload', { body: example, headers });
	expect(await ask('createUpload', { body: 'no form', headers })).toHaveProperty('error');
	const path = String(id);
	await ask('listUploads');
	await ask('getUpload', { path });
	await ask('getUploadContent', { path });
	await ask('deleteUpload', { path });
	expect(await ask('getUpload', { path })).toHaveProperty('error');
});

test('the document describes every answer to a webhook', async () => {
	const agent = defineAgent({
		name: 'scripted',
		description: 'Takes webhooks.',
		webhooks: { github: ({ type, payload }) => (type === 'issues.opened' ? String(payload.title) : undefined) },
	});
	const app = createApp({ agents: [agent], providers: () => [] });
	const { github } = senders;
	const bindings = { ...env, GITHUB_WEBHOOK_SECRET: github.secret };
	const fetch = (url: string, init: RequestInit) => Promise.resolve(app.request(url, init, bindings));
	const deliver = (action: string, id: string, secret = github.secret) => {
		const body = JSON.stringify({ action, title: 'It does not start' });
		const headers = { 'content-type': 'application/json', ...github.headers(body, { id, at: 0, secrets: [secret] }) };
		return ask('receiveWebhook', { at: '/v1/webhooks/scripted/github', body, headers, fetch });
	};
	play('noted');
	const { sessionId } = await deliver('opened', 'one');
	expect(await deliver('opened', 'one')).toMatchObject({ sessionId });
	await deliver('closed', 'two');
	expect(await deliver('opened', 'three', 'wrong')).toHaveProperty('error.code', 'auth');
	await ask('receiveWebhook', { at: '/v1/webhooks/scripted/stripe', body: '{}', fetch });
	await ask('followRun', { id: String(sessionId) });
});

test('the document describes the routes of the document and of its page', async () => {
	const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
		'/docs': ['text/html; charset=utf-8', '<!doctype html>'],
		'/openapi.json': ['application/json', '{"openapi":"3.1.1"}'],
	};
	const PAGE = {
		fetch: async ({ url }: Request) => {
			const [type, text] = files[new URL(url).pathname] ?? ['', ''];
			return new Response(text, { headers: { 'content-type': type } });
		},
	};
	const fetch = async (url: string, init: RequestInit) => worker.request(url, init, { ...env, PAGE });
	expect(await ask('getDocument', { fetch })).toEqual({ openapi: '3.1.1' });
	await ask('getDocs', { fetch });
});

test('the document describes the answers of the file routes', async () => {
	const id = await create();
	const path = 'notes/plan.md';
	await ask('putFile', { id, path, body: 'Begin.' });
	await ask('putFile', { id, path, body: 'Begin on Friday.' });
	const { headers } = await SELF.fetch(`http://localhost/v1/sessions/${id}/files/notes/plan.md`);
	await ask('getFile', { id, path });
	await ask('getFile', { id, path, headers: { range: 'bytes=0-4' } });
	await ask('getFile', { id, path, headers: { 'if-none-match': headers.get('etag') ?? '' } });
	await ask('listFiles', { id });
	await ask('listChanges', { id });
	await ask('deleteFile', { id, path });
	await ask('getFile', { id, path });
});

test('the document describes the answers of the routes for AI SDK pages', async () => {
	const chat = { messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };
	const askChat = (name: OperationId, chat: string, json?: object) =>
		ask(name, { at: byId[name].path.replace(':agent', 'scripted').replace(':chat', chat), json });
	play({ toolCalls: [call('a', 'echo', { text: 'hi' })] }, 'Hello.', () => new Promise(() => {}));
	const post = (id: string) => askChat('postChat', id, { id, ...chat });
	await post('told');
	expect(await askChat('listChat', 'told')).toMatchObject({
		messages: [{ role: 'user' }, { role: 'assistant' }],
	});
	await askChat('resumeChat', 'told');
	const held = post('held');
	await expect.poll(async () => (await request('/v1/ui/scripted/held/stream')).status).toBe(200);
	const resumed = askChat('resumeChat', 'held');
	await askChat('stopChat', 'held');
	await Promise.all([held, resumed]);
	await request('/v1/ui/nobody', { id: 'x', ...chat }).then((response) => expect(response.status).toBe(404));
});

test('the document describes the answers of the route for AG-UI', async () => {
	const run = (json: object, at = '/v1/ag-ui/scripted') => ask('runAgui', { at, json: { threadId: 't', ...json } });
	play('Hello.');
	const messages = [{ id: 'm1', role: 'user', content: 'Hi' }];
	await run({ runId: 'r1', messages });
	await run({ runId: 'r2', messages: [] });
	await run({ runId: 'r3' });
	await run({ runId: 'r4', messages }, '/v1/ag-ui/nobody');
});

test('the document describes the answers of the routes for A2A', async () => {
	const send = (method: string, params: object, at = '/v1/a2a/scripted') =>
		ask('callA2a', { at, json: { jsonrpc: '2.0', id: 1, method, params } });
	const message = (id: string) => ({ message: { messageId: id, role: 'ROLE_USER', parts: [{ text: 'Hi' }] } });
	play('Hello.', 'Again.');
	await send('SendMessage', message('m1'));
	await send('SendStreamingMessage', message('m2'));
	await send('ListTasks', { includeArtifacts: true });
	await send('GetTask', { id: 'none' });
	await send('Nothing', {});
	await send('SendMessage', message('m3'), '/v1/a2a/nobody');
	const at = '/v1/a2a/scripted/.well-known/agent-card.json';
	await ask('getAgentCard', { at });
	await ask('getAgentCard', { at, headers: { 'if-none-match': '*' } });
});

test('the document describes skills, agents, tools, memories and MCP servers', async () => {
	const markdown =
		'---\nname: described\ndescription: About it.\nlicense: MIT\nmetadata:\n  when: a, b\n---\n\nText.\n';
	await ask('putSkill', { path: 'described', body: markdown });
	await ask('putSkill', { path: 'described', body: markdown });
	await ask('putSkill', { path: 'described', body: `${markdown}More.\n`, headers: { 'if-match': '*' } });
	const { etag } = await ask('getSkill', { path: 'described' });
	await ask('getSkill', { path: 'described', headers: { accept: 'text/markdown' } });
	await ask('getSkill', { path: 'described', headers: { 'if-none-match': `"${etag}"` } });
	await ask('listSkills');
	await ask('listSkills', { at: '/v1/skills?query=it' });
	await ask('deleteSkill', { path: 'described' });
	await ask('deleteSkill', { path: 'described' });
	const json = operations.putTool.examples.tool;
	for (let times = 0; times < 2; times++) await ask('putTool', { path: 'described', json });
	await ask('getTool', { path: 'described' });
	await ask('listTools');
	for (let times = 0; times < 2; times++) await ask('deleteTool', { path: 'described' });
	const memory = { path: 'described', json: { text: 'Described.' } };
	for (let times = 0; times < 2; times++) await ask('putMemory', memory);
	await ask('getMemory', { path: 'described' });
	await ask('listMemories');
	for (let times = 0; times < 2; times++) await ask('deleteMemory', { path: 'described' });
	await ask('eraseMemories');
	await askOfServers();
	await askOfSchedules();
	await askOfKeys();
	await askOfUsers();
	await askOfCalls();
	for (const name of ['listAgents', 'getHealth', 'getUsage', 'getMe'] as const) await ask(name);
});

async function askOfCalls(): Promise<void> {
	const agent = { path: 'scripted' };
	await ask('listAgentTools', agent);
	const callTool = (json: object) => ask('callTool', { ...agent, json });
	await callTool({ tool: 'noisy', input: { times: 2 } });
	await callTool({ tool: 'draw', input: { caption: 'a dot' } });
	await callTool({ tool: 'ask', input: { question: 'Which?' } });
	const pay = { tool: 'pay', input: { amount: 5 } };
	const { waiting } = await callTool(pay);
	await callTool({ ...pay, answer: { waiting, approve: true } });
}

async function askOfUsers(): Promise<void> {
	const path = { path: 'ada' };
	play({ text: 'yes', usage: { inputTokens: 3, outputTokens: 2 } });
	const { id: session } = await ask('createSession', { json: { agent: 'woken', user: 'ada', text: 'hello' } });
	await ask('putSchedule', { json: { ...operations.putSchedule.examples.often, session } });
	await request('/v1/memories/described?user=ada', { text: 'Described.' }, {}, 'PUT');
	const { daily } = await ask('setUserBudget', { ...path, json: operations.setUserBudget.examples.daily });
	expect(daily).toMatchObject({ limit: operations.setUserBudget.examples.daily.daily });
	await ask('getUserBudget', path);
	await expect
		.poll(() => ask('getUser', path))
		.toMatchObject({
			usage: [{ spent: { tokens: 5 } }],
			schedules: [{ session }],
			memories: [{ path: 'described' }],
			sessions: [{ session: { id: session, user: 'ada' } }],
		});
	expect(await ask('eraseUser', path)).toEqual({ user: 'ada', sessions: 1, isDone: true });
	expect(await ask('getUser', path)).toMatchObject({ schedules: [], memories: [], sessions: [] });
	await ask('setUserBudget', { ...path, json: {} });
}

async function askOfSchedules(): Promise<void> {
	const { id: session } = await ask('createSession', { json: { agent: 'woken' } });
	const { id } = await ask('putSchedule', { json: { ...operations.putSchedule.examples.often, session } });
	await ask('listSchedules');
	play('Looked.');
	await ask('runSchedule', { id: String(id) });
	await ask('cancelSchedule', { id: String(id) });
}

async function askOfKeys(): Promise<void> {
	const bindings = { ...env, STORED_KEYS: 'on' };
	const fetch = async (url: string, init: RequestInit) => worker.request(url, init, bindings);
	const { id } = await ask('makeKey', { json: { name: 'shop', budget: { usd: 5 } }, fetch });
	await ask('listKeys', { fetch });
	for (let times = 0; times < 2; times++) await ask('revokeKey', { path: String(id), fetch });
}

afterAll(() => {
	const all = Object.entries<Operation>(operations).flatMap(([id, { answers }]) =>
		Object.keys(answers).map((status) => `${id} ${status}`),
	);
	expect(all.filter((one) => !seen.has(one))).toEqual([]);
});
