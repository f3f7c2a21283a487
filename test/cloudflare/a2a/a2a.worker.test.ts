/** What A2A demands of every server, and who may see what. */
import { SELF } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

const at = 'http://localhost/v1/a2a/scripted';
const json = { 'content-type': 'application/json' };
const post = (body: string, headers: object = {}, url = at) =>
	SELF.fetch(url, { method: 'POST', body, headers: { ...json, ...headers } });

interface Task {
	readonly id: string;
	readonly contextId: string;
	readonly status: { readonly state: string };
}

interface Answer {
	readonly id: unknown;
	readonly result: { readonly task: Task; readonly tasks: readonly Task[]; readonly [field: string]: unknown };
	readonly error: { readonly code: number; readonly data: readonly { readonly reason?: string }[] };
}

const call = async (method: string, params: object = {}, headers: object = {}): Promise<Answer> =>
	(await post(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }), headers)).json();
const say = (text: string, about: object = {}) => ({
	message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...about },
});
const none = `${'0'.repeat(64)}-1`;

describe('a request', () => {
	test.each<[code: number, id: unknown, body: unknown]>([
		[-32700, null, '{"jsonrpc": "2.0"'],
		[-32600, null, []],
		[-32600, 3, { jsonrpc: '1.0', id: 3, method: 'GetTask' }],
		[-32600, 'a', { jsonrpc: '2.0', id: 'a' }],
		[-32600, null, { jsonrpc: '2.0', id: { bad: 'type' }, method: 'GetTask' }],
		[-32602, 3, { jsonrpc: '2.0', id: 3, method: 'GetTask', params: 'none' }],
		[-32602, 3, { jsonrpc: '2.0', id: 3, method: 'SendMessage', params: { message: { parts: 'invalid' } } }],
		[-32602, 3, { jsonrpc: '2.0', id: 3, method: 'SendMessage', params: {} }],
		[-32601, 3, { jsonrpc: '2.0', id: 3, method: 'message/send', params: {} }],
		[-32001, 3, { jsonrpc: '2.0', id: 3, method: 'GetTask', params: { id: 'none' } }],
		[-32001, 3, { jsonrpc: '2.0', id: 3, method: 'GetTask', params: { id: none } }],
		[-32001, 3, { jsonrpc: '2.0', id: 3, method: 'CancelTask', params: { id: none } }],
		[-32001, 3, { jsonrpc: '2.0', id: 3, method: 'SubscribeToTask', params: { id: none } }],
		[-32001, 3, { jsonrpc: '2.0', id: 3, method: 'SendMessage', params: say('Hi', { taskId: none }) }],
		[-32602, 3, { jsonrpc: '2.0', id: 3, method: 'ListTasks', params: { pageSize: 101 } }],
		[-32602, 3, { jsonrpc: '2.0', id: 3, method: 'ListTasks', params: { pageToken: 'no token' } }],
		[-32602, 3, { jsonrpc: '2.0', id: 3, method: 'ListTasks', params: { statusTimestampAfter: '-1' } }],
		[-32602, 3, { jsonrpc: '2.0', id: 3, method: 'ListTasks', params: { historyLength: -5 } }],
	])('is refused with %i and the id %j: %j', async (code, id, body) => {
		const response = await post(typeof body === 'string' ? body : JSON.stringify(body));
		expect(response.status).toBe(200);
		expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id, error: { code, data: expect.any(Array) } });
	});

	test('is refused for another version of A2A', async () => {
		expect((await call('ListTasks', {}, { 'a2a-version': '0.3' })).error.code).toBe(-32009);
		expect((await call('ListTasks', {}, { 'a2a-version': '1.0.2' })).result.tasks).toBeDefined();
	});
});

