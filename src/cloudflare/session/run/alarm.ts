import type { Agent } from '../../agent/define.ts';
import { log, toFailureFields } from '../../log.ts';
import { canTakeNext } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';

/**
 * While a run is open its object is woken this often, in milliseconds: a run that died with it is found, and one that
 * nobody follows is not evicted.
 */
const watchMs = 10_000;

/** An alarm that could not be set is set again after this many milliseconds. */
const againMs = 500;

/**
 * The object's one alarm: it keeps watch while a run is open, comes back for callbacks and for what other objects are owed,
 * and ends a session that expires.
 * Else none is set.
 */
export class Alarm {
	readonly #store: SessionStore;
	readonly #agents: readonly Agent[];
	#again: ReturnType<typeof setTimeout> | undefined;
	/** What was asked for last; an older one that fails later is not set again in its place. */
	#asked: (() => number | undefined) | undefined;

	constructor(store: SessionStore, agents: readonly Agent[]) {
		this.#store = store;
		this.#agents = agents;
	}

	/** A session is about to be created: it is looked for after a while. Throws where the storage fails. */
	announce(): Promise<void> {
		return this.#store.setAlarm(Date.now() + watchMs);
	}

	/** A run is open. Whether the alarm is set now; if not, it will be. */
	watch(): Promise<boolean> {
		return this.#set(() => Math.min(Date.now() + watchMs, this.#tellsAt() ?? Number.POSITIVE_INFINITY));
	}

	/** No run is open; a message that waits for one that it can begin keeps watch. Whether it is set, as above. */
	rest(): Promise<boolean> {
		if (this.#store.queue.size > 0 && canTakeNext(this.#store.status)) return this.watch();
		return this.#set(() => this.#tellsAt() ?? this.#expiresAt());
	}

	/** Sets the alarm; where the storage fails, again until it is set or another one is asked for. Never rejects. */
	async #set(at: () => number | undefined): Promise<boolean> {
		if (this.#again !== undefined) clearTimeout(this.#again);
		this.#again = undefined;
		this.#asked = at;
		try {
			if (this.#store.hasTables) await this.#store.setAlarm(this.#store.exists() ? at() : this.#store.outbox.nextAt());
			return true;
		} catch (cause) {
			log('warn', 'alarm.not_set', toFailureFields(cause));
			if (this.#asked === at) this.#again = setTimeout(() => void this.#set(at), againMs);
			return false;
		}
	}

	/** Whether the session's time is over. It stays as long as somebody is to be told of a run's end. */
	isDue(): boolean {
		return this.#callsBackAt() === undefined && (this.#expiresAt() ?? Number.POSITIVE_INFINITY) <= Date.now();
	}

	/** When somebody is to be told of something, now at the earliest. */
	#tellsAt(): number | undefined {
		const times = [this.#callsBackAt(), this.#store.outbox.nextAt()].filter((at) => at !== undefined);
		return times.length === 0 ? undefined : Math.max(Date.now(), Math.min(...times));
	}

	/** When the next callback is to be sent, now at the earliest. */
	#callsBackAt(): number | undefined {
		const at = this.#store.callbacks.nextAt();
		return at === undefined ? undefined : Math.max(at, Date.now());
	}

	#expiresAt(): number | undefined {
		const { agent, expiresAfterMs, createdAt } = this.#store.session();
		const after = expiresAfterMs ?? this.#agents.find(({ name }) => name === agent)?.expiresAfterMs;
		const run = this.#store.runs.get();
		if (after === undefined) return undefined;
		return Math.max(run?.endedAt ?? run?.createdAt ?? createdAt, this.#store.queue.newestAt() ?? 0) + after;
	}
}
