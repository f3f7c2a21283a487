import type { ChatOptions, Message, SideEvent } from '../chat/index.ts';
import type { AtCrashPoint } from './crash.ts';
import type { InboundContext } from './inbound.ts';
import type { SessionMeter } from './meter.ts';
import type { RunRecord } from './rows/run.ts';
import type { SessionStore } from './store.ts';

/** What a run's loop is told so that it writes its journal. */
export type JournalHooks = Required<Pick<ChatOptions, 'onMessage' | 'onToolCall' | 'onQuestion' | 'steer' | 'meter'>>;

/** The journal of one run: each step is in the store before the next one begins. */
export interface Journal {
	readonly hooks: JournalHooks;
	/** Times that the current turn was asked again. */
	readonly restarts: number;
	/** Notes and warnings that were stored with a message. */
	readonly sides: number;
}

/** What the journal of a run is made from. */
export interface JournalOptions {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'id' | 'restarts'>;
	readonly meter: SessionMeter;
	/** Told of the messages that the run takes up on its way. */
	readonly inbound: InboundContext;
	/** A message that waited was taken up by the run. */
	readonly onSteered: (id: number) => void;
	readonly atCrashPoint: AtCrashPoint;
}

export function journalOf(options: JournalOptions): Journal {
	const { store, record, meter, inbound: context, onSteered, atCrashPoint } = options;
	const state = { restarts: record.restarts, sides: 0 };
	/** What was said with a summary, which stands among older messages, belongs to the message behind it. */
	let kept: readonly SideEvent[] = [];

	const onMessage: JournalHooks['onMessage'] = (message, about) => {
		const { turn, spent, haltedReason, inFrontOf } = about;
		const before = [...kept, ...about.before];
		if (inFrontOf !== undefined) {
			store.transaction(() => store.addSummary(record.n, message, Date.now(), inFrontOf));
			kept = before;
			return undefined;
		}
		const { restarts } = state;
		const more = {
			...(turn !== undefined && { turn }),
			...(turn !== undefined && restarts > 0 && { restarts }),
			...(before.length > 0 && { before }),
			...(haltedReason !== undefined && { haltedReason }),
		};
		store.transaction(() => {
			store.messages.add(record.n, message, Date.now(), more);
			if (turn === undefined) return;
			meter.settle(spent, message);
			if (restarts > 0) store.runs.restarted(record.n, 0);
		});
		kept = [];
		state.sides += before.length;
		if (turn !== undefined) state.restarts = 0;
		return atCrashPoint(message.role === 'tool' ? 'tool-end' : 'model-end');
	};

	return {
		hooks: {
			onMessage,
			onToolCall: (call, tool) => {
				if (tool.retry !== 'safe') store.calls.note(store.messages.lastTurn(), call, 'begun', Date.now());
				return atCrashPoint('tool-begin');
			},
			onQuestion: (question, call) => store.calls.note(store.messages.lastTurn(), call, 'begun', Date.now(), question),
			steer: () =>
				store.transaction((): Message[] =>
					store.queue.steering().map(({ id, message, inbound, key, callback }) => {
						store.queue.remove(id);
						store.messages.add(record.n, message, Date.now(), { input: true, inbound });
						context.arrived(message, inbound);
						if (key !== undefined) store.deliveries.begun(key, record.n);
						if (callback !== undefined) store.callbacks.add({ run: record.n, runId: record.id, url: callback });
						onSteered(id);
						return message;
					}),
				),
			meter,
		},
		get restarts() {
			return state.restarts;
		},
		get sides() {
			return state.sides;
		},
	};
}
