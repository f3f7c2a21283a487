import type { Person } from '../../auth/person.ts';
import { findInput } from './input.ts';
import type { SessionStore } from './store.ts';

/**
 * Lists those whose messages led to what the newest run asks, each once: who sent the message that it answers, and whoever
 * answered a question or wrote since. A message that only passes on what others began names them.
 */
export function listAskers(store: SessionStore): readonly Person[] {
	const { records } = store.messages.page({ from: findBeginning(store) });
	const askers = new Map<string, Person>();
	for (const { inbound } of records) {
		if (inbound === undefined) continue;
		const { by, sender: id, askers: behind = [by ?? ({ via: 'sender', id } as const)] } = inbound;
		for (const one of behind) askers.set(JSON.stringify([one.via, one.id]), one);
	}
	return [...askers.values()];
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
