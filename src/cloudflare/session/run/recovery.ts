import { type TerminalEvent, type ToolMessage, toolResultMessage } from '../../../core/chat/index.ts';
import { type CutOff, replayCutOff } from '../events/replay.ts';
import { findOpenCalls, type OpenCall } from '../store/pending.ts';
import { shortenRunEnd } from '../store/run-end.ts';
import { findRunMessages } from '../store/run-messages.ts';
import type { NextLife, RunRecord } from '../store/runs.ts';
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
function planNextLife(
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
export function takeUp(store: SessionStore, run: RunRecord, boot: string): TakenUp | undefined {
	const stored = findRunMessages(store, run.n, run.firstSeq).filter((one) => one.run === run.n && one.input !== true);
	const life = planNextLife(run, stored.length, boot);
	chargeLost(store, run.draft);
	if (life === undefined) {
		giveUp(store, run, createInterruption(run.attempt));
		return undefined;
	}
	const unknown = createUnknownResults(findOpenCalls(store));
	for (const result of unknown) store.messages.add(run.n, result, Date.now());
	const { events, resume, asking } = replayCutOff({ ...run, ...life }, findRunMessages(store, run.n, run.firstSeq));
	const restarts = run.restarts + (asking ? 1 : 0);
	// What is said of calls that were cut off brings the run no further.
	const next = { ...life, progress: stored.length + unknown.length, restarts };
	store.runs.takeUp(run.n, next);
	const again = asking ? [{ type: 'turn.restarted', iteration: resume.iteration + 1 } as const] : [];
	return { record: { ...run, ...next }, events: [...events, ...again], resume };
}

/** Ends a run that does not go on, with what its readers were shown of it. */
export function giveUp(store: SessionStore, run: RunRecord, event: TerminalEvent): void {
	chargeLost(store, run.draft);
	const { events, draft } = replayCutOff(run, findRunMessages(store, run.n, run.firstSeq));
	const steps = events.filter(({ type }) => type === 'step').length;
	const end = shortenRunEnd({ before: [], draft, restarts: run.restarts, steps, event });
	store.runs.end(run.n, toRunStatus(event), end, Date.now());
}

function createInterruption(attempts: number): TerminalEvent {
	const times = attempts === 1 ? 'once' : `${attempts} times`;
	const message = `The run was cut off ${times} and came no further. Continue it, or send a message.`;
	return { type: 'error', code: 'interrupted', message };
}

/**
 * Tells the model about calls that a run had begun when it was cut off: nobody knows what came of them, so they are not
 * run again. Calls that had not begun, that may be run again, or that wait for somebody, stay open.
 */
export function createUnknownResults(open: readonly OpenCall[]): readonly ToolMessage[] {
	const output =
		'The run was cut off, so it is not known whether this call was carried out. Look before you call it again.';
	return open.flatMap(({ call: { id }, noted }) =>
		noted?.state === 'begun' && noted.question === undefined ? [toolResultMessage({ id, output, isError: true })] : [],
	);
}
