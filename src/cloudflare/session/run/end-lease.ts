import type { Config } from '../../config/config.ts';
import { isLedgerBehind } from '../../objects/ledger/api.ts';
import type { SessionStore } from '../store/store.ts';
import type { Next } from './next.ts';

/**
 * Ends the lease that a session keeps for its next run, if the ledger is behind and no run goes on. Then the ledger hears at
 * once what the lease cost: a burst of costs, twelve seconds after a burst of runs, would keep it behind.
 */
export function endLeaseEarly({ state }: Next, store: SessionStore, { ledgers }: Config): void {
	if (state === 'running' || !store.exists()) return;
	if (isLedgerBehind(ledgers, store.session().owner)) store.spending.endLease();
}
