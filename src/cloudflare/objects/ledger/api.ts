import type { Units } from '../../../core/chat/reply.ts';
import type { Amount, BudgetState, Limit } from '../budget.ts';
import { loads, reach, usualLimitMs } from '../reach.ts';

export type UserScope = 'user-day' | 'user-total';

/** The budget of an owner's day, or one of the budgets of a user. */
export type BudgetScope = 'day' | UserScope;

export interface Refusal {
	readonly scope: BudgetScope;
	readonly state: BudgetState;
}

/** The reserved amount, or the budget that refuses. */
export type Reserved =
	/** The amount is less than requested if only a shorter reply is reserved. */
	{ readonly ok: true; readonly amount: Amount } | ({ readonly ok: false } & Refusal);

export interface LeaseRequest {
	readonly id: string;
	/** The highest possible cost of the next request. An unknown cost exceeds any cap, but is 0 without a cap. */
	readonly amount: Amount;
	readonly limit: Limit;
	/** The amount of a whole lease. It is reserved instead of `amount` while much of each budget is left. */
	readonly whole?: Amount;
	/** Missing if no shorter reply can be reserved. */
	readonly reply?: ReplyCost;
	readonly user?: string;
	readonly about?: LeaseFacts;
	/** Costs of earlier leases. They are settled first, even if the request is refused. */
	readonly owed?: readonly Cost[];
	/** The time until which the caller waits, in milliseconds since 1970. */
	readonly deadline?: number;
}

/** The cost of a request, for any length of its reply. Replies of the same agent and model have similar lengths. */
export interface ReplyCost {
	readonly agent: string;
	readonly model: string;
	/** The cost of the input alone. */
	readonly input: Amount;
	readonly perToken: Amount;
}

export interface LeaseFacts {
	readonly owner: string;
	/** The cost of the next call's input. A budget with less left counts as spent. */
	readonly input: Amount;
}

export interface Cost {
	readonly id: string;
	readonly amount: Amount;
	readonly user?: string;
	readonly agent?: string;
	/** The same amount, split by model. Missing if the models are unknown. */
	readonly parts?: readonly CostPart[];
}

export interface CostPart extends Amount {
	readonly model: string;
	/** Tokens without a known price. */
	readonly unpricedTokens: number;
	readonly inputTokens: number;
	readonly cachedInputTokens: number;
	/** The number of billed units, by the name of the unit. */
	readonly units?: Units;
	/** The number of tokens in the longest reply. Only a session reports it. */
	readonly longestReply?: number;
}

/** The spending of an agent on a model for a user. `*` stands for all other names. */
export interface SpentPart extends CostPart {
	readonly agent: string;
	readonly user?: string;
}

export interface DayPart extends SpentPart {
	readonly day: string;
}

export type PartField = 'agent' | 'model' | 'user';

/** The UTC day, such as `2026-11-22`. */
export interface Day {
	readonly day: string;
	readonly spent: Amount;
	/** Tokens without a known price. Missing if there are none. */
	readonly unpricedTokens?: number;
	/** Reserved for active runs. */
	readonly reserved: Amount;
}

/** The caps of a UTC day and in total. A missing cap allows everything. */
export interface UserCaps {
	readonly daily?: Limit;
	readonly total?: Limit;
}

/** What a shard takes over from the owner's ledger for a user. */
export interface Opening {
	readonly caps: UserCaps;
	readonly spent: Amount;
}

/** The budgets of a user. A budget without a cap has an empty `limit` and an empty `left`. */
export interface UserState {
	readonly caps: UserCaps;
	readonly daily: BudgetState;
	readonly total: BudgetState;
}

/** The report of a shard on a day, with the share that it asks for. */
export interface ShareRequest {
	readonly shard: string;
	/** UTC days since 1970. */
	readonly day: number;
	/** Grows with each request of the shard, so that a late request changes nothing. */
	readonly n: number;
	readonly spent: Amount;
	readonly reserved: Amount;
	/** What the shard needs now and what it wants, beyond what it has spent and reserved. */
	readonly needed: Amount;
	readonly wanted: Amount;
	readonly limit: Limit;
	readonly about?: LeaseFacts;
	readonly deadline?: number;
}

export interface GrantedShare {
	readonly n: number;
	/** How much the shard may have spent and reserved on that day, all in all. */
	readonly granted: Amount;
	/** The budget of the owner's day. */
	readonly state: BudgetState;
}

/**
 * The ledger of an owner: the cost of its model calls, by UTC day and user (docs/budgets.md). An `id` names a lease:
 * the part of a day's budget from which a run pays its calls. A ledger keeps an id for three days.
 *
 * A call after its `deadline` (milliseconds since 1970) throws.
 */