describe('a task', () => {
	test('that has ended takes neither a message nor a cancellation nor a subscriber', async () => {
		play('Hello.');
		const { task } = (await call('SendMessage', say('Hi'))).result;
		expect(task.status.state).toBe('TASK_STATE_COMPLETED');
		expect((await call('SendMessage', say('More', { taskId: task.id }))).error.code).toBe(-32004);
		expect((await call('CancelTask', { id: task.id })).error.code).toBe(-32002);
		expect((await call('SubscribeToTask', { id: task.id })).error.code).toBe(-32004);
	});

	test('is refused a message with the id of another context', async () => {
		play('Hello.');
		const { task } = (await call('SendMessage', say('Hi'))).result;
		expect((await call('SendMessage', say('More', { taskId: task.id, contextId: 'other' }))).error.code).toBe(-32602);
	});

	test('of another agent is not found, and neither is its context', async () => {
		play('Hello.');
		const { task } = (await call('SendMessage', say('Hi'))).result;
		const other = at.replace('scripted', 'planning');
		for (const [method, params] of [
			['GetTask', { id: task.id }],
			['SendMessage', say('Hi', { contextId: task.contextId })],
		] as const) {
			const answer = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), {}, other);
			expect(await answer.json(), method).toMatchObject({ error: { code: -32001 } });
		}
	});

	test('is listed in pages, the newest first, by its state and its time', async () => {
		const contextId = crypto.randomUUID();
		play('One.', 'Two.', 'Three.');
		const ids: string[] = [];
		for (const text of ['1', '2', '3'])
			ids.unshift((await call('SendMessage', say(text, { contextId }))).result.task.id);
		const first = (await call('ListTasks', { contextId, pageSize: 2 })).result;
		expect([first.totalSize, first.pageSize, first.tasks.map(({ id }) => id)]).toEqual([3, 2, ids.slice(0, 2)]);
		const rest = (await call('ListTasks', { contextId, pageSize: 2, pageToken: first.nextPageToken })).result;
		expect([rest.nextPageToken, rest.tasks.map(({ id }) => id)]).toEqual(['', ids.slice(2)]);
		expect(rest.tasks[0]).not.toHaveProperty('artifacts');
		const working = (await call('ListTasks', { contextId, status: 'TASK_STATE_WORKING' })).result;
		expect([working.totalSize, working.tasks]).toEqual([0, []]);
		const later = { contextId, statusTimestampAfter: '2999-01-01T00:00:00Z' };
		expect((await call('ListTasks', later)).result.tasks).toEqual([]);
		expect((await call('ListTasks', { contextId: 'nobody’s' })).result).toMatchObject({ tasks: [], totalSize: 0 });
	});

	test('is on a page of 50 by default', async () => {
		const contextId = crypto.randomUUID();
		const texts = Array.from({ length: 51 }, (_, index) => `Task ${index}`);
		play(...texts);
		for (const text of texts) await call('SendMessage', say(text, { contextId }));
		const { tasks, nextPageToken, ...sizes } = (await call('ListTasks', { contextId })).result;
		expect([tasks.length, sizes]).toEqual([50, { pageSize: 50, totalSize: 51 }]);
		const rest = (await call('ListTasks', { contextId, pageToken: nextPageToken })).result;
		expect([rest.tasks.length, rest.nextPageToken]).toEqual([1, '']);
	});
});

