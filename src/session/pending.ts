import type { Message, Question, WaitingCall } from '../chat/index.ts';
import { openCalls } from '../chat/message.ts';
import type { ToolCall } from '../tool/index.ts';
import { hash } from '../tool/provider-name.ts';
import type { SessionStore } from './store.ts';
import { lastReply, whole } from './tail.ts';

/** What a session waits for, as its own record has it. */
export interface Pending {
	/** The last assistant message and the results behind it, or the last message. */
	readonly turn: readonly Message[];
	readonly question: Question | undefined;
	/** The calls that are still open; missing where the newest run left none. */
	readonly calls: readonly WaitingCall[] | undefined;
	/** When they were put before somebody, in milliseconds since 1970. */
	readonly askedAt: number;
}

/** What the newest run asked for, without what was answered since. */
export function pendingOf(store: SessionStore): Pending {
	const turn = lastTurn(store);
	const run = store.run();
	const last = run?.tail?.event;
	if (run === undefined || last?.type !== 'awaiting')
		return { turn, question: undefined, calls: undefined, askedAt: 0 };
	const event = whole(last, lastReply(store.messages({ from: store.lastTurn() }).records, run.n));
	const asked = event.type === 'awaiting' ? event : last;
	const open = new Set(openCalls(turn).map(({ id }) => id));
	for (const id of approvedCalls(store)) open.delete(id);
	const calls = asked.toolCalls?.filter(({ id }) => open.has(id));
	return { turn, question: asked.question, calls, askedAt: run.endedAt ?? 0 };
}

/** The messages of the last turn. */
export function lastTurn(store: SessionStore): readonly Message[] {
	return store.messages({ from: store.lastTurn() }).records.map(({ message }) => message);
}

/** The open calls of the last turn that were allowed with just these arguments. */
export function approvedCalls(store: SessionStore): readonly string[] {
	const approvals = store.approvals(store.lastTurn());
	const open = approvals.size === 0 ? [] : openCalls(lastTurn(store));
	return open.filter((call) => approvals.get(call.id) === argumentsHash(call)).map(({ id }) => id);
}

/** What an approval is bound to beside the call's id: the arguments that were put before the person. */
export function argumentsHash({ name, input }: ToolCall): string {
	return hash(JSON.stringify([name, input]));
}
