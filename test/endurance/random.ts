/** Returns a whole number from `low` to `high`, both included. The seed determines all numbers. */
export type Random = (low: number, high: number) => number;

/** Makes random numbers by the algorithm Mulberry32. */
export function createRandom(seed: number): Random {
	let state = seed >>> 0;
	return (low, high) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return low + (((mixed ^ (mixed >>> 14)) >>> 0) % (high - low + 1));
	};
}

export function createSeed(): number {
	return Math.floor(Math.random() * 1_000_000);
}
