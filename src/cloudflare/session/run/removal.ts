import { isStorageError } from '../store/storage.ts';
import type { SessionStore } from '../store/store.ts';
import type { Runner } from './runner.ts';

/** How soon an alarm that failed comes again, in milliseconds: soon where the storage failed, which passes. */
const [storageAgainMs, alarmAgainMs] = [5_000, 60_000];

/** The object's storage: with its tables nothing of it stays. */
type Emptiable = Pick<DurableObjectStorage, 'deleteAll'>;

export function toPauseMs(cause: unknown): number {
	return isStorageError(cause) ? storageAgainMs : alarmAgainMs;
}

/** Stops what runs, removes everything, and tells others what they are still owed. */
export async function removeSession(store: SessionStore, runner: Runner, storage: Emptiable): Promise<void> {
	await runner.cancel();
	// Set before it is needed: nobody else comes back for what a removed session owes.
	await store.setAlarm(Date.now() + alarmAgainMs);
	store.erase(Date.now());
	await tellRest(store, runner, storage);
}

/** Tells what a removed session still owes. Nothing of the session stays once that was told. */
export async function tellRest(store: SessionStore, { owner: { outbox } }: Runner, storage: Emptiable): Promise<void> {
	await outbox.send();
	if (store.exists()) return;
	if (!outbox.isEmpty) return store.setAlarm(store.outbox.nextAt());
	await store.setAlarm(undefined);
	await storage.deleteAll();
}
