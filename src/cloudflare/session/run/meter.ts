import { estimateReply } from '../../../core/chat/estimate.ts';
import type { ChatUsage, Message, Meter, MeteredRequest } from '../../../core/chat/index.ts';
import type { AtCrashPoint } from '../../agent/crash.ts';
import {
	type Amount,
	type BudgetState,
	budgetState,
	createAmount,
	exceedsLimit,
	isBounded,
	type Limit,
	nothing,
} from '../../rpc/budget.ts';
import { askLedger, type LedgerApi } from '../../rpc/ledger.ts';
import type { RunRecord } from '../store/runs.ts';
import type { Charge } from '../store/spending.ts';
import { ledgerId, type SessionStore } from '../store/store.ts';
import { createBudgetError, type ModelFacts, toAmount, toReservation } from './charge.ts';

/** The account of one run. It sets aside what a request may cost, and settles it afterwards. */
export interface SessionMeter extends Meter {
	/** Settles the request that has returned a message. Call it in the transaction that stores that. */
	readonly settle: (usage: ChatUsage | undefined, message: Message) => void;
	/** The number of the current request. */
	readonly call: number | undefined;
}

/** What a run's account needs. */
export interface MeterOptions extends ModelFacts {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	/** What the session may spend. It is read each time, because it may be raised. */
	readonly limit: () => Limit;
	/** The ledger of the session's owner. */
	readonly owner?: OwnerLedger;
	readonly atCrashPoint: AtCrashPoint;
}

/** An owner's ledger, and the limit of a day. */
export interface OwnerLedger {
	/** Returns a new stub each time, because one that has failed stays broken. */
	readonly ledger: () => LedgerApi;
	readonly limit: Limit;
	/** Tells the ledger what earlier calls cost, if it can be reached. */
	readonly settleUp: () => Promise<void>;
}

/**
 * Keeps the budgets of a session and its owner (docs/budgets.md). A request that might exceed a limit is not made. One
 * that was cut off is charged by what was seen of it.
 */
export function createSessionMeter(options: MeterOptions): SessionMeter {
	const { store, record, limit, owner, atCrashPoint } = options;
	const bounded = owner !== undefined && isBounded(owner.limit) ? owner : undefined;
	let open: Charge | undefined;

	const settle = (amount: Amount): void => {
		if (open !== undefined) store.settle(open, amount);
		open = undefined;
	};
	const charge = (usage: ChatUsage | undefined, outputTokens: number, isCut: boolean): void =>
		settle(open === undefined ? nothing : toAmount(open, { usage, outputTokens, isCut }));

	/** Sets aside what fits the session's budget and the owner's day. Returns the state of the day if its ledger refused. */
	const setAside = async (
		request: MeteredRequest,
		day = bounded && budgetState(bounded.limit, nothing, nothing),
	): Promise<number | undefined | BudgetState> => {
		const { cap, amount, estimate } = await toReservation(options, request, readBudgetState(store, limit()), day);
		const state = readBudgetState(store, limit());
		if (exceedsLimit(state, amount)) throw createBudgetError('session', state, amount);
		if (day !== undefined && exceedsLimit(day, amount)) throw createBudgetError('day', day, amount);
		const owed = owner !== undefined;
		open = store.spending.reserve({ run: record.n, model: request.model, amount, owed, estimate }, Date.now());
		if (bounded === undefined) return cap;
		try {
			const id = ledgerId(record.id, open.call);
			const answer = await askLedger(bounded.ledger, (one) => one.reserve(id, amount, bounded.limit));
			if (answer.ok) return cap;
			settle(nothing);
			return answer.state;
		} catch (error) {
			settle(nothing);
			throw error;
		}
	};

	return {
		reserve: async (request) => {
			if (bounded !== undefined) await owner?.settleUp();
			const first = await setAside(request);
			// After a refusal the rest of the day is known. A shorter reply may fit.
			const cap = typeof first === 'object' ? await setAside(request, first) : first;
			if (typeof cap === 'object') throw createBudgetError('day', cap, nothing);
			await atCrashPoint('model-begin');
			return cap;
		},
		lost: (usage, cut, outputTokens) => {
			if (!cut && !isSaid(usage)) settle(nothing);
			else charge(usage, outputTokens, cut);
		},
		settle: (usage, message) => charge(usage, message.role === 'assistant' ? estimateReply(message) : 0, false),
		get call() {
			return open?.call;
		},
	};
}

/** Returns whether a provider reported what a request cost. */
function isSaid({ inputTokens, outputTokens, totalTokens }: ChatUsage = {}): boolean {
	return inputTokens !== undefined || outputTokens !== undefined || totalTokens !== undefined;
}

/** Returns the state of the session's own budget. */
export function readBudgetState(store: SessionStore, limit: Limit): BudgetState {
	return budgetState(limit, createAmount(store.spending.total()), store.spending.open()?.amount ?? nothing);
}
