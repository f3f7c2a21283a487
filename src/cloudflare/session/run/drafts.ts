import type { RunEvent } from '../../../core/chat/index.ts';
import { createTokenCounter } from '../../../core/chat/tokens.ts';
import { toFailureFields, log as writeLog } from '../../log.ts';
import type { RunLog } from '../events/log.ts';
import { longestPart } from '../store/run-end.ts';
import { type Draft, draftMs } from '../store/runs.ts';
import type { Journal, JournalOptions } from './journal.ts';

/**
 * The pauses before the second draft and each further one, in milliseconds. A draft is a row, which costs; and a call that a
 * crash cuts off is charged what it may have written until the next draft.
 */
const [secondMs, furtherMs] = [2_500, 7_200];

/** So many characters more are stored before the pause is over, but not so soon after the last draft, in milliseconds. */
const [mostCharacters, soonestMs] = [4_096, 1_000];

interface DraftsOptions extends Pick<JournalOptions, 'atCrashPoint'> {
	readonly record: Pick<JournalOptions['record'], 'id'>;
	readonly meter: Pick<JournalOptions['meter'], 'call'>;
	readonly save: (draft: Draft) => void;
}

/**
 * Stores drafts of the turn that the model is writing, at growing pauses. After a crash a reader finds most of the turn before
 * `turn.restarted`. A turn that is over before the first one costs no write.
 */
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
		// If the turn is already stored or asked again, the journal is ahead of what was shown.
		if (events.length === 0 || iteration !== journal.iteration + 1 || log.restarts !== journal.restarts) return;
		try {
			const about = { iteration, restarts: journal.restarts, call: meter.call };
			turn.store((written) => save({ ...about, ...written, events }));
		} catch (cause) {
			// The next draft may succeed. Without any, readers see less of a turn that is asked again.
			writeLog('warn', 'run.draft_not_stored', { 'runlet.run.id': record.id, ...toFailureFields(cause) });
			return;
		}
		void atCrashPoint('draft');
	};
	return {
		/** Takes events that were shown. */
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

/** The progress of a turn that a draft holds. */
interface Written {
	/** Tokens of the turn, by an estimate. */
	readonly tokens: number;
	/** Milliseconds since the first of them. */
	readonly ms: number;
	/** Milliseconds until the next draft. */
	readonly nextMs: number;
}

/** Counts what the model writes of a turn. */
function createTurn(now: () => number = Date.now) {
	const counter = createTokenCounter();
	let begunAt: number | undefined;
	let storedAt = 0;
	let unstored = 0;
	let pauseMs = draftMs;
	return {
		add: (event: RunEvent): void => {
			const text = getText(event);
			if (text === '') return;
			if (begunAt === undefined) begunAt = storedAt = now();
			unstored += text.length;
			counter.add(text);
		},
		/** Stores a draft by `save`. If that throws, the draft counts as not stored. */
		store: (save: (written: Written) => void): void => {
			const at = now();
			const nextMs = pauseMs === draftMs ? secondMs : furtherMs;
			save({ tokens: Math.ceil(counter.total()), ms: begunAt === undefined ? 0 : at - begunAt, nextMs });
			[storedAt, unstored, pauseMs] = [at, 0, nextMs];
		},
		/** The time until the next draft, in milliseconds. */
		get pauseMs(): number {
			return pauseMs;
		},
		/** Whether so much came since the last draft that the next one is due. */
		get isLong(): boolean {
			return unstored >= mostCharacters && now() - storedAt >= soonestMs;
		},
	};
}

function getText(event: RunEvent): string {
	if (event.type === 'text' || event.type === 'reasoning') return event.text;
	if (event.type === 'tool_use_start') return event.name;
	return event.type === 'tool_use_input' ? event.partialInputJson : '';
}
