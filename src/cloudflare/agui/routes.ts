import type { Context } from 'hono';
import { hashText } from '../../core/base/bytes.ts';
import { RunletError } from '../../core/base/errors.ts';
import { LineSplitter } from '../../core/base/text.ts';
import type { RunEvent, TerminalEvent } from '../../core/chat/index.ts';
import type { TaskList } from '../../core/tool/index.ts';
import { type Agent, findAgent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { listToolNames } from '../agent/tool-names.ts';
import type { Bytes, RpcResult } from '../objects/reach.ts';
import type { Caller, CreateInput, Handling, SessionApi, SessionState } from '../objects/session-api.ts';
import { findChat } from '../routes/find-chat.ts';
import type { RouteEnv } from '../routes/identity.ts';
import { mount, readHandling } from '../routes/request.ts';
import { askSession, toEventStream } from '../routes/respond.ts';
import type { AguiInput } from '../wire/agui.ts';
import { runAgui } from '../wire/endpoints/agui.ts';
import type { shownMessage } from '../wire/message.ts';
import type { Shown } from '../wire/operation.ts';
import { readTools } from '../wire/protocols/client-tools.ts';
import { toAguiMessages } from './history.ts';
import { type NewPart, readNewPart } from './request.ts';
import { type AguiEvent, type AguiHead, AguiWriter } from './writer.ts';

/** `/v1/ag-ui/:agent`: for clients of AG-UI (docs/ag-ui.md). Each thread or session token has its own session. */
export function createAguiRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(runAgui, async (c) => {
			const body = c.req.valid('json');
			const thread = { ...findChat(c, 'ag-ui', body.threadId), agent: findAgent(agents, c.req.param('agent')) };
			const part = readNewPart(body);
			const ask = <T>(call: (one: SessionApi) => Promise<RpcResult<T>>) => askSession(c, thread.id, call, true);
			const head = {
				threadId: body.threadId,
				runId: body.runId,
				isCurrent: body.protocolVersion != null,
				sessionId: thread.id.toString(),
				messages: body.messages,
				tools: new Set((body.tools ?? []).map(({ name }) => name)),
				given: part.given,
				state: body.state,
			};
			const stream = await send(ask, { thread, part, body, how: createHandling(c, body, part) });
			const answer =
				stream === undefined ? await showThread(ask, thread, head) : toBytes(new AguiWriter(head), { stream });
			return toEventStream(answer, { 'runlet-session': head.sessionId });
		}),
	];
}

type Ask = <T>(call: (one: SessionApi) => Promise<RpcResult<T>>) => Promise<T>;

interface Thread {
	readonly caller: Caller;
	readonly agent: Agent;
	/** The values of a session that does not exist yet. Missing for the id of a session. */
	readonly create?: Pick<CreateInput, 'owner' | 'user' | 'by'>;
}

/**
 * The client's id of the run makes the key of the request, with the new part: some clients use the id again when they
 * send results. The key has a space, so it is no client's `Idempotency-Key`.
 */
function createHandling(c: Context<RouteEnv>, { runId }: AguiInput, { message, answers, answer }: NewPart): Handling {
	const { origin, once } = readHandling(c, runId);
	const whose = c.var.identity.kind === 'token' ? 'token ag-ui' : 'ag-ui';
	const said = [c.req.path, runId, message?.messageId, message?.text, answers, answer];
	const request = hashText(JSON.stringify(said));
	const own = { key: `${whose} ${request}`, request };
	return { delivery: 'stream', format: { type: 'events' }, origin, once: once ?? own };
}

interface Sending {
	readonly thread: Thread;
	readonly part: NewPart;
	readonly body: AguiInput;
	readonly how: Handling;
}

/** Sends the new part of a thread. Returns the events of its run, or nothing if it begins no run. */
async function send(
	ask: Ask,
	{ thread: { caller, agent, create }, part, body, how }: Sending,
): Promise<Bytes | undefined> {
	const { message, answers, results, answer } = part;
	if (answer !== undefined) {
		const { callId, text } = answer;
		return readStream(await ask((one) => one.answer(caller, { text, callId, transport: 'ag-ui' }, how)));
	}
	if (message === undefined && answers.length === 0) return undefined;
	const about = { agent: agent.name, clientTools: listClientTools(body, agent) };
	if (message === undefined) return readStream(await ask((one) => one.post(caller, { ...about, answers }, how)));
	const input = { ...message, transport: 'ag-ui' };
	if (results.length > 0) {
		const update = { ...about, input, results };
		const outcome = await orUndefined(
			ask((one) => one.converse(caller, update, how)),
			'conflict',
		);
		if (outcome !== undefined) return readStream(outcome);
		// The session has the results already.
	}
	const post = { ...about, input: { ...input, ...(create && { create: { agent: agent.name, ...create } }) } };
	return readStream(await ask((one) => one.post(caller, post, how)));
}

