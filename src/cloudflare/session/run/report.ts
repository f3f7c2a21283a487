import type { TerminalEvent } from '../../../core/chat/index.ts';
import type { Actor } from '../../../core/ground/actor.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { Config } from '../../config/config.ts';
import { reach } from '../../objects/reach.ts';
import { takeValue } from '../../objects/result.ts';
import { showError } from '../../wire/shown-error.ts';
import { listAskers } from '../store/askers.ts';
import { findLastReply } from '../store/messages.ts';
import { restoreText } from '../store/run-end.ts';
import type { SessionStore } from '../store/store.ts';
import { readBudgetState } from './budget-state.ts';

/** How long a parent may take to store what it is told, in milliseconds. */
const parentLimitMs = 10_000;

/**
 * Tells the parent of a session that works in the background what came of a run, as a message that begins a run there or
 * is taken up by the one that goes on. The parent takes it once. The report has the cost of all children, so
 * this throws while one is unknown, and where the parent cannot be told now.
 */
export async function tellParent(store: SessionStore, sessions: Config['sessions'], n: number): Promise<void> {
	if (!store.exists()) return;
	const { id, owner, user, agent, parent } = store.session();
	const by: Actor = { owner, ...(user !== undefined && { user }), via: 'child', id };
	const run = store.runs.get(n);
	if (run?.end === undefined || parent === undefined) return;
	const event = restoreText(run.end.event, findLastReply(store.findRunMessages(n, run.firstSeq), n));
	if (store.calls.children.listOpen().length > 0)
		throw new RunletError('overloaded', 'A session that works for this one has not ended.');
	const { spent } = readBudgetState(store, {});
	const text = `${agent} (session ${id}) ${toWords(event, run.id)}`;
	const input = { text, transport: 'agent', whenBusy: 'steer', isPatient: true } as const;
	const one = () => sessions.get(sessions.idFromString(parent.id));
	const how = { what: 'The session that this one works for', isSafe: true, timeoutMs: parentLimitMs };
	const message = { ...input, askers: listAskers(store), ofChild: { id, spent } };
	try {
		takeValue(await reach(() => one().send({ owner, by }, message, { delivery: 'accepted' }), how));
	} catch (cause) {
		// A parent that is gone removes its children. One whose agent is gone, which is the field then, may get it back.
		const isGone = cause instanceof RunletError && cause.code === 'not_found' && cause.data?.field === undefined;
		if (!isGone) throw cause;
	}
}

/** Says it to the parent's model, whose words customers read. */
function toWords(event: TerminalEvent, id: string): string {
	if (event.type === 'done') return `has finished its task:\n\n${event.text}`;
	const why = event.type === 'error' ? describeError(event, id) : event.type;
	return `did not finish its task (${event.type === 'halted' ? `halted: ${event.reason}` : why}).`;
}

function describeError(error: Extract<TerminalEvent, { readonly type: 'error' }>, id: string): string {
	const { code, message } = showError(error, { isOperator: false, id });
	return `${code}: ${message}`;
}
