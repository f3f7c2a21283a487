import type { RunEvent } from '../../../core/chat/index.ts';
import { createTokenCounter } from '../../../core/chat/tokens.ts';
import { toFailureFields, log as writeLog } from '../../log.ts';
import { longestPart } from '../store/run-end.ts';
import type { Journal } from './journal.ts';
import type { Work } from './run.ts';

/** How often a draft of the turn is stored while the model writes, in milliseconds. */
export const draftMs = 1_000;

/**
 * Stores drafts of the turn that the model is writing, on a timer and not by the delta. After a crash a reader finds most
 * of it before `turn.restarted`. A turn that is over sooner costs no write.
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
		// If the turn is already stored or asked again, the journal is ahead of what was shown.
		if (events.length === 0 || iteration !== journal.iteration + 1 || log.restarts !== journal.restarts) return;
		try {
			const about = { iteration, restarts: journal.restarts, call: meter.call, ...written.read() };
			store.runs.draft(record.n, { ...about, events });
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
