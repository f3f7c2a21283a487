import type { ChatUsage, Meter, MeteredRequest } from '../chat/index.ts';
import { RunletError } from '../errors.ts';
import { type Amount, amountOf, nothing } from '../ledger/amount.ts';
import type { LedgerApi } from '../ledger/api.ts';
import { type BudgetState, budgetState, type Limit, wouldPass } from '../ledger/budget.ts';
import type { AtCrashPoint } from './crash.ts';
import type { RunRecord } from './rows/run.ts';
import type { Charge } from './rows/spending.ts';
import type { SessionStore } from './store.ts';

/** The account of one run: what its requests may cost is set aside before them and settled after them. */
export interface SessionMeter extends Meter {
	/** The request has given a message. Call it in the transaction that stores that. */
	readonly settle: (usage: ChatUsage | undefined) => void;
}

/** What a run's account is kept with. */
export interface MeterOptions {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	/** What the session may spend; asked each time, as it may be raised. */
	readonly limit: () => Limit;
	/** The price of a request in US dollars, if somebody knows it. */
	readonly priceOf: (
		model: string,
		tokens: { readonly inputTokens: number; readonly outputTokens: number },
	) => number | undefined | Promise<number | undefined>;
	/** The ledger of the session's owner, where the owner's days have a limit. */
	readonly owner?: OwnerLedger | undefined;
	readonly atCrashPoint: AtCrashPoint;
}

/** An owner's ledger, and what may be spent in a day. */
export interface OwnerLedger {
	/** A new stub each time: one that has failed stays broken. */
	readonly ledger: () => LedgerApi;
	readonly limit: Limit;
}

/** The longest reply that is set aside for where the agent does not bound it, in tokens. */
const usualReply = 8_192;

/** The shortest reply that is worth asking for, in tokens. */
const shortestReply = 16;

/**
 * Keeps a session's budget and its owner's (design.md, "Budgets"). Fail-closed: a request that might go past a limit is
 * not made, one that was cut off is charged with all that was set aside for it, and so is one whose cost nobody says.
 */
export function sessionMeter(options: MeterOptions): SessionMeter {
	const { store, record, limit, owner, atCrashPoint } = options;
	let open: Charge | undefined;

	const settle = (amount: Amount): void => {
		if (open !== undefined) store.spending.settle(open.call, amount);
		open = undefined;
	};
	const cost = (usage: ChatUsage | undefined): Amount => {
		const reserved = open?.amount ?? nothing;
		const tokens = counted(usage?.totalTokens) ?? sum(usage?.inputTokens, usage?.outputTokens);
		return amountOf({ tokens: tokens ?? reserved.tokens, usd: counted(usage?.costUsd) ?? reserved.usd });
	};

	/** Sets aside what fits the session's budget and the owner's day, as far as it is known; gives its state where it refused. */
	const setAside = async (
		request: MeteredRequest,
		day = owner && budgetState(owner.limit, nothing, nothing),
	): Promise<number | undefined | BudgetState> => {
		const { cap, amount } = await amountFor(options, request, [stateOf(store, limit()), ...(day ? [day] : [])]);
		const state = stateOf(store, limit());
		if (wouldPass(state, amount)) throw exceeded('session', state, amount);
		if (day !== undefined && wouldPass(day, amount)) throw exceeded('day', day, amount);
		const owed = owner !== undefined;
		open = store.spending.reserve({ run: record.n, model: request.model, amount, owed }, Date.now());
		if (owner === undefined) return cap;
		try {
			const id = idOf(record.id, open.call);
			const answer = await reached(owner.ledger, (one) => one.reserve(id, amount, owner.limit));
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
			if (owner !== undefined) await tellOwner(store, owner);
			const first = await setAside(request);
			// What is left of the day is known once it refused: a shorter reply may fit.
			const cap = typeof first === 'object' ? await setAside(request, first) : first;
			if (typeof cap === 'object') throw exceeded('day', cap, nothing);
			await atCrashPoint('model-begin');
			return cap;
		},
		lost: (usage, cut) => {
			const seen = usage === undefined && !cut ? nothing : cost(usage);
			const reserved = open?.amount ?? nothing;
			settle(cut ? { tokens: Math.max(seen.tokens, reserved.tokens), usd: Math.max(seen.usd, reserved.usd) } : seen);
		},
		settle: (usage) => settle(cost(usage)),
	};
}

/** Charges a request that a crash cut off with all that was set aside for it; whether there was one. */
export function chargeLost(store: SessionStore): boolean {
	const open = store.spending.open();
	if (open !== undefined) store.spending.settle(open.call, open.amount);
	return open !== undefined;
}

