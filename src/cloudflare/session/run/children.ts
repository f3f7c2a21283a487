import type { TerminalEvent } from '../../../core/chat/index.ts';
import type { Children } from '../../agent/children.ts';
import type { Config } from '../../config/config.ts';
import type { Limit } from '../../objects/budget.ts';
import { listAskers } from '../store/askers.ts';
import { findOpenCalls } from '../store/calls.ts';
import type { ChildRecord } from '../store/children.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import { readBudgetState } from './budgets.ts';

/** The options of the children of a run. */
interface ChildrenOptions {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'boot' | 'attempt'>;
	readonly sessions: Config['sessions'];
	/** The budget of the session. It is read each time, because it may be raised. */
	readonly limit: () => Limit;
}

/**
 * The children of a session, for the calls of one run. The id of a child is made of its call, so that a later attempt of the
 * object finds the same one.
 */
export function createChildren({ store, record, sessions, limit }: ChildrenOptions): Children {
	const { id: parent, owner, user, createdBy, metadata, createdAt, agent: own, parent: above } = store.session();
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
		add: async (given) => {
			const turn = store.messages.lastTurn();
			const name = JSON.stringify(['child', parent, createdAt, turn, given.callId]);
			const child = { ...given, id: sessions.idFromName(name).toString() };
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
 * Cancels the children that nobody waits for any more, in the transaction that stores why. One in the background goes on,
 * unless `all` are meant or its call has no result yet: no model knows of it then. The outbox tells them.
 */
export function leaveChildren(store: SessionStore, { all = false } = {}): void {
	if (store.calls.children.listOpen().length === 0) return;
	const turn = store.messages.lastTurn();
	const calls = new Set(findOpenCalls(store).map(({ call }) => call.id));
	const isUnknown = (child: ChildRecord) => child.turn === turn && calls.has(child.callId);
	leave(store, (child) => all || !child.isBackground || isUnknown(child));
}

function leave(store: SessionStore, isMeant: (child: ChildRecord) => boolean): void {
	const { id: parent, owner } = store.session();
	for (const child of store.calls.children.listOpen().filter(isMeant)) {
		store.calls.children.leave(child.id);
		store.outbox.endChild(child, { owner, parent, isRemoved: false }, Date.now());
	}
}

/**
 * Ends what belonged to a run, in the transaction that stores its end: its children, unless it waits for somebody. A
 * session that works in the background tells its parent, who cancels it and so need not be told of that.
 */
export function endFamily(store: SessionStore, event: TerminalEvent): void {
	// A run that waits for somebody goes on later, with its children.
	if (event.type === 'awaiting') return;
	leaveChildren(store, { all: event.type === 'cancelled' });
	const { parent } = store.session();
	const run = store.runs.get()?.n;
	if (parent?.isBackground === true && run !== undefined && event.type !== 'cancelled')
		store.outbox.tellParent(run, Date.now());
}
