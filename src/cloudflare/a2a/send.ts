import type * as v from 'valibot';
import { hashText } from '../../core/base/bytes.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { isTerminal } from '../../core/chat/event.ts';
import { sessionIdForm } from '../auth/token.ts';
import type { Once } from '../objects/once.ts';
import { toError } from '../objects/reach.ts';
import type { Caller, CreateInput, Handling, Input, RunOutcome } from '../objects/session-api.ts';
import { findChat } from '../routes/find-chat.ts';
import { getPerson } from '../routes/identity.ts';
import { createSessionId, readOrigin } from '../routes/request.ts';
import { askSession, orGone } from '../routes/respond.ts';
import { format, type RunLine, readRun, readStart } from '../routes/run-lines.ts';
import { formatEventId, toStart } from '../session/events/log.ts';
import { createRpcError } from '../wire/protocols/a2a/error.ts';
import { formatTaskId } from '../wire/protocols/a2a/ids.ts';
import type { sendParams } from '../wire/protocols/a2a/params.ts';
import { showEnded, showHead, type TaskHead } from '../wire/protocols/a2a/show.ts';
import type { Task } from '../wire/protocols/a2a/task.ts';
import { TaskWriter } from '../wire/protocols/a2a/writer.ts';
import type { Call } from './call.ts';
import { readAnswers, readMessage } from './content.ts';
import { assertReceiver } from './receivers.ts';
import type { Updates } from './stream.ts';
import { askReceivers, type FoundTask, findTask, isOver, isWaiting, showTask } from './tasks.ts';

type Params = v.InferOutput<typeof sendParams>;

const transport = 'a2a';

interface Sending {
	/** Sends the message. Returns the task when it ends or waits, or at once with `returnImmediately`. */
	whole(): Promise<Task>;
	/** Sends the message. Returns the updates of its task. */
	stream(): Promise<Updates>;
}

/** Reads a message, which begins a task or goes on with one. A message with a known `messageId` joins its task. */
export function sendMessage(call: Call, params: Params): Sending {
	const { message, configuration } = params;
	if (message.role !== 'ROLE_USER') throw createFieldError('invalid_request', 'message.role', 'expected ROLE_USER.');
	const given = configuration?.taskPushNotificationConfig;
	const receiver =
		given == null ? undefined : assertReceiver(call.c, given, 'configuration.taskPushNotificationConfig.url');
	const send = async () => {
		const sent = await (message.taskId ? sendToTask(call, params, message.taskId) : sendToContext(call, params));
		if (receiver !== undefined) await askReceivers(call, sent, { put: receiver });
		return sent;
	};
	return {
		whole: async () => {
			const sent = await send();
			const task = await readWhole(call, sent, configuration?.returnImmediately === true);
			const historyLength = configuration?.historyLength ?? 0;
			if (historyLength === 0) return task;
			const { history } = await showTask(call, await findTask(call, task.id), { historyLength, hasContent: false });
			return { ...task, history };
		},
		stream: async () => {
			const sent = await send();
			const { head, run, lines } = sent;
			if (lines === undefined) return { task: await showTask(call, await findTask(call, formatTaskId(head)), {}) };
			const writer = new TaskWriter({ head, run, isJson: call.agent.outputSchema !== undefined });
			return { task: showHead(head, { status: 'running', since: Date.now() }), run: { lines, writer } };
		},
	};
}

interface Sent extends Pick<FoundTask, 'head' | 'session' | 'caller'> {
	/** The number of the run that the message began or joined. */
	readonly run: number;
	/** The events of the run. Missing if calls of the task still wait. */
	readonly lines?: AsyncGenerator<RunLine>;
}

async function readWhole(call: Call, { head, run, lines }: Sent, isQuick: boolean): Promise<Task> {
	if (lines !== undefined && !isQuick)
		for await (const line of lines)
			if ('event' in line && isTerminal(line.event)) return showEnded(head, line.event, run, Date.now());
	await lines?.return(undefined);
	return showTask(call, await findTask(call, formatTaskId(head)), {});
}

/** Sends a message that begins a task, in the context that it names or in a new one. */
async function sendToContext(call: Call, { message }: Params): Promise<Sent> {
	const { c, agent } = call;
	const once = createOnce(call, message);
	const { id, caller, create, name } = findContext(call, message.contextId || undefined, once);
	if (create === undefined) await assertAgent(call, id, caller);
	const input = {
		...readMessage(message),
		messageId: message.messageId,
		transport,
		// Without the id of a task, a message answers no question.
		...({ whenBusy: 'reject', isPatient: true, mayAnswer: false } as const),
		...(create && { create: { agent: agent.name, ...create } }),
	};
	const how = createHandling(call, once, name);
	const outcome = await askSession(c, id, (one) => one.send(caller, input, how), true);
	return openRun(call, outcome, { session: id, caller, contextId: name ?? id.toString() });
}

