import type { ChatOptions, Question, SideEvent } from '../../../core/chat/index.ts';
import type { Meter } from '../../../core/chat/meter.ts';
import type { Resumption } from '../../../core/chat/resumption.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import type { AtCrashPoint } from '../../agent/crash.ts';
import type { InboundContext } from '../store/inbound.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import type { SessionMeter } from './meter.ts';

/** What a run's loop is told so that it writes its journal. */
export type JournalHooks = {
	readonly [Hook in 'onMessage' | 'onToolCall' | 'onQuestion' | 'onRestart' | 'steer' | 'meter']: NonNullable<
		ChatOptions[Hook]
	>;
};

/** The journal of one run: each step is in the store before the next one begins. */
export interface Journal {
	readonly hooks: JournalHooks;
	/** Turns of the model that are stored. */
	readonly iteration: number;
	/** Times that readers were told that the current turn is asked again. */
	readonly restarts: number;
	/** Notes and warnings that were stored with a message, or said again since. */
	readonly sides: number;
}

/** What the journal of a run is made from. */
export interface JournalOptions {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'id' | 'boot' | 'attempt' | 'restarts'>;
	/** Where it is taken up. */
	readonly resume?: Resumption;
	/** Resolves once all that was written is durable. */
	readonly sync: () => Promise<void>;
	readonly meter: SessionMeter;
	/** Told of the messages that the run takes up on its way. */
	readonly inbound: InboundContext;
	/** A message that waited was taken up by the run. */
	readonly onSteered: (id: number) => void;
	readonly atCrashPoint: AtCrashPoint;
}

export function createJournal(options: JournalOptions): Journal {
	const { store, record, resume, sync, meter, inbound: context, onSteered, atCrashPoint } = options;
	const state = { iteration: resume?.iteration ?? 0, restarts: record.restarts, sides: 0 };
	/** The turn that is marked as asked for. */
	let asked: number | undefined;
	/** What was said with a summary, which stands among older messages, belongs to the message behind it. */
	let kept: readonly SideEvent[] = [];

	/** Writes together, and nothing any more once this life of the run is over. */
	const write = <T>(work: () => T): T =>
		store.transaction(() => {
			store.runs.assertOpen(record);
			return work();
		});
	const onMessage: JournalHooks['onMessage'] = async (message, about) => {
		const { turn, spent, haltedReason, inFrontOf } = about;
		const before = [...kept, ...about.before];
		if (inFrontOf !== undefined) {
			write(() => store.addSummary(record.n, message, Date.now(), inFrontOf));
			kept = before;
			return;
		}
		const { restarts } = state;
		const more = {
			turn,
			...(turn !== undefined && restarts > 0 && { restarts }),
			...(before.length > 0 && { before }),
			haltedReason,
		};
		write(() => {
			store.messages.add(record.n, message, Date.now(), more);
			if (turn === undefined) return;
			meter.settle(spent, message);
			if (restarts > 0) store.runs.markRestarted(record.n, 0);
		});
		kept = [];
		state.sides += before.length;
		if (turn !== undefined) Object.assign(state, { iteration: turn.iteration, restarts: 0 });
		// Whatever its calls do to the process, even while they are checked: the model is not asked for them again.
		if (message.role === 'assistant' && message.toolCalls !== undefined) await sync();
		return atCrashPoint(message.role === 'tool' ? 'tool-end' : 'model-end');
	};
	/** The turn's mark comes before its request, and both are durable before anything of it can be shown. */
	const reserve: Meter['reserve'] = async (request) => {
		const iteration = state.iteration + 1;
		if (asked !== iteration)
			write(() => store.runs.draft(record.n, { iteration, restarts: state.restarts, events: [] }));
		asked = iteration;
		const cap = await meter.reserve(request);
		await sync();
		return cap;
	};

	return {
		hooks: {
			onMessage,
			onToolCall: async (call, tool) => {
				if (tool.retry !== 'safe') {
					write(() => noteBegun(store, call));
					await sync();
				}
				return atCrashPoint('tool-begin');
			},
			onQuestion: (question, call) => write(() => noteBegun(store, call, question)),
			onRestart: async (_, repeated) => {
				write(() => store.runs.markRestarted(record.n, state.restarts + 1));
				state.restarts++;
				state.sides += repeated.length;
				await sync();
			},
			steer: () => {
				const taken = write(() => {
					const waiting = store.queue.steering();
					for (const { id, message, inbound, key, callback } of waiting) {
						store.queue.remove(id);
						store.messages.add(record.n, message, Date.now(), { input: true, inbound });
						if (key !== undefined) store.deliveries.endWaiting(key, record.n);
						if (callback !== undefined) store.callbacks.add({ run: record.n, runId: record.id, url: callback });
					}
					return waiting;
				});
				for (const { id, message, inbound } of taken) {
					context.accept(message, inbound);
					onSteered(id);
				}
				return taken.map(({ message }) => message);
			},
			meter: { reserve, lost: meter.lost },
		},
		get iteration() {
			return state.iteration;
		},
		get restarts() {
			return state.restarts;
		},
		get sides() {
			return state.sides;
		},
	};
}

function noteBegun(store: SessionStore, call: ToolCall, question?: Question): void {
	store.calls.note(store.messages.lastTurn(), call, 'begun', Date.now(), question);
}
