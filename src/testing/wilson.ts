/** The 97.5th percentile of the normal distribution. */
const z = 1.959964;

/** Computes Wilson's score interval of 95 % for a share. Without trials, the share can be anything. */
export function computeWilson(passed: number, count: number): readonly [low: number, high: number] {
	if (count === 0) return [0, 1];
	const [rate, spread] = [passed / count, z ** 2 / count];
	const center = (rate + spread / 2) / (1 + spread);
	const half = (z * Math.sqrt((rate * (1 - rate)) / count + spread / (4 * count))) / (1 + spread);
	return [passed === 0 ? 0 : Math.max(0, center - half), passed === count ? 1 : Math.min(1, center + half)];
}
