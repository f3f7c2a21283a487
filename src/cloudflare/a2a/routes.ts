import * as v from 'valibot';
import { check, explain } from '../../core/base/check.ts';
import { RunletError, toRunletError } from '../../core/base/errors.ts';
import { type Agent, findAgent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { toError } from '../objects/reach.ts';
import { assertMay, getPerson } from '../routes/identity.ts';
import { getReader } from '../routes/reader.ts';
import { mount } from '../routes/request.ts';
import { toEventStream, toStream } from '../routes/respond.ts';
import { callA2a, getAgentCard } from '../wire/protocols/a2a/endpoints.ts';
import { createRpcError, toFailure } from '../wire/protocols/a2a/error.ts';
import {
	listParams,
	newPushParams,
	pushListParams,
	pushParams,
	sendParams,
	taskParams,
} from '../wire/protocols/a2a/params.ts';
import { protocolVersion, rpcId, rpcRequest } from '../wire/protocols/a2a/rpc.ts';
import { showError } from '../wire/shown-error.ts';
import type { Call } from './call.ts';
import { answerWithCard, showWholeCard } from './card.ts';
import { listTasks } from './list.ts';
import { assertReceiver, assertReceivers } from './receivers.ts';
import { sendMessage } from './send.ts';
import { toUpdates } from './stream.ts';
import { askReceivers, cancelTask, findTask, openTask, showTask } from './tasks.ts';

/** `/v1/a2a/:agent`: agents as servers of A2A (docs/a2a.md). A context is a session, and a task is a run. */
export function createA2aRoutes(runtime: Runtime) {
	return [
		mount(getAgentCard, (c) => answerWithCard(c, runtime)),
		mount(callA2a, async (c) => {
			const body = c.req.valid('json');
			const id = v.is(rpcId, body.id) ? body.id : null;
			try {
				const { method, params } = readRequest(body);
				assertVersion(c.req.header('a2a-version'));
				const call = findMethod(method);
				const agent = findCalled(c, runtime.agents, c.req.param('agent'));
				const answer = await call({ c, runtime, agent, params, id });
				return answer instanceof Response ? answer : Response.json({ jsonrpc: '2.0', id, result: answer });
			} catch (error) {
				if (!(error instanceof RunletError)) throw error;
				return toFailure(toError(showError(toRunletError(error), getReader(c))), id);
			}
		}),
	];
}

const methods: ReadonlyMap<string, (call: Call) => Promise<object>> = new Map<string, (call: Call) => Promise<object>>([
	[
		'SendMessage',
		async (call) => ({ task: await sendMessage(call, check(sendParams, call.params, 'params')).whole() }),
	],
	[
		'SendStreamingMessage',
		async (call) => answerWithStream(call, await sendMessage(call, check(sendParams, call.params, 'params')).stream()),
	],
	[
		'GetTask',
		async (call) => {
			const { id, historyLength } = check(taskParams, call.params, 'params');
			return showTask(call, await findTask(call, id), { historyLength: historyLength ?? undefined, hasHistory: true });
		},
	],
	['ListTasks', (call) => listTasks(call, check(listParams, call.params, 'params'))],
	['CancelTask', async (call) => cancelTask(call, await findTask(call, readTaskId(call), 'sendMessage'))],
	[
		'SubscribeToTask',
		async (call) => answerWithStream(call, await openTask(call, await findTask(call, readTaskId(call)))),
	],
	[
		'CreateTaskPushNotificationConfig',
		async (call) => {
			const { taskId, ...config } = check(newPushParams, call.params, 'params');
			const put = assertReceiver(call.c, config);
			const task = await findTask(call, taskId, 'sendMessage');
			const [stored] = await askReceivers(call, task, { put });
			return { ...stored };
		},
	],
	[
		'GetTaskPushNotificationConfig',
		async (call) => {
			assertReceivers(call.c);
			const { taskId, id } = check(pushParams, call.params, 'params');
			const found = (await askReceivers(call, await findTask(call, taskId))).find((one) => one.id === id);
			if (found !== undefined) return found;
			throw new RunletError('not_found', 'The task has no push notification config with this id.');
		},
	],
	[
		'ListTaskPushNotificationConfigs',
		async (call) => {
			assertReceivers(call.c);
			const { taskId } = check(pushListParams, call.params, 'params');
			return { configs: await askReceivers(call, await findTask(call, taskId)), nextPageToken: '' };
		},
	],
	[
		'DeleteTaskPushNotificationConfig',
		async (call) => {
			assertReceivers(call.c);
			const { taskId, id } = check(pushParams, call.params, 'params');
			await askReceivers(call, await findTask(call, taskId, 'sendMessage'), { remove: id });
			return {};
		},
	],
	[
		'GetExtendedAgentCard',
		async ({ c, runtime, agent }) => {
			assertMay(c, 'seeAgents');
			return showWholeCard(c, runtime, agent);
		},
	],
]);

function findCalled(c: Call['c'], agents: Runtime['agents'], name: string): Agent {
	const agent = agents.find((one) => one.name === name);
	if (agent !== undefined) return agent;
	// The holder of a token does not learn which agents there are.
	getPerson(c);
	return findAgent(agents, name);
}

function readRequest(body: object) {
	const read = v.safeParse(rpcRequest, body, { abortEarly: true });
	if (read.success) return read.output;
	const { field, message } = explain(read.issues, 'body');
	throw createRpcError(field.startsWith('params') ? 'invalidParams' : 'invalidRequest', message, field);
}

function findMethod(name: string): (call: Call) => Promise<object> {
	const method = methods.get(name);
	if (method !== undefined) return method;
	throw createRpcError('methodNotFound', `There is no such method. Possible: ${[...methods.keys()].join(', ')}.`);
}

function readTaskId({ params }: Call): string {
	return check(taskParams, params, 'params').id;
}

function assertVersion(asked = ''): void {
	if (asked === '' || /^1\.0(\.|$)/.test(asked)) return;
	const message = `A2A-Version: this agent speaks ${protocolVersion}, and not ${asked.slice(0, 20)}.`;
	throw createRpcError('versionNotSupported', message);
}

function answerWithStream(call: Call, updates: Parameters<typeof toUpdates>[1]): Response {
	return toEventStream(toStream(toUpdates(call, updates)));
}
