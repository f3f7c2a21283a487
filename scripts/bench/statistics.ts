/** Returns the value below which that share of the values is: 0.5 for the median. */
export function readQuantile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function readMedian(values: readonly number[]): number {
	return readQuantile(values, 0.5);
}
