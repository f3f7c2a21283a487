/**
 * The moments at which a run has just written (docs/runs.md, "What a run writes"), in this order; `taken-up` is the
 * first of each further life.
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

/** Called and awaited at each of these moments, so that a test can end the process exactly there. Only tests set it. */
export type CrashPoint = (
	point: CrashPointName,
	about: { readonly session: string; readonly run: number },
) => void | Promise<void>;

/** The moments of one run. */
export type AtCrashPoint = (point: CrashPointName) => void | Promise<void>;

/** Makes the function that reports the moments of one run. */
export function createCrashPoints(tell: CrashPoint | undefined, session: string, run: number): AtCrashPoint {
	return tell === undefined ? () => {} : (point) => tell(point, { session, run });
}
