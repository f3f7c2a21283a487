import { readCallAnswers } from '../../../core/chat/call-answers.ts';
import type { Message } from '../../../core/chat/index.ts';
import { findPending } from '../store/calls.ts';
import type { SessionStore } from '../store/store.ts';
import { type BeginOptions, toDecided } from './begin.ts';

/** Begins the run of a session. */
interface Beginner {
	readonly begin: (given: readonly Message[], how: BeginOptions) => unknown;
}

/** Denies all open approvals. Begins the next run if no other call is open. */
export function denyLate(store: SessionStore, runner: Beginner): void {
	const pending = findPending(store);
	const denied = (pending.calls ?? []).flatMap(({ id, kind }) => (kind === 'approval' ? id : []));
	const answers = denied.map((id) => ({ id, approve: false, reason: 'nobody decided in time.' }));
	const { messages, isLast } = readCallAnswers(pending, answers, { approvalMs: 0, everAsked: new Set() });
	if (isLast) {
		runner.begin(messages, { denied });
		return;
	}
	store.transaction(() => {
		for (const message of messages)
			store.messages.add(store.nextRun, message, Date.now(), { input: true, ...toDecided(message, { denied }) });
		store.untold.noteWait();
	});
}
