import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { isTerminal } from '../../core/chat/event.ts';
import type { TerminalEvent } from '../../core/chat/index.ts';
import type { Right } from '../auth/rights.ts';
import type { Once } from '../objects/once.ts';
import type { Bytes } from '../objects/reach.ts';
import type { Caller, FoundRun, PageQuery, ReceiverChange } from '../objects/session-api.ts';
import { getCaller } from '../routes/identity.ts';
import { askSession, toSessionId } from '../routes/respond.ts';
import { format, readRun } from '../routes/run-lines.ts';
import { formatEventId, parseEventId, toStart } from '../session/events/log.ts';
import type { shownMessage } from '../wire/message.ts';
import type { Shown } from '../wire/operation.ts';
import { createRpcError } from '../wire/protocols/a2a/error.ts';
import { formatTaskId, parseTaskId } from '../wire/protocols/a2a/ids.ts';
import type { Message } from '../wire/protocols/a2a/message.ts';
import type { PushConfig } from '../wire/protocols/a2a/params.ts';
import { createMessage, showEnded, showHead, type TaskHead } from '../wire/protocols/a2a/show.ts';
import type { Task } from '../wire/protocols/a2a/task.ts';
import { TaskWriter } from '../wire/protocols/a2a/writer.ts';
import type { Call } from './call.ts';
import type { Updates } from './stream.ts';

/** A task with its session. */
export interface FoundTask {
	readonly head: TaskHead;
	readonly session: DurableObjectId;
	readonly caller: Caller;
	readonly run: FoundRun;
}

/** Finds a task of the agent by its id, for a caller with a right. Throws `not_found`. */
export async function findTask(
	{ c, agent }: Pick<Call, 'c' | 'agent'>,
	id: string,
	right: Right = 'readSession',
	once?: Once,
): Promise<FoundTask> {
	const place = parseTaskId(id);
	if (place === undefined) throw createUnknown();
	const session = toSessionId(c, place.session);
	const caller = getCaller(c, place.session);
	const run = await askSession(c, session, (one) => one.findRun(caller, place.run, right, once), true);
	if (run.agent !== agent.name || run.chain.first !== place.run) throw createUnknown();
	return { head: { ...place, contextId: readContext(run) ?? place.session }, session, caller, run };
}

function createUnknown(): RunletError {
	return new RunletError('not_found', 'There is no such task.');
}

/** Returns the name that the client gave the context of a run. */
export function readContext({ kept }: Pick<FoundRun, 'kept'>): string | undefined {
	return typeof kept?.contextId === 'string' ? kept.contextId : undefined;
}

/** Returns whether a task has ended, so that nothing can go on with it. */
export function isOver({ chain: { status } }: Pick<FoundRun, 'chain'>): boolean {
	return status !== 'running' && !isWaiting({ chain: { status } });
}

export function isWaiting({ chain: { status } }: { readonly chain: Pick<FoundRun['chain'], 'status'> }): boolean {
	return status === 'awaiting_user' || status === 'awaiting_tools';
}

interface Showing {
	/** The most messages of the history. */
	readonly historyLength?: number;
	/** Whether the history is shown where its length is not given. */
	readonly hasHistory?: boolean;
	readonly hasContent?: boolean;
}

/** Shows a task as it stands. The answer of a run that goes on comes at its end. */
export async function showTask(
	call: Pick<Call, 'c'>,
	found: FoundTask,
	{ historyLength, hasHistory = false, hasContent = true }: Showing,
): Promise<Task> {
	const { head, run } = found;
	const { status, last, since } = run.chain;
	const end = hasContent && status !== 'running' ? await readEnd(call, found) : undefined;
	const task = end === undefined ? showHead(head, run.chain) : showEnded(head, end, last, since);
	const length = historyLength ?? (hasHistory ? mostMessages : 0);
	return length === 0 ? task : { ...task, history: (await readHistory(call, found)).slice(-length) };
}

/** A turn that no run reaches. */
const farTurn = 1e12;

/** Reads the last event of a task's last run. */
async function readEnd({ c }: Pick<Call, 'c'>, { session, caller, run }: FoundTask): Promise<TerminalEvent> {
	const from = formatEventId({ ...toStart(run.chain.last), turn: farTurn });
	const stream = await askSession(c, session, (one) => one.events(caller, from, format), true);
	if (stream !== undefined)
		for await (const line of readRun(c, { session, caller, stream }))
			if ('event' in line && isTerminal(line.event)) return line.event;
	throw new Error('A run that has ended has no last event.');
}

