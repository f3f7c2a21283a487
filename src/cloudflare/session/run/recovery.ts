import { type TerminalEvent, type ToolMessage, toolResultMessage } from '../../../core/chat/index.ts';
import { type CutOff, replayCutOff } from '../events/replay.ts';
import { findOpenCalls, type OpenCall } from '../store/calls.ts';
import { type RunRecord, shortenRunEnd } from '../store/runs.ts';
import { toRunStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { chargeLost } from './charge.ts';
import type { Life } from './next.ts';

/** A run in its next life: where it goes on, and what its readers were shown. */
export interface TakenUp extends Pick<CutOff, 'events' | 'resume'> {
	readonly record: RunRecord;
}

/**
 * Takes up a run whose object died, in one transaction of the caller's (docs/runs.md, "Lives"): charges what a request to
 * the model may have cost, answers calls that had begun and may not be repeated as unknown, and asks again for the turn
 * that the model was writing, of which its readers are told first.
 */
export function takeUp(store: SessionStore, run: RunRecord, life: Life, boot: string): TakenUp {
	chargeLost(store, run.draft);
	const unknown = createUnknownResults(findOpenCalls(store));
	for (const result of unknown) store.messages.add(run.n, result, Date.now());
	const { events, resume, asking } = replayCutOff({ ...run, ...life }, store.findRunMessages(run.n, run.firstSeq));
	const restarts = run.restarts + (asking ? 1 : 0);
	// Results for calls that were cut off are no progress.
	const next = { ...life, boot, progress: life.progress + unknown.length, restarts };
	store.runs.takeUp(run.n, next);
	const again = asking ? [{ type: 'turn.restarted', iteration: resume.iteration + 1 } as const] : [];
	return { record: { ...run, ...next }, events: [...events, ...again], resume };
}

/** Ends a run that cannot go on. What its readers were shown of it is kept. */
export function giveUp(store: SessionStore, run: RunRecord, event: TerminalEvent): void {
	chargeLost(store, run.draft);
	const { events, draft } = replayCutOff(run, store.findRunMessages(run.n, run.firstSeq));
	const steps = events.filter(({ type }) => type === 'step').length;
	const end = shortenRunEnd({ before: [], draft, restarts: run.restarts, steps, event });
	store.runs.end(run.n, toRunStatus(event), end, Date.now());
}

/** Creates the end of a run that has had enough lives. */
export function createInterruption(lives: number): TerminalEvent {
	const times = lives === 1 ? 'once' : `${lives} times`;
	const message = `The run was cut off ${times} and came no further. Continue it, or send a message.`;
	return { type: 'error', code: 'interrupted', message };
}

/**
 * Tells the model about calls that a run had begun when it was cut off: nobody knows what came of them, so they are not
 * run again, except those of tools that may be. Calls that had not begun, or that wait for somebody, stay open.
 */
export function createUnknownResults(open: readonly OpenCall[]): readonly ToolMessage[] {
	const output =
		'The run was cut off, so it is not known whether this call was carried out. Look before you call it again.';
	return open.flatMap(({ call: { id }, noted }) =>
		noted?.state === 'begun' && noted.question === undefined ? [toolResultMessage({ id, output, isError: true })] : [],
	);
}