/** Throws `not_found` for a session of another agent. */
async function assertAgent({ c, agent }: Call, id: DurableObjectId, caller: Caller): Promise<void> {
	const run = await orGone(askSession(c, id, (one) => one.findRun(caller, 0, 'sendMessage'), true));
	const found = run ?? (await askSession(c, id, (one) => one.state(caller), true));
	if (found.agent !== agent.name) throw new RunletError('not_found', 'There is no such context.');
}

/** Sends a message to a task: an answer if the task waits, or else a message that the run takes up. */
async function sendToTask(call: Call, { message }: Params, taskId: string): Promise<Sent> {
	const once = createOnce(call, message);
	const found = await findTask(call, taskId, 'sendMessage', once);
	const { head, session, caller, run } = found;
	if (message.contextId && message.contextId !== head.contextId && message.contextId !== head.session)
		throw createFieldError('invalid_request', 'message.contextId', 'the task belongs to another context.');
	if (isOver(run) && !run.isRepeated)
		throw createRpcError('unsupportedOperation', 'The task has ended. Leave taskId out to begin another one.');
	const how = createHandling(call, once, head.contextId === head.session ? undefined : head.contextId);
	const answers = isWaiting(run) ? readAnswers(message) : undefined;
	const read = () => ({ ...readMessage(message), messageId: message.messageId, transport });
	if (run.chain.status === 'running' && !run.isRepeated) return steer(call, found, read(), how);
	const outcome = await askSession(
		call.c,
		session,
		(one) => {
			if (answers !== undefined) return one.submit(caller, answers, how);
			return run.chain.status === 'awaiting_user' ? one.answer(caller, read(), how) : one.send(caller, read(), how);
		},
		true,
	);
	return openRun(call, outcome, { session, caller, contextId: head.contextId, head });
}

/** Adds a message to a task that works. If the task has ended meanwhile, the message begins another one. */
async function steer({ c }: Call, { head, session, caller }: FoundTask, input: Input, how: Handling): Promise<Sent> {
	const ask = { ...how, delivery: 'accepted' } as const;
	await askSession(c, session, (one) => one.send(caller, { ...input, whenBusy: 'steer' }, ask), true);
	const { chain } = await askSession(c, session, (one) => one.findRun(caller, 0, 'readSession'), true);
	const from = formatEventId(toStart(chain.last));
	const stream = await askSession(c, session, (one) => one.events(caller, from, format), true);
	if (stream === undefined) throw new Error('A run has no events.');
	const lines = readRun(c, { session, caller, stream });
	return { head: { ...head, run: chain.first }, session, caller, run: chain.last, lines };
}

interface Context {
	readonly id: DurableObjectId;
	readonly caller: Caller;
	readonly create?: Pick<CreateInput, 'owner' | 'user' | 'by'>;
	/** The name that the client gave the context. Missing for the id of a session. */
	readonly name?: string;
}

function findContext({ c, agent }: Call, contextId: string | undefined, once: Once): Context {
	const { identity } = c.var;
	const id = contextId ?? (identity.kind === 'token' ? identity.session : undefined);
	if (id !== undefined) return { ...findChat(c, 'a2a', id), name: sessionIdForm.test(id) ? undefined : id };
	const caller = getPerson(c);
	const { owner, by } = caller;
	const create = { owner, user: by.user, by };
	return { id: createSessionId(c, caller, agent.name, { delivery: 'stream', once }), caller, create };
}

/** The key of a message. It has a space, so it is no client's `Idempotency-Key`. */
function createOnce({ c, agent }: Call, message: Params['message']): Once {
	const whose = c.var.identity.kind === 'token' ? 'token a2a' : 'a2a';
	const { messageId, ...said } = message;
	return { key: `${whose} ${agent.name} ${messageId}`, request: hashText(JSON.stringify(said)) };
}

function createHandling({ c }: Call, once: Once, contextId: string | undefined): Handling {
	const kept = contextId === undefined ? {} : { kept: { contextId } };
	return { delivery: 'stream', format, once, origin: { ...readOrigin(c), ...kept } };
}

interface Opening extends Pick<FoundTask, 'session' | 'caller'> {
	readonly contextId: string;
	/** The task that the message names. */
	readonly head?: TaskHead;
}

async function openRun({ c }: Call, outcome: RunOutcome, { session, caller, contextId, head }: Opening): Promise<Sent> {
	if (outcome.kind === 'failed') throw toError(outcome.error);
	if (outcome.kind !== 'stream') {
		if (head === undefined) throw new Error(`A message was answered by ${outcome.kind}.`);
		return { head, session, caller, run: head.run };
	}
	const { run, all } = await readStart(readRun(c, { session, caller, stream: outcome.stream }));
	return { head: head ?? { session: session.toString(), run, contextId }, session, caller, run, lines: all };
}
