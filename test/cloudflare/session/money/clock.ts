/** The clock of the walk over money: clocks and timers are fast, and a day can pass at once. */
import { vi } from 'vitest';

/** How many milliseconds of the walk pass in a real millisecond. */
const speed = 10;
const dayMs = 86_400_000;

const realNow = Date.now.bind(Date);
const realTimeout = globalThis.setTimeout;

let start = 0;
let ahead = 0;

export function startClock(): void {
	start = realNow();
	ahead = 0;
	vi.spyOn(Date, 'now').mockImplementation(() => start + ahead + (realNow() - start) * speed);
	vi.spyOn(globalThis, 'setTimeout').mockImplementation((work, ms = 0) => realTimeout(work, ms / speed));
}

/** Lets the next day begin. */
export function passMidnight(): void {
	ahead += dayMs - (Date.now() % dayMs) + 1_000;
}

/** Returns the real time, in milliseconds. */
export function readRealTime(): number {
	return realNow();
}

/** Waits a moment of the real clock, in which others continue. */
export function waitShortly(ms = 0): Promise<void> {
	return new Promise((resolve) => realTimeout(resolve, ms));
}
