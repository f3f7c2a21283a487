import type { Person } from '../../agent/approvers.ts';
import type { SessionStore } from '../store/store.ts';
import { findInput } from './posted.ts';

/**
 * Lists those whose messages led to what the newest run asks: who sent the message that it answers, and whoever answered a
 * question or wrote since.
 */
export function listAskers(store: SessionStore): readonly Person[] {
	const { records } = store.messages.page({ from: findBeginning(store) });
	const askers = records.flatMap(({ inbound }) => inbound ?? []);
	return askers.map(({ by, sender: id }) => by ?? { via: 'sender', id });
}

/** Finds the place of the message that the newest run answers. The answer to a question continues an earlier run. */
function findBeginning(store: SessionStore): number {
	for (let n = store.runs.get()?.n ?? 0; n > 0; n--) {
		const run = store.runs.get(n);
		const input = run && findInput(store, run);
		if (input?.message.role === 'user') return input.seq;
	}
	return 0;
}
