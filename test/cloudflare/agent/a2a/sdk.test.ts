/** `a2aTool` and a server made with the protocol's own SDK, whose server makes a new task of each message. */
import { AgentCard, Artifact, Task, TaskStatus } from '@a2a-js/sdk';
import {
	AgentEvent,
	type AgentExecutor,
	DefaultRequestHandler,
	type ExecutionEventBus,
	InMemoryTaskStore,
	JsonRpcTransportHandler,
	type RequestContext,
	ServerCallContext,
	validateVersion,
} from '@a2a-js/sdk/server';
import { expect, test } from 'vitest';
import { a2aTool } from '../../../../src/cloudflare/agent/a2a/tool.ts';
import { tool } from '../../../../src/core/index.ts';

const card = AgentCard.fromJSON({
	name: 'Travel',
	description: 'Books trips.',
	version: '1',
	supportedInterfaces: [
		{ url: 'https://travel.example.com/grpc', protocolBinding: 'GRPC', protocolVersion: '1.0' },
		{ url: 'https://travel.example.com/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
	],
	capabilities: {},
	defaultInputModes: ['text/plain'],
	defaultOutputModes: ['text/plain'],
	skills: [],
});

/** Creates a `fetch` that reaches only the agent's server. */
function serve(agentExecutor: AgentExecutor): typeof fetch {
	const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), agentExecutor));
	return async (input, init) => {
		const request = new Request(input, init);
		if (request.method === 'GET') return Response.json(AgentCard.toJSON(card));
		const requestedVersion = request.headers.get('a2a-version') ?? '0.3';
		validateVersion(requestedVersion, card);
		const body = await request.text();
		return Response.json(await handler.handle(body, new ServerCallContext({ requestedVersion })));
	};
}

const publish = (bus: ExecutionEventBus, { taskId, contextId }: RequestContext) => ({
	task: () =>
		bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } }))),
	status: (state: string, text: string) => {
		const message = { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', contextId, taskId, parts: [{ text }] };
		const status = TaskStatus.fromJSON({ state: `TASK_STATE_${state}`, message });
		bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
	},
	artifact: (...parts: readonly object[]) => {
		const artifact = Artifact.fromJSON({ artifactId: 'a', parts });
		const about = { append: false, lastChunk: true, metadata: undefined };
		bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, ...about }));
	},
});

const travel = a2aTool('https://travel.example.com/card.json', { name: 'travel', description: 'Plans trips.' });
const call = (input: object) => ({ id: 'c', name: 'travel', input });
const readText = ({ userMessage: { parts } }: RequestContext) =>
	parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');

test('a task runs at a server of the SDK, with its progress as notes and its artifact as the result', async () => {
	const notes: unknown[] = [];
	const looked = Promise.withResolvers<void>();
	const fetch = serve({
		execute: async (context, bus) => {
			const agent = publish(bus, context);
			agent.task();
			agent.status('WORKING', 'Looking at trains.');
			await looked.promise;
			agent.artifact({ text: `Go by train: ${readText(context)}` }, { data: { price: 42 } });
			agent.status('COMPLETED', 'Bon voyage.');
		},
		cancelTask: async () => {},
	});
	const emit = (note: unknown) => {
		notes.push(note);
		if (notes.length === 2) looked.resolve();
	};
	const result = await tool.dispatch([travel], call({ task: 'To Rome.' }), { fetch, emit });
	expect(result).toMatchObject({ isError: false, output: 'Go by train: To Rome.\n\n{"price":42}' });
	expect(notes).toEqual([
		['Asking', 'https://travel.example.com'],
		['travel', 'Looking at trains.'],
	]);
});

test('a task that asks at a server of the SDK goes on with the answer, in the same task', async () => {
	const tasks: (string | undefined)[] = [];
	const fetch = serve({
		execute: async (context, bus) => {
			const agent = publish(bus, context);
			tasks.push(context.task?.id);
			if (context.task === undefined) {
				agent.task();
				return agent.status('INPUT_REQUIRED', 'When?');
			}
			agent.artifact({ text: `Booked for ${readText(context)}` });
			agent.status('COMPLETED', '');
		},
		cancelTask: async () => {},
	});
	const asked = await tool.dispatch([travel], call({ task: 'To Rome.' }), { fetch });
	expect(asked.output).toMatchObject({ question: 'travel asks: When?', options: { agent: 'travel' } });
	const { resume } = Object(asked.output);
	const result = await tool.dispatch([travel], call({ task: 'To Rome.' }), { fetch, answer: { text: 'May', resume } });
	expect(result).toMatchObject({ isError: false, output: 'Booked for May' });
	expect(tasks).toEqual([undefined, expect.any(String)]);
});

test('a cancelled call cancels its task at a server of the SDK', async () => {
	const cancelled = Promise.withResolvers<string>();
	const stop = new AbortController();
	const fetch = serve({
		execute: async (context, bus) => {
			const agent = publish(bus, context);
			agent.task();
			agent.status('WORKING', 'Looking.');
			await cancelled.promise;
			agent.status('CANCELED', '');
		},
		cancelTask: async (taskId) => cancelled.resolve(taskId),
	});
	const emit = (note: unknown) => {
		if (JSON.stringify(note).includes('Looking')) stop.abort();
	};
	const made = tool.dispatch([travel], call({ task: 'To Rome.' }), { fetch, emit, signal: stop.signal });
	await expect(made).rejects.toMatchObject({ code: 'cancelled' });
	expect(await cancelled.promise).toMatch(/^[\da-f-]{36}$/);
});
