/** Days before today whose leases a ledger remembers. */
export const keptDays = 2;

const dayMs = 86_400_000;

/** Turns milliseconds since 1970 into days since 1970, in UTC. */
export function toDay(time: number): number {
	return Math.floor(time / dayMs);
}

/** Formats a day: `2026-11-22`. */
export function formatDay(day: number): string {
	return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** Reads a day that `formatDay` wrote. */
export function parseDay(text: string): number {
	return toDay(Date.parse(text));
}
