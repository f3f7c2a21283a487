/**
 * The moments at which a run has just written (docs/runs.md, "What a run writes"), in this order; `taken-up` is the
 * first one of each further life.
 */
export type CrashPointName =
	| 'accepted'
	| 'taken-up'
	| 'model-begin'
	| 'draft'
	| 'model-end'
	| 'tool-begin'
	| 'tool-end'
	| 'ended';

/**
 * Told of each of these moments, and waited for, so that a test can end the process at just this one. A Worker gives
 * none: only a test makes a session class with one.
 */
export type CrashPoint = (
	point: CrashPointName,
	about: { readonly session: string; readonly run: number },
) => void | Promise<void>;

/** The moments of one run. */
export type AtCrashPoint = (point: CrashPointName) => void | Promise<void>;

/** The moments of one run of a session, if anybody wants to know. */
export function createCrashPoints(tell: CrashPoint | undefined, session: string, run: number): AtCrashPoint {
	return tell === undefined ? () => {} : (point) => tell(point, { session, run });
}
