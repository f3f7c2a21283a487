export interface SizedRecord<R> {
	readonly record: R;
	readonly size: number;
}

/**
 * A cache of the newest records of a table, in the order of their places. It has no gaps, and a maximum size in
 * characters. It is cleared by a rollback, and by a change of the table without `add`.
 */
export class KeptRecords<R extends { readonly seq: number }> {
	readonly #readVersion: () => number;
	readonly #most: number;
	#version: number | undefined;
	#from = Number.POSITIVE_INFINITY;
	#all: SizedRecord<R>[] = [];
	#size = 0;

	/**
	 * @param readVersion returns another number after each change of the table
	 * @param most the maximum number of characters
	 */
	constructor(readVersion: () => number, most: number) {
		this.#readVersion = readVersion;
		this.#most = most;
	}

	/** Whether the cache is current: all changes of the table were made with `add`. */
	get isCurrent(): boolean {
		return this.#version === this.#readVersion();
	}

	read(): { readonly from: number; readonly all: readonly SizedRecord<R>[] } {
		if (!this.isCurrent) {
			[this.#all, this.#size, this.#from] = [[], 0, Number.POSITIVE_INFINITY];
			this.#version = this.#readVersion();
		}
		return { from: this.#from, all: this.#all };
	}

	/** Adds all records between a place and the cached records. Call it after `read`. */
	addOlder(from: number, older: readonly SizedRecord<R>[]): void {
		this.#all = [...older, ...this.#all];
		this.#from = from;
		this.#grow(older);
	}

	/** Adds a record that was just stored. Call it only if the cache was current before. */
	add(sized: SizedRecord<R>): void {
		this.#version = this.#readVersion();
		const { seq } = sized.record;
		if (seq < this.#from) return;
		const at = 1 + this.#all.findLastIndex(({ record }) => record.seq < seq);
		this.#all.splice(at, 0, sized);
		this.#grow([sized]);
	}

	#grow(more: readonly SizedRecord<R>[]): void {
		this.#size += more.reduce((sum, { size }) => sum + size, 0);
		let gone = 0;
		for (const { record, size } of this.#all) {
			if (this.#size <= this.#most) break;
			this.#size -= size;
			this.#from = record.seq + 1;
			gone++;
		}
		this.#all.splice(0, gone);
	}
}
