import { HttpAgent, type HttpAgentConfig, type Interrupt, type Message, type Tool } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { call, reasoning, type Stage, startStage, text } from './ui/stage.ts';

let stage: Stage;
beforeAll(async () => {
	stage = await startStage();
});
afterAll(() => stage?.close());

const log = { warn: vi.spyOn(console, 'warn'), error: vi.spyOn(console, 'error') };
beforeEach(() => {
	log.warn.mockReset();
	log.error.mockReset().mockReturnValue(undefined);
});
/** The client warns about every event that does not fit its schemas or its messages. */
afterEach(() => {
	expect(log.warn.mock.calls.map(([what]) => what)).toEqual([]);
});

const user = (content: Extract<Message, { role: 'user' }>['content'], id: string = crypto.randomUUID()): Message => ({
	id,
	role: 'user',
	content,
});

interface Reading {
	readonly agent: HttpAgent;
	/** The events of the newest run, as they came over the wire. */
	readonly events: () => Record<string, unknown>[];
	readonly errors: { readonly message: string; readonly code?: string }[];
}

/** The unchanged client. A second one with the same thread is another page of the same person. */
function open({ agent: name = 'desk', ...config }: Partial<HttpAgentConfig> & { agent?: string } = {}): Reading {
	let events: Record<string, unknown>[] = [];
	const errors: Reading['errors'] = [];
	const agent = new HttpAgent({ url: `${stage.url}/v1/ag-ui/${name}`, ...config });
	agent.subscribe({
		onRunInitialized: () => {
			events = [];
		},
		onEvent: ({ event }) => {
			EventSchemas.parse(event);
			events.push(event);
		},
		onRunErrorEvent: ({ event }) => void errors.push(event),
	});
	return { agent, events: () => events, errors };
}

async function say(agent: HttpAgent, content: string, tools?: Tool[]) {
	agent.addMessage(user(content));
	return agent.runAgent({ tools });
}

const shape = ({ messages }: HttpAgent) =>
	messages.map(({ role, content, ...more }) => [
		role,
		content ?? ('toolCalls' in more ? more.toolCalls?.map(({ function: { name } }) => name) : undefined),
	]);

const here: Tool = {
	name: 'read_page',
	description: 'Reads the page.',
	parameters: { type: 'object', properties: { part: { type: 'string' } } },
};

