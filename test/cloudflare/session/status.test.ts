import { expect, test } from 'vitest';
import {
	assertAllowed,
	type Operation,
	type Status,
	sessionStatus,
	toRunStatus,
} from '../../../src/cloudflare/session/store/status.ts';
import { RunletError } from '../../../src/core/ground/errors.ts';

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

for (const status of Object.keys(table) as Status[]) {
	test(`a session that is ${status} allows ${table[status].join(', ')} and refuses the rest as a conflict that says so`, () => {
		for (const operation of operations) {
			if (table[status].includes(operation)) {
				expect(() => assertAllowed(status, operation)).not.toThrow();
				continue;
			}
			expect(() => assertAllowed(status, operation)).toThrow(RunletError);
			expect(() => assertAllowed(status, operation)).toThrow(
				new RegExp(`${status}.*Possible: ${table[status].join(', ')}`),
			);
		}
	});
}

test('a run ends with the status that its last event says, and the session follows', () => {
	expect(sessionStatus(toRunStatus({ type: 'done', text: '', usage: {} }))).toBe('completed');
	expect(sessionStatus(toRunStatus({ type: 'awaiting', status: 'awaiting_user' }))).toBe('awaiting_user');
	expect(sessionStatus(toRunStatus({ type: 'awaiting', status: 'awaiting_tools' }))).toBe('awaiting_tools');
	expect(sessionStatus(toRunStatus({ type: 'halted', reason: 'x' }))).toBe('completed');
	expect(sessionStatus(toRunStatus({ type: 'cancelled' }))).toBe('idle');
	expect(sessionStatus(toRunStatus({ type: 'error', code: 'x', message: 'y' }))).toBe('error');
	expect(sessionStatus(undefined)).toBe('idle');
});
