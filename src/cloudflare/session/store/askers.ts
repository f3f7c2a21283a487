import { type Actor, isSamePerson } from '../../../core/base/actor.ts';
import { findOpenCalls } from './calls.ts';
import { toAskers } from './inbound.ts';
import { type MessageRecord, messageStride, sortByStoring } from './messages.ts';
import type { RunRecord } from './runs.ts';
import type { SessionStore } from './store.ts';

/**
 * Lists the actors whose messages led to the newest run, each once, the newest last: the sender of the message that the
 * run answers, and everybody who later answered a question, gave a call's result or sent a message. A person who denied
 * a call is not an asker. A forwarded message counts for its first senders.
 */
export function listAskers(store: SessionStore): readonly Actor[] {
	const { records } = store.messages.page({ from: findBeginning(store) });
	const askers = new Map<string, Actor>();
	const { owner } = store.session();
	const add = (asker: Actor): void => {
		askers.delete(JSON.stringify(asker));
		askers.set(JSON.stringify(asker), asker);
	};
	for (const { inbound, decidedBy, isDenied } of sortByStoring(records)) {
		if (decidedBy !== undefined && isDenied !== true) add(decidedBy);
		if (inbound !== undefined) toAskers(inbound, owner).forEach(add);
	}
	for (const { noted } of findOpenCalls(store))
		if (noted?.inbound !== undefined) toAskers(noted.inbound, owner).forEach(add);
	return [...askers.values()];
}

/**
 * Returns the person who decides, for the policies of agents. If the person is one of the askers, or uses a link or
 * token of an asker, that asker is returned, so that a policy can compare the actors.
 */
export function toDecider(by: Actor, askers: readonly Actor[]): Actor {
	const own = { ...by, madeBy: undefined };
	const isAsker = (asker: Actor) => {
		const alone = { ...asker, madeBy: asker.user === undefined ? asker.madeBy : undefined };
		return isSamePerson(alone, own) || (by.madeBy !== undefined && isSamePerson(alone, by.madeBy));
	};
	return askers.find(isAsker) ?? by;
}

/** Finds the place of the user message that the newest run answers, possibly as the continuation of earlier runs. */
function findBeginning(store: SessionStore): number {
	for (let n = store.runs.get()?.n ?? 0; n > 0; n--) {
		const run = store.runs.get(n);
		const input = run && findInput(store, run);
		if (input?.message.role === 'user') return input.seq;
	}
	return 0;
}

/** Finds the message that started a run. Returns nothing for a run that continues another run. */
export function findInput(store: SessionStore, { n, firstSeq }: RunRecord): MessageRecord | undefined {
	const { records } = store.messages.page({ from: firstSeq, to: firstSeq + messageStride });
	return records.find((record) => record.run === n && isFromOutside(record));
}

/** Whether a message came from outside, such as the answer to a tool's question. A call's result does not count. */
export function isFromOutside({ message, input, inbound }: MessageRecord): boolean {
	return input === true && (message.role === 'user' || inbound !== undefined);
}
