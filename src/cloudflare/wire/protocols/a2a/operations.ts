import * as v from 'valibot';
import { createOperations } from '../../operation.ts';
import { agentCard } from './card.ts';
import * as endpoints from './endpoints.ts';
import { rpcResponse } from './rpc.ts';
import { streamResponse } from './task.ts';

const operation = createOperations('A2A');

const session = '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708';
const id = `${session}-1`;

const task = {
	id,
	contextId: session,
	status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-11-21T12:00:00.000Z' },
	artifacts: [{ artifactId: 'answer', name: 'answer', parts: [{ text: '17 + 25 is 42.' }] }],
};

const updateSchema = v.object({ ...rpcResponse.entries, result: v.optional(streamResponse) });

const update = {
	artifactUpdate: { taskId: id, contextId: session, artifact: task.artifacts[0], append: false },
};

const card = {
	name: 'assistant',
	description: 'Answers questions.',
	supportedInterfaces: [
		{ url: 'https://example.com/v1/a2a/assistant', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
	],
	version: '0.1.0',
	capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
	securitySchemes: { key: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
	securityRequirements: [{ schemes: { key: { list: [] } } }],
	defaultInputModes: ['text/plain'],
	defaultOutputModes: ['text/plain'],
	skills: [{ id: 'assistant', name: 'assistant', description: 'Answers questions.', tags: ['agent'] }],
};

const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

export const callA2a = operation(endpoints.callA2a, {
	summary: 'Call a method of A2A',
	description:
		'The JSON-RPC binding of A2A 1.0: `SendMessage`, `SendStreamingMessage`, `GetTask`, `ListTasks`, `CancelTask`, `SubscribeToTask`, `GetExtendedAgentCard` and the four methods of push notification configs.',
	headers: ['last-event-id'],
	examples: {
		send: call('SendMessage', {
			message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'What is 17 + 25?' }] },
		}),
		read: call('GetTask', { id, historyLength: 10 }),
		decide: call('SendMessage', {
			message: { messageId: 'm2', taskId: id, role: 'ROLE_USER', parts: [{ data: { id: 'call_1', approve: true } }] },
		}),
	},
	answers: {
		200: {
			says: 'The result of the method, or an error of JSON-RPC.',
			json: rpcResponse,
			examples: { task: { jsonrpc: '2.0', id: 1, result: { task } } },
			also: {
				'text/event-stream': {
					says: 'The updates of a task. Each `data:` is an answer of JSON-RPC, whose `result` is an update.',
					events: updateSchema,
					example: `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: update })}\n\n`,
				},
			},
		},
	},
	failure: { json: rpcResponse },
});

export const getAgentCard = operation(endpoints.getAgentCard, {
	summary: 'Get the agent card',
	description:
		'Describes the agent for clients of A2A. Without a key it says only how to call, whether or not there is such an agent.',
	headers: ['if-none-match'],
	answers: {
		200: { says: 'The card.', json: agentCard, examples: { card }, headers: ['etag'] },
		304: { says: 'The card is the one that the client has.' },
	},
	errors: [401],
});
