/** Describes a length of time, such as 340 ms, 2.1 s or 3 min 20 s. */
export function describeTime(ms: number): string {
	if (ms < 1_000) return `${Math.round(ms)} ms`;
	if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
	const seconds = Math.round(ms / 1_000);
	const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
	return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}
