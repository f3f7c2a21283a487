import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RunLog } from '../../../src/cloudflare/session/events/log.ts';
import { createDrafts } from '../../../src/cloudflare/session/run/journal.ts';
import type { Draft } from '../../../src/cloudflare/session/store/runs.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Collects the drafts of a run with their times. */
function watchDrafts() {
	const stored: { readonly at: number; readonly draft: Draft }[] = [];
	const begun = Date.now();
	const journal = { iteration: 0, restarts: 0 };
	const log = new RunLog(1);
	const save = (draft: Draft) => void stored.push({ at: Date.now() - begun, draft });
	const options = { save, record: { id: 'r' }, meter: { call: 1 }, atCrashPoint: () => {} };
	const drafts = createDrafts(options, log, journal);
	const show = (...events: readonly RunEvent[]): void => {
		log.append(events);
		drafts.change(events);
	};
	return {
		stored,
		/** Shows a text every 100 ms, for `ms` milliseconds. */
		write: (text: string, ms: number): void => {
			for (let at = 0; at < ms; at += 100) {
				show({ type: 'text', text });
				vi.advanceTimersByTime(100);
			}
		},
		endTurn: (): void => {
			show({ type: 'stop', reason: 'end_turn', usage: {} });
			journal.iteration++;
		},
	};
}

test('stores two drafts in the first ten seconds of a turn, and then one every seven seconds', () => {
	const { stored, write } = watchDrafts();
	write('word ', 10_000);
	expect(stored.map(({ at }) => at / 1_000)).toEqual([0.8, 3.3]);
	write('word ', 30_000);
	expect(stored.map(({ at }) => at / 1_000)).toEqual([0.8, 3.3, 10.5, 17.7, 24.9, 32.1, 39.3]);
});

test('a draft has the output, the elapsed time, and the time until the next draft', () => {
	const { stored, write } = watchDrafts();
	write('word ', 4_000);
	const [first, second] = stored.map(({ draft }) => draft);
	expect(first).toMatchObject({ iteration: 1, call: 1, ms: 800, nextMs: 2_500 });
	expect(second).toMatchObject({ ms: 3_300, nextMs: 7_200 });
	expect(second?.tokens).toBeGreaterThan(3 * (first?.tokens ?? 0));
	expect(second?.events).toEqual([{ type: 'text', text: 'word '.repeat(33) }]);
});

test('stores a draft early after 4 KB of text, but not twice within a second', () => {
	const { stored, write } = watchDrafts();
	write('x'.repeat(300), 7_000);
	expect(stored.map(({ at }) => Math.round(at / 100))).toEqual([8, 21, 35, 49, 63]);
	const fast = watchDrafts();
	fast.write('x'.repeat(10_000), 5_000);
	expect(fast.stored.map(({ at }) => at / 1_000)).toEqual([0.8, 1.8, 2.8, 3.8, 4.8]);
});

test('each turn begins with short pauses between drafts, and a short turn has no draft', () => {
	const { stored, write, endTurn } = watchDrafts();
	write('word ', 4_000);
	endTurn();
	write('word ', 700);
	endTurn();
	vi.advanceTimersByTime(20_000);
	expect(stored).toHaveLength(2);
	write('word ', 2_000);
	expect(stored.slice(2).map(({ draft }) => [draft.iteration, draft.ms, draft.nextMs])).toEqual([[3, 800, 2_500]]);
});