describe('the unchanged client of AG-UI', () => {
	test('streams an answer while the model writes it, and continues the thread', async () => {
		const { agent } = open();
		const shown = Promise.withResolvers<void>();
		const requests = stage.play(
			async ({ say }) => {
				say(reasoning('Hm.'), text('Hel'));
				await shown.promise;
				say(text('lo.'));
			},
			[text('Again.')],
		);
		agent.addMessage(user('Hi'));
		const { result, newMessages } = await agent.runAgent(
			{},
			{ onTextMessageContentEvent: ({ event }) => void (event.delta === 'Hel' && shown.resolve()) },
		);
		expect(result).toBe('Hello.');
		expect(newMessages.map(({ role, content }) => [role, content])).toEqual([
			['reasoning', 'Hm.'],
			['assistant', 'Hello.'],
		]);
		await say(agent, 'And now?');
		expect(requests.at(-1)?.map(({ content }) => content)).toEqual(['Hi', 'Hello.', 'And now?']);
		expect(shape(agent).at(-1)).toEqual(['assistant', 'Again.']);
	});

	test("shows the agent's own calls with their results, and names them as they are stored", async () => {
		const { agent } = open();
		stage.play([text('I add.'), call('own-1', 'add', { x: 1, y: 2 })], [text('3.')]);
		await say(agent, 'Add');
		expect(shape(agent)).toEqual([
			['user', 'Add'],
			['assistant', 'I add.'],
			['tool', '3'],
			['assistant', '3.'],
		]);
		const { agent: other } = open({ threadId: agent.threadId });
		await other.runAgent();
		expect(other.messages.slice(1)).toEqual(agent.messages.slice(1));
		expect(shape(other)).toEqual(shape(agent));
	});

	test.each<[name: string, answer: object, ran: string, told: string]>([
		['approves', { status: 'resolved', payload: { approved: true } }, 'payment 1: 3', 'payment 1: 3'],
		['denies', { status: 'resolved', payload: { approved: false, reason: 'too much' } }, 'too much', 'too much'],
		['leaves', { status: 'cancelled' }, 'did not allow', 'did not allow'],
		[
			'changes the arguments of',
			{ status: 'resolved', payload: { approved: true, editedArgs: { amount: 2 } } },
			'payment 2: 2',
			'payment 2: 2',
		],
	])('%s a call by an interrupt', async (_, answer, shown, told) => {
		const { agent } = open();
		const id = crypto.randomUUID();
		const requests = stage.play([call(id, 'pay', { amount: 3 })], [text('Done.')]);
		await say(agent, 'Pay');
		expect(agent.pendingInterrupts).toMatchObject([{ id: `approval:${id}`, reason: 'tool_call', toolCallId: id }]);
		await agent.runAgent({ resume: [{ interruptId: `approval:${id}`, ...answer } as never] });
		expect(agent.pendingInterrupts).toEqual([]);
		expect(shape(agent)).toEqual([
			['user', 'Pay'],
			['assistant', ['pay']],
			['tool', expect.stringContaining(shown)],
			['assistant', 'Done.'],
		]);
		expect(JSON.stringify(requests.at(-1))).toContain(told);
	});

	test.each<[name: string, tool: string, kind: string, payload: unknown, told: unknown]>([
		['a question', 'ask', 'answer', 'Blue', 'Blue'],
		['a question in a form', 'ask', 'answer', { answer: 'Blue' }, 'Blue'],
		['a manual call', 'survey', 'result', { name: 'Ada' }, { name: 'Ada' }],
	])('answers %s by an interrupt', async (_, tool, kind, payload, told) => {
		const { agent } = open();
		const id = crypto.randomUUID();
		const requests = stage.play([call(id, tool, { question: 'Which?', place: 'Oslo' })], [text('Thanks.')]);
		await say(agent, 'Ask me');
		expect(agent.pendingInterrupts.map((interrupt: Interrupt) => interrupt.id)).toEqual([`${kind}:${id}`]);
		await agent.runAgent({ resume: [{ interruptId: `${kind}:${id}`, status: 'resolved', payload }] });
		expect(requests.at(-1)?.at(-1)).toMatchObject({ role: 'tool', content: told });
		expect(shape(agent).slice(2)).toEqual([
			['tool', typeof told === 'string' ? told : JSON.stringify(told)],
			['assistant', 'Thanks.'],
		]);
	});

	test('decides about the call of a child agent', async () => {
		const { agent } = open({ agent: 'chief' });
		stage.play(
			[call('child-1', 'desk', { task: 'Pay' })],
			[call('inner-1', 'pay', { amount: 1 })],
			[text('Paid.')],
			[text('All done.')],
		);
		await say(agent, 'Let them pay');
		const [interrupt] = agent.pendingInterrupts;
		expect(interrupt).toMatchObject({ reason: 'confirmation', responseSchema: { required: ['approved'] } });
		await agent.runAgent({
			resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: { approved: true } }],
		});
		expect(shape(agent).at(-1)).toEqual(['assistant', 'All done.']);
	});

	test('runs its own tools, and sends their results alone or with a message', async () => {
		const { agent, events } = open();
		const requests = stage.play(
			[call('page-1', 'read_page', { part: 'top' })],
			[call('page-2', 'read_page')],
			[text('Read.')],
		);
		await say(agent, 'Read', [here]);
		expect(events().at(-1)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: ['page-1'] } });
		agent.addMessage({ id: 't1', role: 'tool', toolCallId: 'page-1', content: 'The top.' });
		await agent.runAgent({ tools: [here] });
		agent.addMessage({ id: 't2', role: 'tool', toolCallId: 'page-2', content: '', error: 'No page.' });
		await say(agent, 'Well?', [here]);
		expect(shape(agent).at(-1)).toEqual(['assistant', 'Read.']);
		expect(
			requests
				.at(-1)
				?.slice(1)
				.map(({ role, content }) => [role, content]),
		).toEqual([
			['assistant', ''],
			['tool', 'The top.'],
			['assistant', ''],
			['tool', 'No page.'],
			['user', 'Well?'],
		]);
	});

	test('answers an approval and a call of its own tool together', async () => {
		const { agent } = open();
		const id = crypto.randomUUID();
		stage.play([call(id, 'pay', { amount: 7 }), call(`${id}-page`, 'read_page')], [text('Both.')]);
		await say(agent, 'Both', [here]);
		agent.addMessage({ id: 't', role: 'tool', toolCallId: `${id}-page`, content: 'The page.' });
		await agent.runAgent({
			resume: [{ interruptId: `approval:${id}`, status: 'resolved', payload: true }],
			tools: [here],
		});
		expect(shape(agent).at(-1)).toEqual(['assistant', 'Both.']);
	});

	test('gets the error of a run as an event, and asks again', async () => {
		const { agent, errors } = open();
		stage.play([{ type: 'fail', message: 'The model broke.' }], [text('Hi.')]);
		await say(agent, 'Hi');
		expect(errors).toMatchObject([{ message: expect.stringContaining('The model broke.') }]);
		await agent.runAgent();
		expect(shape(agent)).toEqual([
			['user', 'Hi'],
			['assistant', 'Hi.'],
		]);
	});

	test('leaves during a run, which goes on, and takes it up again', async () => {
		const { agent } = open();
		const shown = Promise.withResolvers<void>();
		const left = Promise.withResolvers<void>();
		const requests = stage.play(async ({ say }) => {
			say(text('One, '));
			await left.promise;
			say(text('two.'));
		});
		agent.addMessage(user('Count'));
		const run = agent.runAgent({}, { onTextMessageContentEvent: () => void shown.resolve() });
		await shown.promise;
		agent.abortRun();
		await run;
		left.resolve();
		expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'One, ' });
		await agent.runAgent();
		expect(shape(agent)).toEqual([
			['user', 'Count'],
			['assistant', 'One, two.'],
		]);
		expect(requests).toHaveLength(1);
	});

	test('joins the run when it sends the same runId or the same message again', async () => {
		const { agent } = open();
		const requests = stage.play([call('join-1', 'add', { x: 1, y: 1 })], [text('Two.')]);
		const message = user('Add');
		const again = (runId?: string) => {
			const { agent: one } = open({ threadId: agent.threadId, initialMessages: [message] });
			const context = [{ description: 'The time', value: crypto.randomUUID() }];
			return one.runAgent({ runId, context }).then(() => one.messages);
		};
		agent.addMessage(message);
		const [, same] = await Promise.all([agent.runAgent({ runId: 'run-a' }), again('run-a')]);
		expect(same).toEqual(agent.messages);
		expect(await again('run-a')).toEqual(agent.messages);
		expect(await again()).toEqual(agent.messages);
		expect(requests).toHaveLength(2);
	});

	test('replaces a message that it sends again with another text', async () => {
		const { agent } = open();
		const requests = stage.play([text('One.')], [text('Two.')]);
		agent.setMessages([user('First', 'edited')]);
		await agent.runAgent();
		agent.setMessages([user('Second', 'edited')]);
		await agent.runAgent();
		expect(requests.at(-1)?.map(({ content }) => content)).toEqual(['Second']);
		const { agent: other } = open({ threadId: agent.threadId });
		await other.runAgent();
		expect(other.messages).toEqual(agent.messages);
	});

	test('opens a thread of another page with what it waits for', async () => {
		const { agent } = open();
		const id = crypto.randomUUID();
		stage.play([call(id, 'pay', { amount: 1 })], [text('Paid.')]);
		await say(agent, 'Pay');
		const { agent: other } = open({ threadId: agent.threadId });
		await other.runAgent();
		expect(other.pendingInterrupts).toEqual(agent.pendingInterrupts);
		await other.runAgent({
			resume: [{ interruptId: `approval:${id}`, status: 'resolved', payload: { approved: true } }],
		});
		expect(shape(other).at(-1)).toEqual(['assistant', 'Paid.']);
		const { agent: fresh } = open();
		await fresh.runAgent();
		expect(fresh.messages).toEqual([]);
	});

	test('sends context and files with a message, and no page shows the context', async () => {
		const { agent } = open();
		const requests = stage.play([text('Seen.')]);
		const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
		agent.addMessage(
			user([
				{ type: 'text', text: 'Look' },
				{ type: 'image', source: { type: 'data', value: dot, mimeType: 'image/png' } },
			]),
		);
		await agent.runAgent({ context: [{ description: 'The open page', value: 'Prices' }] });
		const heard = JSON.stringify(requests[0]);
		expect(heard).toContain('The open page: Prices');
		expect(heard).toContain(dot);
		const { agent: other } = open({ threadId: agent.threadId });
		await other.runAgent();
		expect(other.messages[0]).toMatchObject({
			role: 'user',
			content: [
				{ type: 'text', text: 'Look' },
				{ type: 'image', source: { type: 'data', value: dot } },
			],
		});
		expect(JSON.stringify(other.messages)).not.toContain('Prices');
	});

	test('works with the token of a session, which is the thread', async () => {
		const made = await fetch(`${stage.url}/v1/sessions`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ agent: 'desk' }),
		});
		const { id, token } = await made.json();
		const headers = { authorization: `Bearer ${token}` };
		const { agent } = open({ threadId: id, headers });
		stage.play([text('Hi.')]);
		await say(agent, 'Hi');
		expect(shape(agent).at(-1)).toEqual(['assistant', 'Hi.']);
		const { agent: other } = open({ threadId: id });
		await other.runAgent();
		expect(shape(other)).toEqual(shape(agent));
		const stranger = open({ threadId: 'another', headers }).agent;
		await expect(say(stranger, 'Hi')).rejects.toMatchObject({ status: 403 });
		const wrongAgent = open({ threadId: id, headers, agent: 'chief' }).agent;
		await expect(wrongAgent.runAgent()).rejects.toMatchObject({ status: 404 });
	});
});