type StoredMessage = Shown<typeof shownMessage>;

const mostMessages = 1_000;

/** Reads the messages of a task, the oldest first. The answer is an artifact, and no message. */
async function readHistory({ c }: Pick<Call, 'c'>, { head, session, caller, run }: FoundTask): Promise<Message[]> {
	const { first, last } = run.chain;
	const end =
		first === last ? run : await askSession(c, session, (one) => one.findRun(caller, last, 'readSession'), true);
	const found: Message[] = [];
	let isInLast = false;
	let next: string | undefined = String(run.first);
	while (next !== undefined && found.length < mostMessages) {
		const page: PageQuery = { cursor: Number(next), limit: 100, order: 'asc' };
		const bytes: Bytes = await askSession(c, session, (one) => one.messages(caller, page), true);
		const { messages, cursor }: { messages: StoredMessage[]; cursor?: string } = await new Response(bytes).json();
		for (const message of messages) {
			isInLast ||= message.runId === end.id;
			// Results of the last run stand among results of the run before.
			if (isInLast && message.role === 'user' && message.runId !== end.id) return found;
			const shown = message.isReplaced === true ? undefined : toMessage(message, head);
			if (shown !== undefined) found.push(shown);
		}
		next = cursor;
	}
	return found;
}

/** Converts what a person or the agent said. The answer of the agent has no calls. */
function toMessage(message: StoredMessage, head: TaskHead): Message | undefined {
	const { role, content } = message;
	const parts = typeof content === 'string' ? (content === '' ? [] : [{ text: content }]) : [{ data: content }];
	const attached = (message.attachments ?? []).map(({ name: filename, type: mediaType, ...rest }) => ({
		data: { filename, ...rest },
		filename,
		mediaType,
	}));
	const all = [...parts, ...attached];
	if (all.length === 0) return undefined;
	if (role === 'assistant')
		return (message.toolCalls ?? []).length === 0 ? undefined : createMessage(head, message.id, all);
	if (message.isInput !== true || role === 'system') return undefined;
	const own = createMessage(head, message.id, all);
	return { ...own, role: 'ROLE_USER', ...(role === 'user' && message.messageId && { messageId: message.messageId }) };
}

/** Cancels a task that runs or waits. */
export async function cancelTask(call: Call, found: FoundTask): Promise<Task> {
	const { c } = call;
	const { head, session, caller, run } = found;
	if (isOver(run)) throw createRpcError('taskNotCancelable', 'The task has ended already.');
	await askSession(c, session, (one) => one.cancel(caller), true);
	return showTask(call, await findTask(call, formatTaskId(head)), {});
}

/** Opens the updates of a task, behind the place in the header `Last-Event-ID`. */
export async function openTask(call: Call, found: FoundTask): Promise<Updates> {
	const { c, agent } = call;
	const { head, session, caller, run } = found;
	if (isOver(run)) throw createRpcError('unsupportedOperation', 'The task has ended. Use GetTask.');
	if (isWaiting(run)) return { task: await showTask(call, found, {}) };
	const { first, last } = run.chain;
	const seen = c.req.header('last-event-id')?.trim();
	const place = seen ? parseEventId(seen) : toStart(last);
	if (place.run < first || place.run > last)
		throw createFieldError('invalid_request', 'Last-Event-ID', 'this task has no such event.');
	const from = formatEventId(place);
	const stream = await askSession(c, session, (one) => one.events(caller, from, format), true);
	if (stream === undefined) throw new Error('A run has no events.');
	const hasText = place.run === last && place.text > 0;
	const writer = new TaskWriter({ head, run: last, isJson: agent.outputSchema !== undefined, hasText });
	return { task: showHead(head, run.chain), run: { lines: readRun(c, { session, caller, stream }), writer } };
}

/** Lists where the updates of a task are posted, after a change. */
export function askReceivers(
	{ c }: Pick<Call, 'c'>,
	{ head, session, caller }: Pick<FoundTask, 'head' | 'session' | 'caller'>,
	change?: { readonly put: PushConfig } | { readonly remove: string },
): Promise<readonly PushConfig[]> {
	const { run, contextId } = head;
	const whole: ReceiverChange | undefined =
		change !== undefined && 'put' in change ? { put: { ...change.put, contextId } } : change;
	return askSession(c, session, (one) => one.receivers(caller, run, whole), true);
}
