import { expect, test } from 'vitest';
import {
	assertAllowed,
	type Operation,
	type Status,
	sessionStatus,
	toRunStatus,
} from '../../../src/cloudflare/session/store/status.ts';
import { RunletError } from '../../../src/core/base/errors.ts';

const operations: readonly Operation[] = ['reply', 'answer', 'submit', 'continue', 'step', 'cancel'];

/** The table of docs/sessions.md, "Statuses", row by row. */
const table: Readonly<Record<Status, readonly Operation[]>> = {
	idle: ['reply', 'cancel'],
	completed: ['reply', 'cancel'],
	running: ['cancel'],
	awaiting_user: ['reply', 'answer', 'cancel'],
	awaiting_tools: ['submit', 'cancel'],
	error: ['reply', 'continue', 'step', 'cancel'],
};

const routes: Readonly<Record<Operation, string>> = {
	reply: 'POST messages',
	answer: 'POST answer',
	submit: 'POST tool-results',
	continue: 'POST continue',
	step: 'POST step',
	cancel: 'POST cancel',
};

for (const status of Object.keys(table) as Status[]) {
	test(`a session that is ${status} allows ${table[status].join(', ')} and refuses the rest with the allowed operations`, () => {
		for (const operation of operations) {
			if (table[status].includes(operation)) {
				expect(() => assertAllowed(status, operation)).not.toThrow();
				continue;
			}
			expect(() => assertAllowed(status, operation)).toThrow(RunletError);
			expect(() => assertAllowed(status, operation)).toThrow(
				new RegExp(
					`${status}: ${routes[operation]} is not possible now. Possible: ${table[status].map((one) => routes[one]).join(', ')}\\.`,
				),
			);
		}
	});
}

test('a refusal names at most five calls that wait for an approval, and five that wait for a result', () => {
	const results = Array.from({ length: 7 }, (_, n) => ({ id: `r${n}` }));
	expect(() => assertAllowed('awaiting_tools', 'reply', [{ id: 'pay', kind: 'approval' }, ...results])).toThrow(
		'Possible: POST tool-results, POST cancel. Waiting for the approval of "pay". Waiting for the result of "r0", "r1", "r2", "r3", "r4" and 2 more.',
	);
	expect(() => assertAllowed('awaiting_tools', 'reply', [])).toThrow(
		/Possible: POST continue, POST step, POST cancel\.$/,
	);
});

test('the last event of a run decides its status and the status of the session', () => {
	expect(sessionStatus(toRunStatus({ type: 'done', text: '', usage: {} }))).toBe('completed');
	expect(sessionStatus(toRunStatus({ type: 'awaiting', status: 'awaiting_user' }))).toBe('awaiting_user');
	expect(sessionStatus(toRunStatus({ type: 'awaiting', status: 'awaiting_tools' }))).toBe('awaiting_tools');
	expect(sessionStatus(toRunStatus({ type: 'halted', reason: 'x' }))).toBe('completed');
	expect(sessionStatus(toRunStatus({ type: 'cancelled' }))).toBe('idle');
	expect(sessionStatus(toRunStatus({ type: 'error', code: 'x', message: 'y' }))).toBe('error');
	expect(sessionStatus(undefined)).toBe('idle');
});