describe('a request that begins no run', () => {
	const approval = { interruptId: 'approval:x', status: 'resolved' };
	test.each<[name: string, body: object, status: number, field: string]>([
		['has no thread', { runId: 'r', messages: [] }, 400, 'threadId'],
		['has an empty message', { messages: [user(' ')] }, 400, 'messages.0'],
		['has a message of a wrong form', { messages: [{ id: 'm', role: 'user', content: 7 }] }, 400, 'messages.0'],
		[
			'has a file of a provider',
			{ messages: [user([{ type: 'image', source: { type: 'file', value: 'f' } } as never])] },
			400,
			'messages.0',
		],
		[
			"offers a tool with the name of the agent's",
			{ messages: [user('Hi')], tools: [{ ...here, name: 'pay' }] },
			400,
			'tools.0.name',
		],
		[
			'has too much context',
			{ messages: [user('Hi')], context: [{ description: 'x', value: 'x'.repeat(50_001) }] },
			400,
			'context',
		],
		[
			'answers an unknown interrupt',
			{ messages: [], resume: [{ ...approval, interruptId: 'x' }] },
			400,
			'resume.0.interruptId',
		],
		['decides nothing', { messages: [], resume: [{ ...approval, payload: {} }] }, 400, 'resume.0.payload'],
		['answers and says something', { messages: [user('Hi')], resume: [{ ...approval, payload: true }] }, 400, 'resume'],
	])('%s: JSON names the field', async (_, body, status, field) => {
		const response = await fetch(`${stage.url}/v1/ag-ui/desk`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({
				...('runId' in body ? {} : { threadId: 'refused', runId: crypto.randomUUID() }),
				...body,
			}),
		});
		expect(response.status).toBe(status);
		const { error } = await response.json();
		expect(error.message).toContain(field);
	});
});