function readStream(outcome: { readonly kind: string; readonly stream?: Bytes }): Bytes | undefined {
	return outcome.stream;
}

function listClientTools({ tools }: AguiInput, agent: Agent) {
	const given = (tools ?? []).map(({ name, description, parameters }, index) => {
		const at = `tools.${index}`;
		return { name, description, inputSchema: parameters, namePath: `${at}.name`, schemaPath: `${at}.parameters` };
	});
	return readTools(given, { name: agent.name, toolNames: listToolNames(agent) });
}

interface MessagePage {
	readonly messages: readonly Shown<typeof shownMessage>[];
}

interface TaskPage {
	readonly lists: readonly TaskList[];
}

/** Shows a thread without a new message: its messages, its task lists, and its current run or what it waits for. */
async function showThread(ask: Ask, { caller, agent }: Thread, head: AguiHead): Promise<Bytes> {
	const reading = ask((one) => one.state(caller));
	const state = await ('owner' in caller ? orUndefined(reading, 'not_found') : reading);
	if (state === undefined) return toBytes(new AguiWriter(head), { end: { type: 'done', text: '', usage: {} } });
	if (state.agent !== agent.name) throw new RunletError('not_found', 'There is no such session.');
	const isRunning = state.status === 'running';
	const [page, tasks, stream] = await Promise.all([
		ask((one) => one.messages(caller, { order: 'desc', limit: 500 })).then(readJson<MessagePage>),
		ask((one) => one.tasks(caller)).then(readJson<TaskPage>),
		isRunning ? ask((one) => one.events(caller, undefined, { type: 'events' })) : undefined,
	]);
	const messages = toAguiMessages(page.messages.toReversed(), {
		without: isRunning ? state.run?.id : undefined,
		known: head.messages,
	});
	return toBytes(new AguiWriter({ ...head, messages }), { shown: tasks, stream, end: toEnd(state) });
}

function readJson<T>(bytes: Bytes): Promise<T> {
	return new Response(bytes).json<T>();
}

/** Returns the end that a session's newest run has had. */
function toEnd({ status, question, toolCalls, error }: SessionState): TerminalEvent {
	switch (status) {
		case 'awaiting_user':
		case 'awaiting_tools':
			return { type: 'awaiting', status, question, toolCalls };
		case 'error':
			return { type: 'error', code: 'error', message: 'The run failed.', ...error };
		default:
			return { type: 'done', text: '', usage: {} };
	}
}

interface Opening {
	/** What the client gets first, with the messages of the writer. */
	readonly shown?: TaskPage;
	/** The lines of a run. Missing if there is no run to follow. */
	readonly stream?: Bytes;
	/** How the answer ends without a run. */
	readonly end?: TerminalEvent;
}

type Line =
	| { readonly event: RunEvent; readonly closed?: undefined }
	| { readonly closed: { readonly code: string; readonly message: string } };

/** Writes an answer: its first event at once, and then the events of the run. A client that leaves ends only the stream. */
function toBytes(writer: AguiWriter, { shown, stream, end }: Opening): Bytes {
	const encoder = new TextEncoder();
	const decoder = new TextDecoder();
	const splitter = new LineSplitter();
	const reader = stream?.getReader();
	const format = (events: readonly AguiEvent[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
	const translate = (line: string): string => {
		if (line.startsWith(':')) return ': keep-alive\n\n';
		const read: Line = JSON.parse(line);
		return format(writer.write(read.closed ? { type: 'error', ...read.closed } : read.event));
	};
	return new ReadableStream({
		start: (controller) => {
			controller.enqueue(encoder.encode(format(writer.start(shown))));
		},
		pull: async (controller) => {
			for (;;) {
				// A stream that breaks off ends, too: the writer says so.
				const read = await reader?.read().catch(() => undefined);
				if (read === undefined || read.done) {
					const last = reader === undefined && end !== undefined ? writer.write(end) : writer.end();
					controller.enqueue(encoder.encode(format(last)));
					controller.close();
					return;
				}
				const text = splitter
					.push(decoder.decode(read.value, { stream: true }))
					.map(translate)
					.join('');
				if (text === '') continue;
				controller.enqueue(encoder.encode(text));
				return;
			}
		},
		cancel: (reason) => reader?.cancel(reason),
	});
}

/** Returns undefined for an error with this code. */
async function orUndefined<T>(answer: Promise<T>, code: string): Promise<T | undefined> {
	try {
		return await answer;
	} catch (error) {
		if (error instanceof RunletError && error.code === code) return undefined;
		throw error;
	}
}
