import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { json } from 'node:stream/consumers';
import {
	CancelTaskRequest,
	GetTaskRequest,
	ListTasksRequest,
	SendMessageRequest,
	SubscribeToTaskRequest,
	TaskPushNotificationConfig,
	TaskState,
} from '@a2a-js/sdk';
import { type Client, ClientFactory } from '@a2a-js/sdk/client';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, type Stage, startStage, text } from './ui/stage.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

let stage: Stage;
let client: Client;
beforeAll(async () => {
	stage = await startStage({ LOCAL: 'true', CALLBACK_SECRET: secret });
	client = await new ClientFactory().createFromUrl(`${stage.url}/v1/a2a/desk/`);
});
afterAll(() => stage?.close());

interface Said {
	readonly messageId?: string;
	readonly contextId?: string;
	readonly taskId?: string;
}

/** Makes a request of the client from JSON, as other clients send it. */
function say(parts: string | object[], about: Said = {}, configuration?: object): SendMessageRequest {
	return SendMessageRequest.fromJSON({
		message: {
			messageId: crypto.randomUUID(),
			role: 'ROLE_USER',
			parts: typeof parts === 'string' ? [{ text: parts }] : parts,
			...about,
		},
		configuration,
	});
}

type Sent = Awaited<ReturnType<Client['sendMessage']>>;
type Task = Extract<Sent, { readonly status: unknown }>;

async function send(request: SendMessageRequest, by = client): Promise<Task> {
	const task = await by.sendMessage(request);
	if (!('status' in task)) throw new Error('A message, and no task.');
	return task;
}

const getTask = (id: string, historyLength?: number) => client.getTask(GetTaskRequest.fromJSON({ id, historyLength }));

type Part = NonNullable<Task['artifacts']>[number]['parts'][number];

const toValue = ({ content }: Part): unknown => content?.value;
const toText = (parts: readonly Part[] = []) =>
	parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('');
const answers = (task: Task) => task.artifacts.map(({ parts }) => toText(parts));
const asked = (task: Task) => task.status?.message?.parts.map(toValue);

/** Follows a stream to its end. Assembles the artifact as the protocol says. */
async function follow(stream: ReturnType<Client['sendMessageStream']>, onEvent = (_: string) => {}) {
	const kinds: string[] = [];
	const states: (TaskState | undefined)[] = [];
	let answer: Part[] = [];
	let id = '';
	let told: unknown[] = [];
	for await (const { payload } of stream) {
		if (payload === undefined) continue;
		kinds.push(payload.$case);
		if (payload.$case === 'task') {
			id = payload.value.id;
			states.push(payload.value.status?.state);
			answer = payload.value.artifacts.flatMap(({ parts }) => parts);
		}
		if (payload.$case === 'statusUpdate') {
			const { state, message } = payload.value.status ?? {};
			states.push(state);
			if (message !== undefined) told = [...told, ...message.parts.map(toValue)];
		}
		if (payload.$case === 'artifactUpdate') {
			const { artifact, append } = payload.value;
			answer = append ? [...answer, ...(artifact?.parts ?? [])] : (artifact?.parts ?? []);
		}
		onEvent(toText(answer));
	}
	return { kinds, states, answer, text: toText(answer), id, told };
}

const { TASK_STATE_COMPLETED, TASK_STATE_WORKING, TASK_STATE_INPUT_REQUIRED, TASK_STATE_CANCELED, TASK_STATE_FAILED } =
	TaskState;

