import type { TerminalEvent, WaitingCall } from '../../../../core/chat/index.ts';
import { formatTaskId, type TaskPlace } from './ids.ts';
import type { Message, Part } from './message.ts';
import type { Artifact, Task, TaskState } from './task.ts';

/** A task, and the context that its client knows. */
export interface TaskHead extends TaskPlace {
	readonly contextId: string;
}

export type RunStatus = 'running' | 'completed' | 'awaiting_user' | 'awaiting_tools' | 'cancelled' | 'halted' | 'error';

interface Since {
	readonly status: RunStatus;
	/** When the status began, in milliseconds since 1970. */
	readonly since: number;
}

/** The name and the id of the artifact with the answer. */
export const answerName = 'answer';

const states: Readonly<Record<RunStatus, TaskState>> = {
	running: 'TASK_STATE_WORKING',
	completed: 'TASK_STATE_COMPLETED',
	awaiting_user: 'TASK_STATE_INPUT_REQUIRED',
	awaiting_tools: 'TASK_STATE_INPUT_REQUIRED',
	cancelled: 'TASK_STATE_CANCELED',
	halted: 'TASK_STATE_FAILED',
	error: 'TASK_STATE_FAILED',
};

/** Returns the state of a task, by the status of its last run. */
export function toState(status: RunStatus): TaskState {
	return states[status];
}

/** Shows a task without its content. */
export function showHead(head: TaskHead, { status, since }: Since): Task {
	const timestamp = new Date(since).toISOString();
	return { id: formatTaskId(head), contextId: head.contextId, status: { state: toState(status), timestamp } };
}

/**
 * Shows a task whose last run has ended.
 *
 * @param run the number of the last run
 * @param since when the run ended, in milliseconds since 1970
 */
export function showEnded(head: TaskHead, event: TerminalEvent, run: number, since: number): Task {
	const task = showHead(head, { status: toStatus(event), since });
	const parts = describeEnd(event);
	const message = parts && createMessage(head, `${run}.end`, parts);
	const artifact = toAnswer(event);
	return {
		...task,
		status: { ...task.status, ...(message && { message }) },
		...(artifact && { artifacts: [artifact] }),
	};
}

/** Shows what an agent says. `name` makes the id of the message, within the task. */
export function createMessage(head: TaskHead, name: string, parts: readonly Part[]): Message {
	const taskId = formatTaskId(head);
	const about = { taskId, contextId: head.contextId };
	return { messageId: `${taskId} ${name}`, ...about, role: 'ROLE_AGENT', parts: [...parts] };
}

/** Returns the artifact with the answer of a run. Undefined without an answer. */
export function toAnswer(event: TerminalEvent): Artifact | undefined {
	if (event.type !== 'done') return undefined;
	const { text, output } = event;
	const parts = output !== undefined ? [toData(output)] : text === '' ? [] : [{ text }];
	return parts.length === 0 ? undefined : { artifactId: answerName, name: answerName, parts };
}

export function toData(data: unknown): Part {
	return { data, mediaType: 'application/json' };
}

function toStatus(event: TerminalEvent): RunStatus {
	if (event.type === 'done') return 'completed';
	return event.type === 'awaiting' ? event.status : event.type;
}

/** Says why a run ended without an answer, or what it waits for. */
function describeEnd(event: TerminalEvent): Part[] | undefined {
	switch (event.type) {
		case 'awaiting': {
			const { question, toolCalls = [] } = event;
			const asked = question && [{ text: question.question }, toData({ question })];
			return asked ?? [{ text: toolCalls.map(describeCall).join('\n') }, toData({ toolCalls })];
		}
		case 'halted':
			return [{ text: event.reason }];
		case 'error':
			return [{ text: event.message }, toData({ code: event.code })];
		default:
			return undefined;
	}
}

function describeCall({ id, name, kind, preview }: WaitingCall): string {
	const [what, answer] =
		kind === 'approval' ? ['an approval', { id, approve: true }] : ['its result', { id, output: '…' }];
	const shown = preview === undefined ? '' : ` It would do this: ${preview}`;
	return `${name} waits for ${what}. Answer with the data ${JSON.stringify(answer)}.${shown}`;
}
