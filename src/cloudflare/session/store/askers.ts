import { type Actor, isSamePerson } from '../../../core/base/actor.ts';
import { findOpenCalls, type GivenAnswer } from './calls.ts';
import { type Inbound, toAskers } from './inbound.ts';
import { type MessageRecord, messageStride } from './message-record.ts';
import type { RunRecord } from './runs.ts';
import type { SessionStore } from './store.ts';

/**
 * Lists those whose messages led to what the newest run asks, each once: who sent the message that it answers, and whoever
 * answered a question, gave the result of a call or wrote since. Who denied a call has asked for nothing. A message that only passes on what others began names them.
 */
export function listAskers(store: SessionStore): readonly Actor[] {
	const { records } = store.messages.page({ from: findBeginning(store) });
	const askers = new Map<string, Actor>();
	const { owner } = store.session();
	const answers = findOpenCalls(store).map(({ noted }) => noted?.inbound);
	const add = (one: Actor): void => {
		// The newest one comes last.
		askers.delete(JSON.stringify(one));
		askers.set(JSON.stringify(one), one);
	};
	for (const { inbound, decidedBy, isDenied } of records) {
		if (decidedBy !== undefined && isDenied !== true) add(decidedBy);
		if (inbound !== undefined) toAskers(inbound, owner).forEach(add);
	}
	for (const inbound of answers) if (inbound !== undefined) toAskers(inbound, owner).forEach(add);
	return [...askers.values()];
}

/**
 * Returns who decides, as the policies of agents are told. Somebody who is one of the askers, or whose link or token one of
 * them made, is that asker: a policy that compares actors in any way then finds them.
 */
export function toDecider(by: Actor, askers: readonly Actor[]): Actor {
	const own = { ...by, madeBy: undefined };
	const isAsker = (asker: Actor) => {
		const alone = { ...asker, madeBy: asker.user === undefined ? asker.madeBy : undefined };
		return isSamePerson(alone, own) || (by.madeBy !== undefined && isSamePerson(alone, by.madeBy));
	};
	return askers.find(isAsker) ?? by;
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

/** Returns who asks for a run that is about to be stored; nothing where what is stored says it. */
export function findAsker(
	store: SessionStore,
	{ inbound, answered }: { readonly inbound?: Inbound; readonly answered?: Pick<GivenAnswer, 'inbound'> },
): Actor | undefined {
	const newest = inbound ?? answered?.inbound;
	return newest && toAskers(newest, store.session().owner).at(-1);
}

/** Finds the message that started a run. Returns `undefined` for a run that continues another one. */
export function findInput(store: SessionStore, { n, firstSeq }: RunRecord): MessageRecord | undefined {
	const { records } = store.messages.page({ from: firstSeq, to: firstSeq + messageStride });
	return records.find((record) => record.run === n && isFromOutside(record));
}

/** Whether a message came from outside. The answer to a tool's question did, and the result of a call did not. */
export function isFromOutside({ message, input, inbound }: MessageRecord): boolean {
	return input === true && (message.role === 'user' || inbound !== undefined);
}