describe('the unchanged client of A2A', () => {
	test('reads the card of an agent', async () => {
		const card = await client.getAgentCard();
		expect(card).toMatchObject({
			name: 'desk',
			description: 'Says what the test says.',
			capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
			supportedInterfaces: [{ protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
		});
	});

	test('gets the answer as an artifact, and goes on in the context', async () => {
		const requests = stage.play([text('Hello.')], [text('Again.')]);
		const first = await send(say('Hi'));
		expect(first.status?.state).toBe(TASK_STATE_COMPLETED);
		expect(answers(first)).toEqual(['Hello.']);
		const second = await send(say('And now?', { contextId: first.contextId }, { historyLength: 5 }));
		expect(second.contextId).toBe(first.contextId);
		expect(second.id).not.toBe(first.id);
		expect(requests.at(-1)?.map(({ content }) => content)).toEqual(['Hi', 'Hello.', 'And now?']);
		expect(second.history.map(({ parts }) => toText(parts))).toEqual(['And now?']);
		const { tasks, totalSize } = await client.listTasks(ListTasksRequest.fromJSON({ contextId: first.contextId }));
		expect([tasks.map(({ id }) => id), totalSize]).toEqual([[second.id, first.id], 2]);
		const all = await client.listTasks(ListTasksRequest.fromJSON({ includeArtifacts: true }));
		expect(all.tasks.find(({ id }) => id === second.id)?.artifacts.map(({ parts }) => toText(parts))).toEqual([
			'Again.',
		]);
	});

	test('names a context itself', async () => {
		stage.play([text('One.')], [text('Two.')]);
		const contextId = `mine ${crypto.randomUUID()}`;
		const first = await send(say('Hi', { contextId }));
		expect(first.contextId).toBe(contextId);
		expect(await getTask(first.id)).toMatchObject({ contextId });
		const second = await send(say('Hi again', { contextId }));
		const { tasks } = await client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 1 }));
		expect(tasks).toMatchObject([{ id: second.id, contextId }]);
	});

	test('streams an answer while the model writes it', async () => {
		const shown = Promise.withResolvers<void>();
		stage.play(async ({ say: write }) => {
			write(text('Hel'));
			await shown.promise;
			write(text('lo.'));
		});
		const read = await follow(client.sendMessageStream(say('Hi')), (so) => so === 'Hel' && shown.resolve());
		expect(read.text).toBe('Hello.');
		expect(read.kinds[0]).toBe('task');
		expect(read.states).toEqual([TASK_STATE_WORKING, TASK_STATE_COMPLETED]);
		expect(answers(await getTask(read.id))).toEqual(['Hello.']);
	});

	test('shows calls as messages, and only the last text as the answer', async () => {
		stage.play([text('I add.'), call('own-1', 'add', { x: 1, y: 2 })], [text('3.')]);
		const read = await follow(client.sendMessageStream(say('Add')));
		expect(read.text).toBe('3.');
		expect(read.told).toEqual(['I add.', { toolCall: { id: 'own-1', name: 'add', input: { x: 1, y: 2 }, output: 3 } }]);
		const task = await getTask(read.id);
		expect(answers(task)).toEqual(['3.']);
		expect(task.history.map(({ role, parts }) => [role, toText(parts)])).toEqual([
			[1, 'Add'],
			[2, 'I add.'],
		]);
		expect((await getTask(read.id, 1)).history).toHaveLength(1);
		expect((await getTask(read.id, 0)).history).toHaveLength(0);
	});

	test.each<[name: string, decision: object, told: string]>([
		['approves', { approve: true }, 'payment 1: 3'],
		['denies', { approve: false, reason: 'too much' }, 'too much'],
		['changes', { approve: true, input: { amount: 2 } }, 'payment 2: 2'],
	])('%s a call that waits', async (_, decision, told) => {
		const id = crypto.randomUUID();
		const requests = stage.play([call(id, 'pay', { amount: 3 })], [text('Done.')]);
		const waiting = await send(say('Pay'));
		expect(waiting.status?.state).toBe(TASK_STATE_INPUT_REQUIRED);
		expect(asked(waiting)).toMatchObject([
			expect.stringContaining('pay waits for an approval'),
			{ toolCalls: [{ id, name: 'pay', input: { amount: 3 }, kind: 'approval' }] },
		]);
		expect((await getTask(waiting.id)).status?.state).toBe(TASK_STATE_INPUT_REQUIRED);
		await expect(send(say('yes', { taskId: waiting.id }))).rejects.toThrow('wait');
		const done = await send(say([{ data: { id, ...decision } }], { taskId: waiting.id, contextId: waiting.contextId }));
		expect(done.id).toBe(waiting.id);
		expect(done.status?.state).toBe(TASK_STATE_COMPLETED);
		expect(JSON.stringify(requests.at(-1))).toContain(told);
		expect(answers(await getTask(waiting.id))).toEqual(['Done.']);
		const { tasks } = await client.listTasks(ListTasksRequest.fromJSON({ contextId: waiting.contextId }));
		expect(tasks.map((one) => one.id)).toEqual([waiting.id]);
	});

	test("answers a tool's question, with a stream", async () => {
		const requests = stage.play([call('q-1', 'ask', { question: 'Which day?' })], [text('Booked.')]);
		const waiting = await follow(client.sendMessageStream(say('Book')));
		expect(waiting.states.at(-1)).toBe(TASK_STATE_INPUT_REQUIRED);
		expect(waiting.told).toContain('Which day?');
		const { status, contextId } = await getTask(waiting.id);
		expect(toText(status?.message?.parts)).toBe('Which day?');
		await expect(send(say('Hello', { contextId }))).rejects.toThrow('wait');
		const done = await follow(client.sendMessageStream(say('Monday', { taskId: waiting.id })));
		expect([done.id, done.text]).toEqual([waiting.id, 'Booked.']);
		expect(JSON.stringify(requests.at(-1))).toContain('Monday');
		const { history } = await getTask(waiting.id);
		expect(history.map(({ role, parts }) => [role, toText(parts)])).toEqual([
			[1, 'Book'],
			[1, 'Monday'],
		]);
	});

	test("decides about the call of an agent's agent by data, and not by a text", async () => {
		const chief = await new ClientFactory().createFromUrl(`${stage.url}/v1/a2a/chief/`);
		const id = crypto.randomUUID();
		stage.play(
			[call('c-1', 'desk', { task: 'Pay 3' })],
			[call(id, 'pay', { amount: 3 })],
			[text('Paid.')],
			[text('All done.')],
		);
		const waiting = await send(say('Have them pay'), chief);
		expect(waiting.status?.state).toBe(TASK_STATE_INPUT_REQUIRED);
		await expect(send(say('approve', { taskId: waiting.id }), chief)).rejects.toThrow('a text over MCP or A2A');
		const done = await send(say([{ data: { id, approve: true } }], { taskId: waiting.id }), chief);
		expect(answers(done)).toEqual(['All done.']);
	});

	test('sends data and files, and gives the result of a tool', async () => {
		const requests = stage.play([call('m-1', 'locate')], [text('There.')]);
		const file = { raw: Buffer.from('hello file').toString('base64'), mediaType: 'text/plain', filename: 'a.txt' };
		const waiting = await send(say([{ text: 'Where?' }, { data: { near: 'Rome' } }, file]));
		expect(JSON.stringify(requests[0])).toMatch(/near.*Rome.*hello file/);
		const done = await send(say([{ data: { id: 'm-1', output: { lat: 1 } } }], { taskId: waiting.id }));
		expect(answers(done)).toEqual(['There.']);
	});

	test('cancels a task, which then takes no message', async () => {
		const begun = Promise.withResolvers<void>();
		stage.play(async ({ say: write, left }) => {
			write(text('Work'));
			begun.resolve();
			await left;
		});
		const { id } = await send(say('Work', {}, { returnImmediately: true }));
		await begun.promise;
		expect((await getTask(id)).status?.state).toBe(TASK_STATE_WORKING);
		const cancelled = await client.cancelTask(CancelTaskRequest.fromJSON({ id }));
		expect(cancelled.status?.state).toBe(TASK_STATE_CANCELED);
		await expect(client.cancelTask(CancelTaskRequest.fromJSON({ id }))).rejects.toThrow('ended already');
		await expect(send(say('More', { taskId: id }))).rejects.toThrow('has ended');
		await expect(follow(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id })))).rejects.toThrow('has ended');
	});

	test('cancels a task that waits', async () => {
		stage.play([call(crypto.randomUUID(), 'pay', { amount: 3 })]);
		const { id } = await send(say('Pay'));
		const { status } = await client.cancelTask(CancelTaskRequest.fromJSON({ id }));
		expect(status?.state).toBe(TASK_STATE_CANCELED);
	});

	test('fails with the error of the model, and is halted with the reason', async () => {
		stage.play([{ type: 'fail', message: 'Out of order.' }], [call('h-1', 'stop')]);
		const failed = await send(say('Hi'));
		expect([failed.status?.state, toText(failed.status?.message?.parts)]).toEqual([
			TASK_STATE_FAILED,
			expect.stringContaining('Out of order'),
		]);
		const halted = await send(say('Stop'));
		expect([halted.status?.state, toText(halted.status?.message?.parts)]).toEqual([TASK_STATE_FAILED, 'enough']);
	});

	test('joins a task by a message that is sent again, and adds a message to a task that works', async () => {
		const shown = Promise.withResolvers<void>();
		const requests = stage.play(
			async ({ say: write }) => {
				write(call('own-2', 'add', { x: 1, y: 2 }));
				await shown.promise;
			},
			[text('Once.')],
		);
		const messageId = crypto.randomUUID();
		const task = await send(say('Hi', { messageId }, { returnImmediately: true }));
		await send(say('Also this', { taskId: task.id }, { returnImmediately: true }));
		shown.resolve();
		const again = await Promise.all([send(say('Hi', { messageId })), send(say('Hi', { messageId }))]);
		expect(again.map(({ id }) => id)).toEqual([task.id, task.id]);
		expect(again.map(answers)).toEqual([['Once.'], ['Once.']]);
		expect(requests).toHaveLength(2);
		expect(JSON.stringify(requests[1])).toContain('Also this');
		await expect(send(say('Other', { messageId }))).rejects.toThrow('another request');
	});

	test('subscribes to a task that works, and loses and doubles nothing', async () => {
		const shown = Promise.withResolvers<void>();
		stage.play([text('I add.'), call('own-3', 'add', { x: 1, y: 2 })], async ({ say: write }) => {
			write(text('One, '));
			await shown.promise;
			write(text('two.'));
		});
		const first = new AbortController();
		let id = '';
		for await (const { payload } of client.sendMessageStream(say('Count'), { signal: first.signal })) {
			if (payload?.$case === 'task') ({ id } = payload.value);
			if (payload?.$case === 'artifactUpdate' && toText(payload.value.artifact?.parts) === 'One, ') break;
		}
		first.abort();
		const read = follow(
			client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id })),
			(so) => so === 'One, ' && shown.resolve(),
		);
		expect((await read).text).toBe('One, two.');
	});
});

