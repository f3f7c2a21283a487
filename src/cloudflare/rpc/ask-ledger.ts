import type { LedgerApi } from './ledger.ts';
import { reach, usualLimitMs } from './reach.ts';

/** Asks a ledger, on a new stub each time. Each of its calls may be made twice: an id counts once. */
export function askLedger<T>(
	ledger: () => LedgerApi,
	ask: (one: LedgerApi) => Promise<T>,
	timeoutMs = usualLimitMs,
): Promise<T> {
	return reach(() => ask(ledger()), { what: 'The ledger of this key', isSafe: true, timeoutMs });
}
