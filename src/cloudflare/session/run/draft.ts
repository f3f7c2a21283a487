import type { RunEvent } from '../../../core/chat/index.ts';
import { createTokenCounter } from '../../../core/chat/tokens.ts';
import { toFailureFields, log as writeLog } from '../../log.ts';
import { longestPart } from '../store/run-end.ts';
import type { Journal } from './journal.ts';
import type { Work } from './run.ts';

/** What is shown of a turn reaches the store this often, in milliseconds, while the model writes it. */
export const draftMs = 1_000;

/**
 * Keeps what was shown of a turn that is not stored yet, on a timer and not by the delta: after a crash a reader finds
 * most of it in front of `turn.restarted`. A turn that is over sooner costs no write.
 */
export function createDrafts(
	{ store, record, log, meter, atCrashPoint }: Pick<Work, 'store' | 'record' | 'log' | 'meter' | 'atCrashPoint'>,
	journal: Journal,
) {
	const written = createTurnCounter();
	let timer: ReturnType<typeof setTimeout> | undefined;
	const write = (): void => {
		timer = undefined;
		const events = log.draft(longestPart);
		const iteration = log.turns + 1;
		// The journal is ahead of what was shown where the turn is stored already, or asked again.
		if (events.length === 0 || iteration !== journal.iteration + 1 || log.restarts !== journal.restarts) return;
		try {
			const about = { iteration, restarts: journal.restarts, call: meter.call, ...written.read() };
			store.runs.draft(record.n, { ...about, events });
		} catch (cause) {
			// The next one may be stored, and without any a reader sees less of a turn that is asked again.
			writeLog('warn', 'run.draft_not_stored', { 'runlet.run.id': record.id, ...toFailureFields(cause) });
			return;
		}
		void atCrashPoint('draft');
	};
	return {
		/** More was shown. */
		change: (events: readonly RunEvent[]): void => {
			written.add(events);
			timer ??= log.writing ? setTimeout(write, draftMs) : undefined;
		},
		stop: (): void => {
			if (timer !== undefined) clearTimeout(timer);
			timer = undefined;
		},
	};
}

/** Counts what the model writes of a turn. */
function createTurnCounter(now: () => number = Date.now) {
	let counter = createTokenCounter();
	let begunAt: number | undefined;
	return {
		add: (events: readonly RunEvent[]): void => {
			for (const event of events) {
				if (event.type === 'stop' || event.type === 'turn.restarted') {
					counter = createTokenCounter();
					begunAt = undefined;
					continue;
				}
				const text = getText(event);
				if (text === '') continue;
				begunAt ??= now();
				counter.add(text);
			}
		},
		/** Tokens of the turn, and the milliseconds since its first. */
		read: () => ({ tokens: Math.ceil(counter.total()), ms: begunAt === undefined ? 0 : now() - begunAt }),
	};
}

function getText(event: RunEvent): string {
	if (event.type === 'text' || event.type === 'reasoning') return event.text;
	if (event.type === 'tool_use_start') return event.name;
	return event.type === 'tool_use_input' ? event.partialInputJson : '';
}
