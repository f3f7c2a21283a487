/** A record and the characters of its row. */
export interface Sized<R> {
	readonly record: R;
	readonly size: number;
}

/**
 * The newest records of a table as they were read or stored, in the order of their places, so that they need not be read
 * again. It has all from a place on, unless they are too long together: then it lets go of the oldest. It forgets
 * everything once the table was written by others than `add`, or a transaction was rolled back.
 */
export class KeptRecords<R extends { readonly seq: number }> {
	readonly #readVersion: () => number;
	readonly #most: number;
	#version: number | undefined;
	#from = Number.POSITIVE_INFINITY;
	#all: Sized<R>[] = [];
	#size = 0;

	/**
	 * @param readVersion returns another number after each change of the table.
	 * @param most the characters to keep.
	 */
	constructor(readVersion: () => number, most: number) {
		this.#readVersion = readVersion;
		this.#most = most;
	}

	/** Whether nothing else has changed the table. */
	get isCurrent(): boolean {
		return this.#version === this.#readVersion();
	}

	/** Returns what is kept, and the place from which on it has every record. */
	read(): { readonly from: number; readonly all: readonly Sized<R>[] } {
		if (!this.isCurrent) {
			[this.#all, this.#size, this.#from] = [[], 0, Number.POSITIVE_INFINITY];
			this.#version = this.#readVersion();
		}
		return { from: this.#from, all: this.#all };
	}

	/** Keeps all records between a place and those that are kept. Call it after `read`. */
	addOlder(from: number, older: readonly Sized<R>[]): void {
		this.#all = [...older, ...this.#all];
		this.#from = from;
		this.#grow(older);
	}

	/** Keeps a record that was just stored. Call it only where everything was current before that. */
	add(sized: Sized<R>): void {
		this.#version = this.#readVersion();
		const { seq } = sized.record;
		if (seq < this.#from) return;
		const at = 1 + this.#all.findLastIndex(({ record }) => record.seq < seq);
		this.#all.splice(at, 0, sized);
		this.#grow([sized]);
	}

	#grow(more: readonly Sized<R>[]): void {
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
