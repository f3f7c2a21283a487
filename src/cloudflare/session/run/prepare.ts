import { type RunEvent, resolveRegistration } from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/resumption.ts';
import type { AtCrashPoint } from '../../agent/crash.ts';
import type { Limit } from '../../rpc/budget.ts';
import { RunLog } from '../events/log.ts';
import { InboundContext } from '../store/inbound.ts';
import { listApprovedCalls, listQuestions } from '../store/pending.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import { chargeLost } from './charge.ts';
import { type createChatOptions, readHistory } from './chat-options.ts';
import type { OwnerLedger } from './meter.ts';
import { createSessionMeter, readBudgetState } from './meter.ts';
import { type Ended, RunCounter } from './metrics.ts';
import type { Work } from './run.ts';

/** What a session lends each of its runs. */
export interface RunContext {
	readonly store: SessionStore;
	readonly options: ReturnType<typeof createChatOptions>;
	/** What the session may spend. It is read each time, because it may be raised. */
	readonly limit: () => Limit;
	readonly ledger: OwnerLedger;
	readonly atCrashPoint: AtCrashPoint;
	readonly onSteered: (id: number) => void;
	/** Told once the run's end is stored. */
	readonly onEnded: (ended: Ended) => void;
}

/**
 * Reads all that a run needs, in the transaction that stores it.
 *
 * @param taken what the readers of a run that is taken up were shown, and how it goes on.
 */
export function prepareRun(
	context: RunContext,
	record: RunRecord,
	taken: { readonly events?: readonly RunEvent[]; readonly resume?: Resumption } = {},
): Work {
	const { store, options, limit, ledger, atCrashPoint, onSteered, onEnded } = context;
	const { id: sessionId, owner } = store.session();
	const counter = new RunCounter(taken.events);
	const history = readHistory(store, options);
	const inbound = new InboundContext(history, owner);
	return {
		store,
		record,
		log: new RunLog(record.n, taken.events),
		counter,
		resume: taken.resume,
		inbound,
		sync: () => store.sync(),
		atCrashPoint,
		options: {
			...options,
			context: { sessionId, runId: record.id },
			skillContext: () => inbound.current,
			stopAfter: record.stopAfter,
			approved: listApprovedCalls(store),
			asked: listQuestions(store),
			takenIds: store.calls.listAskedIds(),
		},
		history: history.map(({ message }) => message),
		meter: createSessionMeter({
			store,
			record,
			atCrashPoint,
			limit,
			computePrice: (model, tokens) => resolveRegistration({ ...options, model })?.computePrice?.(model, tokens),
			contextWindow: (model) => resolveRegistration({ ...options, model })?.contextWindow?.(model),
			owner: ledger,
		}),
		lastEvent: (event) =>
			event.type === 'done' ? { ...event, budget: { ...readBudgetState(store, limit()) } } : event,
		onSteered,
		onEnd: (event) => {
			const asked = event.type === 'awaiting' ? (event.toolCalls ?? []) : [];
			for (const call of asked) store.calls.note(store.messages.lastTurn(), call, 'asked', Date.now());
			// A request is still open only if its message could not be stored.
			chargeLost(store, store.runs.get(record.n)?.draft);
		},
		onEnded: (event, firstAt) => onEnded({ event, tally: counter.tally, transport: inbound.transport, firstAt }),
	};
}