export interface LedgerApi {
	/**
	 * Reserves an amount for a lease on the current day. Refuses it if spending and reservations would then exceed
	 * the day's limit or a cap of the user. Reserves `whole` or `amount` while much of each budget is left. If little
	 * is left, possibly reserves only a usual reply of the agent (`store.ts`). A known id changes nothing and succeeds.
	 *
	 * If neither the day nor the user has a cap, a user's lease reserves nothing, and the answer's amount is infinite.
	 */
	reserve(request: LeaseRequest): Promise<Reserved>;
	/**
	 * Replaces reservations by the real costs, all or none. The costs count on the day of the reservation, even
	 * beyond the limit. A settled id changes nothing.
	 *
	 * An unknown id (its reservation did not arrive, or its day is removed) is charged once, to the current day
	 * and the user of the cost. A reservation that arrives after its settlement reserves nothing.
	 */
	settle(costs: readonly Cost[], deadline?: number): Promise<void>;
	state(limit: Limit, deadline?: number): Promise<BudgetState>;
	/** The days with spending among the last `count` days, including today. The newest day comes first. */
	days(count: number): Promise<Day[]>;
	/** The budgets of a user. An unknown user has no caps and has spent nothing. */
	userState(user: string, deadline?: number): Promise<UserState>;
	/**
	 * Notes what a shard has spent and reserved on a day, and grants it a share of the owner's budget (docs/scale.md,
	 * "Shards"). All shares together are never above the limit. A share counts as reserved until it is reported.
	 */
	share(request: ShareRequest): Promise<GrantedShare>;
	/** Returns what a user spent and reserved here, and the user's caps. Returns nothing if the ledger has no users. */
	findOpening(user: string, deadline?: number): Promise<Opening | undefined>;
	/** Replaces the caps of a user. The user's spending does not change. */
	setUserCaps(user: string, caps: UserCaps): Promise<void>;
	userDays(user: string, count: number): Promise<Day[]>;
	/**
	 * The spending of each of the last `count` days (the ledger keeps 90), summed up by the fields `by`. Other fields
	 * are `*`, or missing. If a day has too many agents, models or users, new names count as `*`.
	 */
	parts(by: readonly PartField[], count: number, user?: string): Promise<DayPart[]>;
	/** Moves the spending of a user to `*` in `parts`. The days and the caps of the user do not change. */
	eraseUser(user: string): Promise<void>;
}

export interface LedgerNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): LedgerApi;
}

const ledgerName = 'The ledger of this key';

/** Calls a ledger. Repeats failed calls, because an id counts only once. Measures whether the ledger keeps up. */
export function askLedger<T>(
	ledger: () => LedgerApi & { readonly id?: DurableObjectId },
	ask: (one: LedgerApi, deadline: number) => Promise<T>,
	timeoutMs = usualLimitMs,
): Promise<T> {
	const call = (deadline: number): Promise<T> => {
		const one = ledger();
		return loads.watch(String(one.id), () => ask(one, deadline));
	};
	return reach(call, { what: ledgerName, isSafe: true, timeoutMs });
}

/** Calls the ledger of an owner from a shard. The call is repeated, so it counts once. */
export function askOwnersLedger<T>(
	find: () => LedgerApi,
	ask: (one: LedgerApi, deadline: number) => Promise<T>,
	deadline = Date.now() + usualLimitMs,
): Promise<T> {
	const call = (until: number): Promise<T> => ask(find(), until);
	return reach(call, { what: ledgerName, isSafe: true, timeoutMs: deadline - Date.now() });
}

/** Settles costs. These calls are not measured as load of the ledger. */
export function settleCosts(ledger: () => LedgerApi, costs: readonly Cost[]): Promise<void> {
	const call = (deadline: number) => ledger().settle(costs, deadline);
	return reach(call, { what: ledgerName, isSafe: true, timeoutMs: usualLimitMs });
}

/** Whether a ledger is behind, as far as this isolate knows. */
export function isLedgerBehind(ledgers: LedgerNamespace, name: string): boolean {
	return loads.isBehind(String(ledgers.idFromName(name)));
}

/** Throws `overloaded` for new work if a ledger is behind, as far as this isolate knows. */
export function assertLedgerKeepsUp(ledgers: LedgerNamespace, name: string): void {
	loads.assertKeepsUp(String(ledgers.idFromName(name)), ledgerName);
}

/** The number of days before today whose leases are kept. */
export const keptDays = 2;

const dayMs = 86_400_000;

/** Turns milliseconds since 1970 into UTC days since 1970. */
export function toDay(time: number): number {
	return Math.floor(time / dayMs);
}

/** Such as `2026-11-22`. */
export function formatDay(day: number): string {
	return new Date(day * dayMs).toISOString().slice(0, 10);
}