interface Posted {
	readonly headers: IncomingHttpHeaders;
	readonly body: { readonly task: { readonly id: string; readonly status: { readonly state: string } } };
}

async function startReceiver() {
	const posted: Posted[] = [];
	let wake = () => {};
	const server = createServer(async (request, response) => {
		posted.push({ headers: request.headers, body: (await json(request)) as Posted['body'] });
		response.end();
		wake();
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	return {
		url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/updates`,
		wait: async (count: number) => {
			while (posted.length < count) await new Promise<void>((resolve) => (wake = resolve));
			return posted;
		},
		close: () => server.close(),
	};
}

test('push notifications are signed, and tell of each state at which a task stops', async () => {
	const receiver = await startReceiver();
	const id = crypto.randomUUID();
	stage.play([call(id, 'pay', { amount: 3 })], [text('Done.')]);
	const config = { url: receiver.url, token: 't-1', authentication: { scheme: 'Bearer', credentials: 'secret-1' } };
	const waiting = await send(say('Pay', {}, { taskPushNotificationConfig: config }));
	const other = TaskPushNotificationConfig.fromJSON({ taskId: waiting.id, id: 'second', url: receiver.url });
	expect(await client.createTaskPushNotificationConfig(other)).toMatchObject({ id: 'second', taskId: waiting.id });
	await receiver.wait(2);
	const about = { tenant: '', taskId: waiting.id };
	const { configs } = await client.listTaskPushNotificationConfig({ ...about, pageSize: 0, pageToken: '' });
	expect(new Map(configs.map((one) => [one.id, one.authentication?.credentials]))).toEqual(
		new Map([
			['second', undefined],
			[waiting.id, ''],
		]),
	);
	await client.deleteTaskPushNotificationConfig({ ...about, id: 'second' });
	await expect(client.getTaskPushNotificationConfig({ ...about, id: 'second' })).rejects.toThrow('no push');
	await send(say([{ data: { id, approve: true } }], { taskId: waiting.id }));
	const posted = await receiver.wait(3);
	expect(posted.map(({ body: { task } }) => [task.id, task.status.state])).toEqual([
		[waiting.id, 'TASK_STATE_INPUT_REQUIRED'],
		[waiting.id, 'TASK_STATE_INPUT_REQUIRED'],
		[waiting.id, 'TASK_STATE_COMPLETED'],
	]);
	const last = posted.at(-1);
	expect(last?.headers).toMatchObject({ authorization: 'Bearer secret-1', 'x-a2a-notification-token': 't-1' });
	const headers = Object.fromEntries(Object.entries(last?.headers ?? {}).map(([name, value]) => [name, String(value)]));
	expect(new Webhook(secret).verify(JSON.stringify(last?.body), headers)).toMatchObject({
		task: { artifacts: [{ parts: [{ text: 'Done.' }] }] },
	});
	stage.play([call(crypto.randomUUID(), 'pay', { amount: 3 })]);
	const cancelled = await send(say('Pay', {}, { taskPushNotificationConfig: config }));
	await receiver.wait(4);
	await client.cancelTask(CancelTaskRequest.fromJSON({ id: cancelled.id }));
	expect((await receiver.wait(5)).at(-1)?.body.task).toMatchObject({
		id: cancelled.id,
		status: { state: 'TASK_STATE_CANCELED' },
	});
	receiver.close();
});
