/** The sizes of the pieces of an answer, in order. */
export interface Cutting {
	readonly name: string;
	readonly sizes: (total: number) => Iterable<number>;
}

const seed = 20260708;

export const whole: Cutting = { name: 'whole', sizes: (total) => [total] };

/** Single bytes at first. A long recording continues with pieces of seven bytes, which cut each line differently. */
export const bytewise: Cutting = {
	name: 'byte by byte',
	sizes: function* (total) {
		for (let sent = 0; sent < total; ) {
			const size = sent < 20_000 ? 1 : 7;
			yield size;
			sent += size;
		}
	},
};

export const random: Cutting = {
	name: `cut at random (seed ${seed})`,
	sizes: function* (total) {
		const next = generator(seed);
		for (let sent = 0; sent < total; ) {
			// Mostly small pieces, and some large pieces.
			const size = 1 + Math.floor(next() ** 3 * 400);
			yield size;
			sent += size;
		}
	},
};

/** Generates numbers from 0 to 1, the same for the same seed (mulberry32). */
function generator(start: number): () => number {
	let state = start;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}
