import type { TerminalEvent } from '../../../core/chat/index.ts';
import type { Tool } from '../../../core/tool/index.ts';
import { findRecords } from '../events/past.ts';
import { type CutOff, replayCutOff } from '../events/replay.ts';
import { fitTail } from '../events/tail.ts';
import { findOpenCalls } from '../inbox/pending.ts';
import { createUnknownResults } from '../inbox/submission.ts';
import type { NextLife, RunRecord } from '../store/run.ts';
import { toRunStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { chargeLost } from './charge.ts';

/** Lives that a run may lose one after another without coming further. */
const mostLost = 3;

/** Lives that a run may have in all. */
const mostLives = 10;

/**
 * The next life of a run whose object died (docs/runs.md, "Lives"); nothing where it has had enough of them. What
 * counts is how far it came, and no clock: a laptop may be closed for the night, and its clock be set.
 *
 * @param progress its own messages that are stored
 */
export function planNextLife(
	{ attempt, lost, progress: before }: Pick<RunRecord, 'attempt' | 'lost' | 'progress'>,
	progress: number,
	boot: string,
): NextLife | undefined {
	const lostNow = progress > before ? 1 : lost + 1;
	if (lostNow >= mostLost || attempt >= mostLives) return undefined;
	return { boot, attempt: attempt + 1, lost: lostNow, progress };
}

/** A run in its next life: where it goes on, and what its readers were shown. */
export interface TakenUp extends Pick<CutOff, 'events' | 'resume'> {
	readonly record: RunRecord;
}

/**
 * Takes up a run whose object died, in one transaction of the caller's (docs/runs.md, "Lives"): what a request to the
 * model may have cost is charged, calls that had begun and may not be repeated are answered as unknown, and a turn that
 * the model was writing is asked again, of which its readers are told first. A run that has had enough lives ends as
 * `interrupted`; then there is nothing to go on with.
 */
export function takeUp(
	store: SessionStore,
	run: RunRecord,
	{ boot, tools }: { readonly boot: string; readonly tools: readonly Tool[] },
): TakenUp | undefined {
	const stored = findRecords(store, run.n, run.firstSeq).filter((one) => one.run === run.n && one.input !== true);
	const life = planNextLife(run, stored.length, boot);
	const charged = chargeLost(store, run.draft);
	if (life === undefined) {
		giveUp(store, run, createInterruption(run.attempt), charged);
		return undefined;
	}
	const unknown = createUnknownResults(findOpenCalls(store), tools, run.journaled);
	for (const result of unknown) store.messages.add(run.n, result, Date.now());
	const { events, resume, asking } = replayCutOff(
		{ ...run, ...life },
		findRecords(store, run.n, run.firstSeq),
		charged,
	);
	const restarts = run.restarts + (asking ? 1 : 0);
	// What is said of calls that were cut off brings the run no further.
	const next = { ...life, progress: stored.length + unknown.length, restarts };
	store.runs.takeUp(run.n, next);
	const again = asking ? [{ type: 'turn.restarted', iteration: resume.iteration + 1 } as const] : [];
	return { record: { ...run, ...next }, events: [...events, ...again], resume };
}

/** Ends a run that does not go on, with what its readers were shown of it. */
export function giveUp(
	store: SessionStore,
	run: RunRecord,
	event: TerminalEvent,
	charged = chargeLost(store, run.draft),
): void {
	const { events, draft } = replayCutOff(run, findRecords(store, run.n, run.firstSeq), charged);
	const steps = events.filter(({ type }) => type === 'step').length;
	const tail = fitTail({ before: [], draft, restarts: run.restarts, steps, event });
	store.runs.end(run.n, toRunStatus(event), tail, Date.now());
}

function createInterruption(attempts: number): TerminalEvent {
	const times = attempts === 1 ? 'once' : `${attempts} times`;
	const message = `The run was cut off ${times} and came no further. Continue it, or send a message.`;
	return { type: 'error', code: 'interrupted', message };
}
