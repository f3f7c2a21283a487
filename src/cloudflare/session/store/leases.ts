import type { Amount } from '../../objects/budget.ts';
import { type Charge, ledgerId } from './spending.ts';
import type { SessionStore } from './store.ts';

/** Stores what a request to a model cost. With the last one of a lease, the owner's ledger has to be told. */
export function settleRequest(store: SessionStore, request: Charge, cost: Amount, isLast: boolean): void {
	store.transaction(() => {
		const isSettled = store.spending.settle(request.call, cost, isLast);
		if (isSettled && isLast && request.owed) oweLease(store, request);
	});
}

/** Ends the lease of a run, if it has one. The ledger has to be told, and takes back what is left of it. */
export function endLease(store: SessionStore, run: number): void {
	store.transaction(() => {
		const last = store.spending.endLease(run);
		if (last !== undefined) oweLease(store, last);
	});
}

function oweLease(store: SessionStore, { run, lease }: Charge): void {
	const runId = store.runs.get(run)?.id ?? '';
	store.outbox.owe(store.session().owner, ledgerId(runId, lease), store.spending.sumFrom(lease), Date.now());
}
