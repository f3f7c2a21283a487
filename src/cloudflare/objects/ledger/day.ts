/** Days before today whose leases are kept. */
export const keptDays = 2;

const dayMs = 86_400_000;

/** Turns milliseconds since 1970 into UTC days since 1970. */
export function toDay(time: number): number {
	return Math.floor(time / dayMs);
}

/** Such as `2026-11-22`. */
export function formatDay(day: number): string {
	return new Date(day * dayMs).toISOString().slice(0, 10);
}

export function parseDay(text: string): number {
	return toDay(Date.parse(text));
}
