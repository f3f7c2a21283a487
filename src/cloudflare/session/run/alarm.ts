import { log, toFailureFields } from '../../log.ts';
import type { SessionStore } from '../store/store.ts';
import { watchMs } from './next.ts';

/** An alarm that could not be set is set again after this many milliseconds. */
const againMs = 500;

/** The object's one alarm. Each time it is set, it asks anew when the session has something to do. */
export class Alarm {
	readonly #store: SessionStore;
	readonly #wakeAt: () => number | undefined;
	#again: ReturnType<typeof setTimeout> | undefined;

	constructor(store: SessionStore, wakeAt: () => number | undefined) {
		this.#store = store;
		this.#wakeAt = wakeAt;
	}

	/**
	 * Sets it for a session that is about to be created. A session without an alarm would never expire, and its owner's
	 * list might never hear of it. Throws where the storage fails.
	 */
	announce(): Promise<void> {
		return this.#store.setAlarm(Date.now() + watchMs);
	}

	/** Sets it, or takes it away. Returns whether that worked; if not, it is tried again. Never rejects. */
	async set(): Promise<boolean> {
		if (this.#again !== undefined) clearTimeout(this.#again);
		this.#again = undefined;
		try {
			if (this.#store.hasTables) {
				const at = this.#wakeAt();
				await this.#store.setAlarm(at === undefined ? undefined : Math.max(Date.now(), at));
			}
			return true;
		} catch (cause) {
			log('warn', 'alarm.not_set', toFailureFields(cause));
			this.#again ??= setTimeout(() => void this.set(), againMs);
			return false;
		}
	}

	/** Sets it where none stands: the platform gives up one that has failed too often. Returns whether one stands now. */
	async renew(): Promise<boolean> {
		try {
			if (!this.#store.hasTables || (await this.#store.alarmAt()) !== undefined) return true;
		} catch (cause) {
			log('warn', 'alarm.not_read', toFailureFields(cause));
			return false;
		}
		return this.set();
	}
}
