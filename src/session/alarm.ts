import type { DurableObjectStorage } from '@cloudflare/workers-types';
import type { Agent } from '../agents/index.ts';
import { takesNext } from './status.ts';
import type { SessionStore } from './store.ts';

/**
 * While a run is open its object is woken this often, in milliseconds: a run that died with it is found, and one that
 * nobody follows is not evicted.
 */
const watchMs = 10_000;

/**
 * The object's one alarm: it keeps watch while a run is open, comes back for callbacks, and ends a session that expires.
 * Else none is set.
 */
export class Alarm {
	readonly #store: SessionStore;
	readonly #storage: Pick<DurableObjectStorage, 'setAlarm' | 'deleteAlarm'>;
	readonly #agents: readonly Agent[];

	constructor(
		store: SessionStore,
		storage: Pick<DurableObjectStorage, 'setAlarm' | 'deleteAlarm'>,
		agents: readonly Agent[],
	) {
		this.#store = store;
		this.#storage = storage;
		this.#agents = agents;
	}

	/** A run is open. */
	watch(): void {
		void this.#storage.setAlarm(Math.min(Date.now() + watchMs, this.#callsBackAt() ?? Number.POSITIVE_INFINITY));
	}

	/** No run is open; a message that waits for one that it can begin keeps watch. */
	rest(): void {
		const at = this.#callsBackAt() ?? this.#expiresAt();
		if (this.#store.queue.size > 0 && takesNext(this.#store.status)) this.watch();
		else if (at === undefined) void this.#storage.deleteAlarm();
		else void this.#storage.setAlarm(at);
	}

	/** Whether the session's time is over. It stays as long as somebody is to be told of a run's end. */
	isDue(): boolean {
		return this.#callsBackAt() === undefined && (this.#expiresAt() ?? Number.POSITIVE_INFINITY) <= Date.now();
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
