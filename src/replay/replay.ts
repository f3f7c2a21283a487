import { startClock } from './clock.ts';
import { compareRun } from './compare.ts';
import type { Divergence } from './divergence.ts';
import { giveFiles } from './files.ts';
import { listSessions, type RecordedSession, readRecording } from './recording.ts';
import { writeReport } from './report.ts';
import { replayRun } from './run.ts';
import { openSession, type ReplayOptions } from './session.ts';

/** The result of a replay. */
export interface Replay {
	/** The first difference. Missing if there is none. */
	readonly divergence?: Divergence;
	/** The number of replayed sessions, children included. */
	readonly sessions: number;
	readonly runs: number;
	/** The number of the model's turns. */
	readonly turns: number;
}

/** A replay that differs from its recording. The message is the report. */
export class ReplayError extends Error {
	override readonly name = 'ReplayError';
	readonly divergence: Divergence;

	constructor(divergence: Divergence, report: string) {
		super(report);
		this.divergence = divergence;
	}
}

/**
 * Replays a recording with the agents of today (docs/testing.md, "Replay a session"): the model answers as recorded,
 * and everything else runs. Rejects with a `ReplayError` at the first difference in what the model was sent, in the
 * messages or in the ends of the runs. Only live tools reach a network. Rejects with `invalid_request` for a wrong
 * recording.
 */
export async function replay(recording: unknown, options: ReplayOptions): Promise<Replay> {
	const result = await compareReplay(recording, options);
	if (result.divergence === undefined) return result;
	throw new ReplayError(result.divergence, await writeReport(result.divergence));
}

/** The same, but returns the first difference. */
export async function compareReplay(recording: unknown, options: ReplayOptions): Promise<Replay> {
	const sessions = listSessions(readRecording(recording));
	const count = { sessions: 0, runs: 0, turns: 0 };
	const clock = startClock();
	try {
		for (const session of sessions) {
			const divergence = await compareSession(session, options, clock, count);
			if (divergence !== undefined) return { ...count, divergence };
			count.sessions++;
		}
		return count;
	} finally {
		clock.stop();
	}
}

async function compareSession(
	{ recording, path }: RecordedSession,
	options: ReplayOptions,
	clock: ReturnType<typeof startClock>,
	count: { runs: number; turns: number },
): Promise<Divergence | undefined> {
	const session = openSession(recording, options, clock);
	if (session === undefined) {
		const replayed = options.agents.map(({ name }) => name);
		return { kind: 'agent', path, field: 'agents', recorded: recording.session.agent, replayed };
	}
	for (const run of recording.runs) {
		await giveFiles(session.workspace, recording, run);
		const replayed = await replayRun(session, run);
		count.runs++;
		count.turns += replayed.replies.length;
		const found = compareRun(session, run, replayed);
		if (found !== undefined) return { path, run: run.id, ...found };
	}
	return undefined;
}
