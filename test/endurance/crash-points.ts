/** The writes of a run (docs/runs.md, "What a run writes"), and how often a run with three tools makes each. */
export const crashPoints = [
	['accepted', 1],
	['model-begin', 3],
	['draft', 1],
	['model-end', 3],
	['tool-begin', 4],
	['tool-end', 4],
	['ended', 1],
] as const;

export type CrashPoint = (typeof crashPoints)[number];

/** Chooses the crash point of a session by its id, so that the Worker and the programme choose the same. */
export function readAbortPoint(session: string): { readonly name: string; readonly time: number } {
	const [name, times] = crashPoints[Number.parseInt(session.slice(0, 8), 16) % crashPoints.length] ?? crashPoints[0];
	// Not the first write of a kind: its loss would also lose the request, and the client would repeat the request.
	return { name, time: Math.min(2, times) };
}
