/** Finds the times of events. The server sends the earlier events of a run again, without their times. */

import type { RunEvent } from '../../client/types.ts';
import type { TracedRun } from './spans.ts';

/** The events of a run that began at most so many milliseconds ago are shown with their time of arrival. */
const freshMs = 5_000;

/**
 * Returns a function that is called with each event as it arrives. It returns the time when the event was stored, or the
 * time of arrival if the event was not sent before. For other events it returns undefined.
 */
export function createEventTimes(id: string, run: TracedRun | undefined, isRunning: boolean) {
	const stops: number[] = [];
	const results = new Map<string, number>();
	for (const { kind, depth, content, end } of run?.spans ?? []) {
		if (end === undefined) continue;
		if (kind === 'model' && depth === 0) stops.push(end);
		if (content?.type === 'call') results.set(content.call.id, end);
	}
	let isNew = isRunning && stops.length === 0 && Date.now() - (run?.start ?? 0) < freshMs;
	let turns = 0;
	return (event: RunEvent): number | undefined => {
		if (event.type === 'stop') turns += 1;
		// These events came after the trace was read.
		isNew ||= isRunning && event.type === 'stop' && turns > stops.length;
		isNew ||= event.type === 'run.started' && event.runId !== id;
		if (isNew) return Date.now();
		if (event.type === 'run.started') return run?.start;
		if (event.type === 'tool_result') return results.get(event.id);
		return event.type === 'stop' ? stops[turns - 1] : undefined;
	};
}
