import { RunletError } from '../../../core/base/errors.ts';
import type { RunResult, TerminalEvent } from '../../../core/chat/index.ts';

/** The status of a session (docs/sessions.md, "Statuses"). */
export type Status = 'idle' | 'running' | 'awaiting_user' | 'awaiting_tools' | 'completed' | 'error';

export type RunStatus = 'running' | RunResult['status'] | 'cancelled' | 'error';

export type Operation = 'reply' | 'answer' | 'submit' | 'continue' | 'step' | 'cancel';

const allowed: Readonly<Record<Status, readonly Operation[]>> = {
	idle: ['reply', 'cancel'],
	completed: ['reply', 'cancel'],
	running: ['cancel'],
	awaiting_user: ['reply', 'answer', 'cancel'],
	awaiting_tools: ['submit', 'cancel'],
	error: ['reply', 'continue', 'step', 'cancel'],
};

/** The operations of a waiting session without open calls, such as after a step. */
const afterStep: readonly Operation[] = ['continue', 'step', 'cancel'];

const routes: Readonly<Record<Operation, string>> = {
	reply: 'POST messages',
	answer: 'POST answer',
	submit: 'POST tool-results',
	continue: 'POST continue',
	step: 'POST step',
	cancel: 'POST cancel',
};

type OpenCall = { readonly id: string; readonly kind?: 'approval' };

/** Throws `conflict` if the status does not allow the operation. The message lists the allowed operations. */
export function assertAllowed(status: Status, operation: Operation, openCalls?: readonly OpenCall[]): void {
	const possible = status === 'awaiting_tools' && openCalls?.length === 0 ? afterStep : allowed[status];
	if (possible.includes(operation)) return;
	const hint = status === 'awaiting_tools' ? describeWaiting(openCalls ?? []) : '';
	const names = possible.map((name) => routes[name]).join(', ');
	throw new RunletError(
		'conflict',
		`The session is ${status}: ${routes[operation]} is not possible now. Possible: ${names}.${hint}`,
		{ status, allowed: possible },
	);
}

const mostNamed = 5;

function describeWaiting(calls: readonly OpenCall[]): string {
	const say = (what: string, waiting: readonly OpenCall[]): string => {
		if (waiting.length === 0) return '';
		const ids = waiting.slice(0, mostNamed).map(({ id }) => JSON.stringify(id.slice(0, 64)));
		const rest = waiting.length > mostNamed ? ` and ${waiting.length - mostNamed} more` : '';
		return ` Waiting for ${what} of ${ids.join(', ')}${rest}.`;
	};
	const approvals = calls.filter(({ kind }) => kind === 'approval');
	const results = calls.filter(({ kind }) => kind !== 'approval');
	return `${say('the approval', approvals)}${say('the result', results)}`;
}

export function canTakeNext(status: Status): boolean {
	return status === 'idle' || status === 'completed' || status === 'error';
}

export function isWaiting(status: Status): boolean {
	return status === 'awaiting_user' || status === 'awaiting_tools';
}

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
