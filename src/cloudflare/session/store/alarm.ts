import type { Storage } from '../../objects/storage.ts';

/** The object's one alarm, and when it goes off as far as this life of the object knows. */
export class StoredAlarm {
	readonly #storage: Storage;
	#at: number | undefined;
	/** How often it was set, was removed or went off. */
	#changes = 0;

	constructor(storage: Storage) {
		this.#storage = storage;
	}

	/** When it goes off, if this life of the object has set or read it. */
	get at(): number | undefined {
		return this.#at;
	}

	/** Returns when it goes off, if it is set. What changes meanwhile is newer than what is read. */
	async read(): Promise<number | undefined> {
		const before = this.#changes;
		const at = (await this.#storage.getAlarm()) ?? undefined;
		if (before === this.#changes) this.#at = at;
		return this.#at;
	}

	/** Sets it, or removes it. */
	async set(at: number | undefined): Promise<void> {
		this.#change(at);
		try {
			await (at === undefined ? this.#storage.deleteAlarm() : this.#storage.setAlarm(at));
		} catch (cause) {
			this.#change(undefined);
			throw cause;
		}
	}

	/** Notes that it has gone off: none stands any more. */
	noteGone(): void {
		this.#change(undefined);
	}

	#change(at: number | undefined): void {
		this.#at = at;
		this.#changes++;
	}
}
