import type { RunResult, TerminalEvent } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/ground/errors.ts';

/** Where a session stands (docs/sessions.md, "Statuses"). */
export type Status = 'idle' | 'running' | 'awaiting_user' | 'awaiting_tools' | 'completed' | 'error';

/** How a run stands: as its session, or how it ended. */
export type RunStatus = 'running' | RunResult['status'] | 'cancelled' | 'error';

/** What can be asked of a session. */
export type Operation = 'reply' | 'answer' | 'submit' | 'continue' | 'step' | 'cancel';

/** What each status allows. `cancel` is always allowed: where nothing runs it does nothing. */
const allowed: Readonly<Record<Status, readonly Operation[]>> = {
	idle: ['reply', 'cancel'],
	completed: ['reply', 'cancel'],
	running: ['cancel'],
	awaiting_user: ['reply', 'answer', 'cancel'],
	awaiting_tools: ['submit', 'cancel'],
	error: ['reply', 'continue', 'step', 'cancel'],
};

/** What a session that waits for no call any more allows, as after a step: it may go on. */
const afterStep: readonly Operation[] = ['continue', 'step', 'cancel'];

/** Throws `conflict` when the status does not allow the operation; the message says what it does allow. */
export function assertAllowed(status: Status, operation: Operation, hasOpenCalls = true): void {
	const possible = status === 'awaiting_tools' && !hasOpenCalls ? afterStep : allowed[status];
	if (possible.includes(operation)) return;
	const hint =
		status === 'awaiting_tools' && hasOpenCalls
			? ' It waits for results of calls: POST them to tool-results, or cancel drops them.'
			: '';
	throw new RunletError(
		'conflict',
		`The session is ${status}: ${operation} is not possible now. Possible: ${possible.join(', ')}.${hint}`,
		{ status, allowed: possible },
	);
}

/** Whether a message that waits may begin its run: a session that waits for somebody goes on waiting. */
export function canTakeNext(status: Status): boolean {
	return status === 'idle' || status === 'completed' || status === 'error';
}

/** The session's status after, or during, its newest run. */
export function sessionStatus(run: RunStatus | undefined): Status {
	switch (run) {
		case undefined:
		case 'cancelled':
			return 'idle';
		case 'halted':
			return 'completed';
		default:
			return run;
	}
}

/** The status of a run that ended with this event. */
export function toRunStatus(event: TerminalEvent): RunStatus {
	switch (event.type) {
		case 'done':
			return 'completed';
		case 'awaiting':
			return event.status;
		default:
			return event.type;
	}
}
