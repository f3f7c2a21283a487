import type { CrashPoint } from '../src/session/crash.ts';

let current: CrashPoint = () => {};

/** What happens when a run of the Worker under test has just written; without a handler it goes on. */
export function atCrashPoint(handler: CrashPoint = () => {}): void {
	current = handler;
}

/** The crash points of the Worker under test. */
export const crashPoint: CrashPoint = (point, about) => current(point, about);
