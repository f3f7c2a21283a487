import type { TerminalEvent } from '../../../core/chat/index.ts';
import type { Children } from '../../agent/children.ts';
import type { Config } from '../../config/config.ts';
import type { Limit } from '../../objects/budget.ts';
import { listAskers } from '../store/askers.ts';
import { findOpenCalls } from '../store/calls.ts';
import type { ChildRecord } from '../store/children.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { readBudgetState } from './budgets.ts';

interface ChildrenOptions {
	readonly store: SessionStore;
	readonly session: SessionRecord;
	readonly record: Pick<RunRecord, 'n' | 'boot' | 'attempt'>;
	readonly sessions: Config['sessions'];
	/** Returns the budget of the session, which may be raised during the run. */
	readonly limit: () => Limit;
}

/** Creates the children for the calls of a run. Their ids depend on the call, so a later attempt finds them. */
export function createChildren({ store, session, record, sessions, limit }: ChildrenOptions): Children {
	const { id: parent, owner, user, createdBy, metadata, createdAt, agent: own, parent: above } = session;
	const depth = above?.depth ?? 0;
	const agents = [...(above?.agents ?? []), own];
	const write = <T>(work: () => T): T =>
		store.transaction(() => {
			store.runs.assertOpen(record);
			return work();
		});
	return {
		depth,
		caller: { owner, parent },
		askers: () => listAskers(store),
		budget: () => readBudgetState(store, limit()),
		count: () => ({ open: store.calls.children.listOpen().length, all: store.calls.children.list().length }),
		find: (callId) => store.calls.children.find(store.messages.lastTurn(), callId),
		add: async (asked) => {
			const turn = store.messages.lastTurn();
			const name = JSON.stringify(['child', parent, createdAt, turn, asked.callId]);
			const child = { ...asked, id: sessions.idFromName(name).toString() };
			write(() => store.calls.children.add({ ...child, turn, createdAt: Date.now() }));
			await store.sync();
			return child;
		},
		drop: ({ id }) => write(() => leave(store, ({ id: open }) => open === id)),
		settle: ({ id }, cost) => write(() => store.calls.children.settle(id, cost)),
		toCreate: ({ agent, budget, isBackground }) => ({
			...{ agent, owner, user, by: createdBy, metadata, budget },
			parent: { id: parent, depth: depth + 1, agents, ...(isBackground && { isBackground }) },
		}),
		reach: ({ id }) => sessions.get(sessions.idFromString(id)),
	};
}

/**
 * Has the outbox cancel the children that nobody waits for. A background child goes on, except with `all`, or if its
 * call has no result yet: then no model knows of the child.
 */
export function leaveChildren(store: SessionStore, { all = false } = {}): void {
	if (store.calls.children.listOpen().length === 0) return;
	const turn = store.messages.lastTurn();
	const calls = new Set(findOpenCalls(store).map(({ call }) => call.id));
	const isUnknown = (child: ChildRecord) => child.turn === turn && calls.has(child.callId);
	leave(store, (child) => all || !child.isBackground || isUnknown(child));
}

function leave(store: SessionStore, isLeft: (child: ChildRecord) => boolean): void {
	const { id: parent, owner } = store.session();
	for (const child of store.calls.children.listOpen().filter(isLeft)) {
		store.calls.children.leave(child.id);
		store.outbox.endChild(child, { owner, parent, isRemoved: false }, Date.now());
	}
}

/**
 * Cancels the children of a run and reports its end to the parent of a background session, in the transaction that
 * stores the end. The parent itself cancels the session, so it gets no report of that.
 */
export function endFamily(store: SessionStore, { parent }: Pick<SessionRecord, 'parent'>, event: TerminalEvent): void {
	// A run that waits for somebody continues later, with its children.
	if (event.type === 'awaiting') return;
	leaveChildren(store, { all: event.type === 'cancelled' });
	const run = store.runs.get()?.n;
	if (parent?.isBackground === true && run !== undefined && event.type !== 'cancelled')
		store.outbox.tellParent(run, Date.now());
}
