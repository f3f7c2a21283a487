import type { Storage } from '../../objects/storage.ts';

/** The object's one alarm, and when it goes off as far as this life of the object knows. */
export class StoredAlarm {
	readonly #storage: Storage;
	#at: number | undefined;

	constructor(storage: Storage) {
		this.#storage = storage;
	}

	/** When it goes off, if this life of the object has set or read it. */
	get at(): number | undefined {
		return this.#at;
	}

	/** Returns when it goes off, if it is set. */
	async read(): Promise<number | undefined> {
		this.#at = (await this.#storage.getAlarm()) ?? undefined;
		return this.#at;
	}

	/** Sets it, or removes it. */
	async set(at: number | undefined): Promise<void> {
		this.#at = at;
		try {
			await (at === undefined ? this.#storage.deleteAlarm() : this.#storage.setAlarm(at));
		} catch (cause) {
			this.#at = undefined;
			throw cause;
		}
	}

	/** Notes that it has gone off: none stands any more. */
	noteGone(): void {
		this.#at = undefined;
	}
}