/** Where the session's own budget stands. */
export function stateOf(store: SessionStore, limit: Limit): BudgetState {
	return budgetState(limit, amountOf(store.spending.total()), store.spending.open()?.amount ?? nothing);
}

/** Tells the owner's ledger what the session's settled requests came to. */
export async function tellOwner(store: SessionStore, { ledger }: OwnerLedger): Promise<void> {
	for (const { call, run, amount } of store.spending.owed()) {
		const runId = store.runs.get(run)?.id ?? '';
		await reached(ledger, (one) => one.settle(idOf(runId, call), amount));
		store.spending.told(call);
	}
}

/** What is set aside for a request, and the longest reply that this allows. */
async function amountFor(
	{ priceOf }: Pick<MeterOptions, 'priceOf'>,
	{ model, inputTokens, maxOutputTokens }: MeteredRequest,
	states: readonly BudgetState[],
): Promise<{ readonly cap: number | undefined; readonly amount: Amount }> {
	const price = async (outputTokens: number) => priceOf(model, { inputTokens, outputTokens });
	const inDollars = states.some(({ limit }) => limit.usd !== undefined);
	const base = await price(0);
	if (inDollars && base === undefined) throw unpriced(model);
	const bounded = inDollars || states.some(({ limit }) => limit.tokens !== undefined);
	let cap = maxOutputTokens;
	if (cap === undefined && bounded) {
		const perToken = inDollars ? (((await price(1_000)) ?? 0) - (base ?? 0)) / 1_000 : 0;
		const rooms = states.flatMap(({ left }) => [
			left.tokens === undefined ? usualReply : left.tokens - inputTokens,
			left.usd === undefined || perToken === 0 ? usualReply : (left.usd - (base ?? 0)) / perToken,
		]);
		cap = Math.max(shortestReply, Math.floor(Math.min(usualReply, ...rooms)));
	}
	const outputTokens = cap ?? 0;
	return { cap, amount: amountOf({ tokens: inputTokens + outputTokens, usd: (await price(outputTokens)) ?? 0 }) };
}

/** What a ledger answers. A call that failed on its way is made again; one that met an overloaded ledger is not. */
async function reached<T>(ledger: () => LedgerApi, ask: (one: LedgerApi) => Promise<T>): Promise<T> {
	for (let tries = 1; ; tries++) {
		try {
			return await ask(ledger());
		} catch (cause) {
			const again = cause instanceof Error && Reflect.get(cause, 'retryable') === true;
			const overloaded = cause instanceof Error && Reflect.get(cause, 'overloaded') === true;
			if (again && !overloaded && tries < 3) continue;
			const message = 'The ledger of this key could not be reached, so no model was asked. Continue in a moment.';
			throw new RunletError('overloaded', message, undefined, { cause });
		}
	}
}

/** A request's name in the ledger. A session that is made again under its key has the same id, but other runs. */
function idOf(runId: string, call: number): string {
	return `${runId}.${call}`;
}

function exceeded(scope: 'session' | 'day', state: BudgetState, needs: Amount): RunletError {
	const whose = scope === 'session' ? 'This session' : 'This key';
	const per = scope === 'session' ? '' : ' a day';
	const remedy =
		scope === 'session'
			? 'Raise its budget (PATCH the session), then continue.'
			: 'Raise the budget of the day or wait for tomorrow (UTC), then continue.';
	return new RunletError(
		'budget_exceeded',
		`budget: ${whose} may spend ${amountText(state.limit)}${per}; ${amountText(state.left)} left, and the next request may need ${amountText(capped(needs, state.limit))}. ${remedy}`,
		{ scope, ...state, needs },
	);
}

function unpriced(model: string): RunletError {
	const message = `budget: nobody knows the price of "${model}", so a budget in dollars cannot be kept on it. Give the budget in tokens, or choose another model.`;
	return new RunletError('budget_exceeded', message, { model });
}

/** An amount, as far as there is a cap on it. */
function capped({ tokens, usd }: Amount, limit: Limit): Limit {
	return { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
}

function amountText({ tokens, usd }: Limit): string {
	const parts = [tokens === undefined ? [] : `${tokens} tokens`, usd === undefined ? [] : `$${usd}`].flat();
	return parts.join(' and ') || 'nothing';
}

/** What a provider says, if it can be counted with. */
function counted(value: number | undefined): number | undefined {
	return value !== undefined && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Both together; one that was said and cannot be counted with spoils the sum. */
function sum(a: number | undefined, b: number | undefined): number | undefined {
	const said = [a, b].filter((part) => part !== undefined && part !== null);
	const known = said.flatMap((part) => counted(part) ?? []);
	return known.length === 0 || known.length < said.length ? undefined : known.reduce((total, part) => total + part, 0);
}