describe('with keys', () => {
	let keys: Record<'alice' | 'bob' | 'eve', string>;
	let bindings: Parameters<typeof worker.request>[2];
	beforeAll(async () => {
		({ keys, bindings } = await createKeys({
			alice: ['run'],
			bob: ['run'],
			eve: { owner: 'alice', user: 'eve', role: 'customer' },
		}));
	});
	const askAs = (key: string | undefined, path: string, body?: object, more: object = {}) =>
		worker.request(
			`/v1/${path}`,
			{
				method: body === undefined ? 'GET' : 'POST',
				headers: { ...json, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
				...(body !== undefined && { body: JSON.stringify(body) }),
			},
			{ ...bindings, ...more },
		);
	const callAs = async (key: string, method: string, params: object): Promise<Answer> =>
		(await askAs(key, 'a2a/scripted', { jsonrpc: '2.0', id: 1, method, params })).json();

	test('the card without a key tells nothing of an agent, not even that there is one', async () => {
		const cards = await Promise.all(
			['scripted', 'nobody'].map(async (name) => {
				const response = await askAs(undefined, `a2a/${name}/.well-known/agent-card.json`);
				expect(response.status).toBe(200);
				return (await response.text()).replaceAll(name, 'NAME');
			}),
		);
		expect(cards[0]).toBe(cards[1]);
		const { agents } = await (await askAs(keys.alice, 'agents')).json<{
			agents: { name: string; description: string; examples: string[]; skills: { name: string }[] }[];
		}>();
		const agent = agents.find(({ name }) => name === 'scripted');
		const card = await (await askAs(keys.alice, 'a2a/scripted/.well-known/agent-card.json')).json();
		expect(card).toMatchObject({ name: 'scripted', description: agent?.description });
		expect((await callAs(keys.alice, 'GetExtendedAgentCard', {})).result).toEqual(card);
		expect((await askAs(keys.alice, 'a2a/nobody/.well-known/agent-card.json')).status).toBe(404);
		const { token } = await (await askAs(keys.alice, 'sessions', { agent: 'scripted' })).json<{ token: string }>();
		expect(await (await askAs(token, 'a2a/scripted/.well-known/agent-card.json')).text()).not.toContain('examples');
		expect((await callAs(token, 'GetExtendedAgentCard', {})).error.data[0]?.reason).toBe('FORBIDDEN');
		expect(
			await (await askAs(token, 'a2a/nobody', { jsonrpc: '2.0', id: 1, method: 'ListTasks' })).text(),
		).not.toContain('scripted');
	});

	test('a push notification config is refused where nothing signs notifications', async () => {
		const secret = { CALLBACK_SECRET: undefined };
		for (const method of ['Create', 'Get', 'List', 'Delete']) {
			const name = `${method}TaskPushNotificationConfig${method === 'List' ? 's' : ''}`;
			const params = { taskId: none, id: 'x', url: 'https://example.com/hook' };
			const body = { jsonrpc: '2.0', id: 1, method: name, params };
			expect(await (await askAs(keys.alice, 'a2a/scripted', body, secret)).json(), name).toMatchObject({
				error: { code: -32003 },
			});
		}
		const card = await askAs(undefined, 'a2a/scripted/.well-known/agent-card.json', undefined, secret);
		expect(await card.json()).toMatchObject({ capabilities: { pushNotifications: false } });
	});

	test('a push notification config goes to public addresses only', async () => {
		const params = { taskId: none, url: 'http://127.0.0.1/hook' };
		expect((await callAs(keys.alice, 'CreateTaskPushNotificationConfig', params)).error.code).toBe(-32602);
	});

	test('a caller without a key gets 401 in the form of JSON-RPC', async () => {
		const response = await askAs(undefined, 'a2a/scripted', { jsonrpc: '2.0', id: 1, method: 'ListTasks' });
		expect([response.status, response.headers.has('www-authenticate')]).toEqual([401, true]);
		expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32000 } });
	});

	test('an owner, a customer and a token cannot reach a task of somebody else', async () => {
		play('For Alice.');
		const { task } = (await callAs(keys.alice, 'SendMessage', say('Hi', { contextId: 'secret' }))).result;
		const { token } = await (await askAs(keys.alice, 'sessions', { agent: 'scripted' })).json<{ token: string }>();
		for (const stranger of [keys.bob, keys.eve, token]) {
			for (const [method, params] of [
				['GetTask', { id: task.id }],
				['CancelTask', { id: task.id }],
				['SubscribeToTask', { id: task.id }],
				['SendMessage', say('Hi', { taskId: task.id })],
				['SendMessage', say('Hi', { contextId: task.id.slice(0, 64) })],
			] as const)
				expect((await callAs(stranger, method, params)).error.code, method).toBe(-32001);
			if (stranger === token) continue;
			expect((await callAs(stranger, 'ListTasks', { contextId: 'secret' })).result.tasks).toEqual([]);
			expect((await callAs(stranger, 'ListTasks', {})).result.tasks.map(({ id }) => id)).not.toContain(task.id);
		}
		expect((await callAs(keys.alice, 'GetTask', { id: task.id })).result).toMatchObject({ id: task.id });
		expect((await callAs(token, 'ListTasks', {})).result.tasks).toEqual([]);
	});
});
