import type { RunEvent } from '../../../core/chat/index.ts';
import { createTokenCounter } from '../../../core/chat/tokens.ts';
import { toFailureFields, log as writeLog } from '../../log.ts';
import type { RunLog } from '../events/log.ts';
import { longestPart } from '../store/run-end.ts';
import { type Draft, draftMs } from '../store/runs.ts';
import type { Journal, JournalOptions } from './journal.ts';

/**
 * The pauses before the second draft and before each further draft, in milliseconds. Each draft writes a row. After a
 * crash the request is charged for what the model may have written until the next draft.
 */
const [secondMs, furtherMs] = [2_500, 7_200];

/** The characters after which a draft is stored before its pause is over, and its shortest pause in milliseconds. */
const [mostCharacters, soonestMs] = [4_096, 1_000];

interface DraftsOptions extends Pick<JournalOptions, 'atCrashPoint'> {
	readonly record: Pick<JournalOptions['record'], 'id'>;
	readonly meter: Pick<JournalOptions['meter'], 'call'>;
	readonly save: (draft: Draft) => void;
}

/** Stores drafts of the model's unfinished turn at growing pauses, for readers after a crash. */
export function createDrafts(
	{ record, meter, atCrashPoint, save }: DraftsOptions,
	log: RunLog,
	journal: Pick<Journal, 'iteration' | 'restarts'>,
) {
	let turn = createTurn();
	let timer: ReturnType<typeof setTimeout> | undefined;
	const stop = (): void => {
		if (timer !== undefined) clearTimeout(timer);
		timer = undefined;
	};
	const write = (): void => {
		stop();
		const events = log.draft(longestPart);
		const iteration = log.turns + 1;
		// The journal is ahead of the log if the turn is already stored or restarted.
		if (events.length === 0 || iteration !== journal.iteration + 1 || log.restarts !== journal.restarts) return;
		try {
			const about = { iteration, restarts: journal.restarts, call: meter.call };
			turn.store((written) => save({ ...about, ...written, events }));
		} catch (cause) {
			// The next draft may succeed. Without drafts, readers see less of a restarted turn.
			writeLog('warn', 'run.draft_not_stored', { 'runlet.run.id': record.id, ...toFailureFields(cause) });
			return;
		}
		void atCrashPoint('draft');
	};
	return {
		change: (events: readonly RunEvent[]): void => {
			for (const event of events) {
				if (event.type === 'stop' || event.type === 'turn.restarted') {
					stop();
					turn = createTurn();
				} else turn.add(event);
			}
			if (!log.writing) return;
			if (turn.isLong) write();
			else timer ??= setTimeout(write, turn.pauseMs);
		},
		stop,
	};
}

function createTurn() {
	const counter = createTokenCounter();
	let begunAt: number | undefined;
	let storedAt = 0;
	let unstored = 0;
	let pauseMs = draftMs;
	return {
		add: (event: RunEvent): void => {
			const text = getText(event);
			if (text === '') return;
			if (begunAt === undefined) begunAt = storedAt = Date.now();
			unstored += text.length;
			counter.add(text);
		},
		/** Stores a draft with `save`. If that throws, the draft counts as not stored. */
		store: (save: (written: Pick<Draft, 'tokens' | 'ms' | 'nextMs'>) => void): void => {
			const at = Date.now();
			const nextMs = pauseMs === draftMs ? secondMs : furtherMs;
			save({ tokens: Math.ceil(counter.total()), ms: begunAt === undefined ? 0 : at - begunAt, nextMs });
			[storedAt, unstored, pauseMs] = [at, 0, nextMs];
		},
		get pauseMs(): number {
			return pauseMs;
		},
		get isLong(): boolean {
			return unstored >= mostCharacters && Date.now() - storedAt >= soonestMs;
		},
	};
}

function getText(event: RunEvent): string {
	if (event.type === 'text' || event.type === 'reasoning') return event.text;
	if (event.type === 'tool_use_start') return event.name;
	return event.type === 'tool_use_input' ? event.partialInputJson : '';
}
