import type { Units } from '../../../core/chat/usage.ts';
import { loads } from '../admission.ts';
import type { Amount, BudgetState, Limit } from '../budget.ts';
import { reach, usualLimitMs } from '../reach.ts';

/** A budget of a user. */
export type UserScope = 'user-day' | 'user-total';

/** A budget that a ledger keeps: the owner's day, or one of a user. */
export type BudgetScope = 'day' | UserScope;

/** A budget that refuses an amount, and its state. */
export interface Refusal {
	readonly scope: BudgetScope;
	readonly state: BudgetState;
}

/** How much was reserved. If nothing, the budget that refuses. */
export type Reserved =
	/** The amount is less than what was asked for where only a shorter reply is reserved. */
	{ readonly ok: true; readonly amount: Amount } | ({ readonly ok: false } & Refusal);

/** A lease that is asked for. */
export interface LeaseRequest {
	readonly id: string;
	/**
	 * What the next request may cost. A part is infinite where nobody knows. It passes every cap, and counts as nothing where
	 * there is no cap.
	 */
	readonly amount: Amount;
	/** The limit of the owner's day. */
	readonly limit: Limit;
	/** What is reserved instead while there is plenty. */
	readonly whole?: Amount;
	/** What the next request costs by the length of its reply. Missing if the reply may not be shorter. */
	readonly reply?: ReplyCost;
	/** The user of the session. */
	readonly user?: string;
	/** What alerts need. */
	readonly about?: LeaseFacts;
	/** What earlier leases came to. They are settled first, even if the request is refused. */
	readonly owed?: readonly Cost[];
	/** Until when the caller waits, in milliseconds since 1970. */
	readonly deadline?: number;
}

/** What a request costs by the length of its reply, and whose replies are like it. */
export interface ReplyCost {
	readonly agent: string;
	readonly model: string;
	/** The cost without a reply. */
	readonly input: Amount;
	/** The cost of each token of the reply. */
	readonly perToken: Amount;
}

/** What alerts need to know of a lease. */
export interface LeaseFacts {
	readonly owner: string;
	/** What the input of the next call costs: the least that has to be left of a budget. */
	readonly input: Amount;
}

/** What the calls of one lease cost together. */
export interface Cost {
	readonly id: string;
	readonly amount: Amount;
	/** The user of the session that made the calls. */
	readonly user?: string;
	/** The agent of the session. */
	readonly agent?: string;
	/** The same amount by model. Missing where the models are not known. */
	readonly parts?: readonly CostPart[];
}

/** What calls to one model cost, and what they were billed for. */
export interface CostPart extends Amount {
	readonly model: string;
	/** Those of the tokens whose price, or a part of it, is not known. */
	readonly unpricedTokens: number;
	/** Those of the tokens that were sent. */
	readonly inputTokens: number;
	/** Those of the input that came from a cache. */
	readonly cachedInputTokens: number;
	/** What has a price of its own, by name. */
	readonly units?: Units;
	/** The tokens of the longest reply. Only a session tells it. */
	readonly longestReply?: number;
}

/** What an agent spent on calls to a model, for a user if there is one. `*` stands for all others. */
export interface SpentPart extends CostPart {
	readonly agent: string;
	readonly user?: string;
}

/** A part of what was spent on a day. */
export interface DayPart extends SpentPart {
	readonly day: string;
}

/** What the parts of a day are told apart by. */
export type PartField = 'agent' | 'model' | 'user';

/** What was spent on a day, in UTC, such as `2026-11-22`. */
export interface Day {
	readonly day: string;
	readonly spent: Amount;
	/** Those of the tokens whose price is not known. Missing if it is known of all. */
	readonly unpricedTokens?: number;
	/** Reserved for runs that go on. */
	readonly reserved: Amount;
}

/** What a user spent on a day. */
export interface UserDay extends Day {
	readonly user: string;
}

/** Where a page of `daysByUser` ends: at its last row. */
export type UserDayPlace = Pick<UserDay, 'day' | 'user'>;

/** What a user may spend on a day (UTC), and in all. A missing cap allows everything. */
export interface UserCaps {
	readonly daily?: Limit;
	readonly total?: Limit;
}

/** The caps of a user, and the states of both budgets. A budget without a cap has an empty limit, and nothing in `left`. */
export interface UserState {
	readonly caps: UserCaps;
	/** The state of the current day. */
	readonly daily: BudgetState;
	/** The state of all days together. */
	readonly total: BudgetState;
}

/**
 * The ledger of one owner: what its calls to models cost, by the UTC day and by the user (docs/budgets.md). An `id` names
 * one lease: a block of the day that a run makes its calls from. The ledger remembers an id for its first day and two more.
 *
 * A call whose `deadline` is over, in milliseconds since 1970, does nothing and throws.
 */
export interface LedgerApi {
	/**
	 * Reserves an amount for a lease, on the current day. Refuses, and reserves nothing, if spent, reserved and this
	 * amount together would pass the day's limit, or a cap of the user. Reserves `whole` instead while all that is reserved is
	 * then no more than half of what is not spent, of each budget, so that the first leases do not hold the last of a budget.
	 * Beyond that half it reserves a reply as long as the agent's replies have been lately (`replies.ts`).
	 * An id that came before changes nothing and succeeds.
	 *
	 * If neither the day nor the user has a cap, nothing is reserved for a user's lease, and the amount of the answer is
	 * infinite.
	 *
	 * A reservation stays until it is settled. One that nobody settles counts as if all of it were spent.
	 */
	reserve(request: LeaseRequest): Promise<Reserved>;
	/**
	 * Replaces reservations by the real costs, all or none, each on the day of its reservation and even past the limit.
	 * The cost of a lease without calls is zero. An id that is settled already changes nothing. A cost counts for the owner,
	 * and for the user of its lease.
	 *
	 * An unknown id (the reservation never arrived, or its day is forgotten) is charged to the current day, once, and to the
	 * user that the cost names. A reservation that arrives after its settlement reserves nothing.
	 */
	settle(costs: readonly Cost[], deadline?: number): Promise<void>;
	/** The state of the current day. */
	state(limit: Limit, deadline?: number): Promise<BudgetState>;
	/** Those of the last `count` days, with today, on which something was spent. The newest first. */
	days(count: number): Promise<Day[]>;
	/** The caps of a user and the states of both budgets. A user whom the ledger does not know has no caps and spent nothing. */
	userState(user: string, deadline?: number): Promise<UserState>;
	/** Replaces the caps of a user. Without any cap it removes them. What the user spent stays. */
	setUserCaps(user: string, caps: UserCaps): Promise<void>;
	/** Like `days`, for one user. */
	userDays(user: string, count: number): Promise<Day[]>;
	/**
	 * The last `count` days of all users on which they spent something: the newest day first, and the users of a day by their
	 * names. At most `daysByUserLimit` rows, from behind a place.
	 */
	daysByUser(count: number, after?: UserDayPlace): Promise<UserDay[]>;
	/**
	 * What was spent on each of the last `count` days, of which the ledger keeps 90, summed up by these fields. A field that
	 * is not among them is `*`, or missing. Of a day with many agents, models and users the last ones count as `*`.
	 */
	parts(by: readonly PartField[], count: number, user?: string): Promise<DayPart[]>;
	/** Makes what a user spent count as `*` in the parts. The days of the user and the caps stay. */
	eraseUser(user: string): Promise<void>;
}

/** The most rows of an answer of `daysByUser`. The next call begins behind the last row of such an answer. */
export const daysByUserLimit = 1_000;

/** The namespace of ledgers, named by their owners. */
export interface LedgerNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): LedgerApi;
}

/** How a ledger is called in errors. */
const ledgerName = 'The ledger of this key';

/**
 * Calls a ledger, on a new stub each time. Every call may be made twice, because an id counts once. How long it takes says
 * whether the ledger keeps up.
 */
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

/** Tells a ledger costs. They are no reason to refuse new work, which waits for what came before it. */
export function settleCosts(ledger: () => LedgerApi, costs: readonly Cost[]): Promise<void> {
	const call = (deadline: number) => ledger().settle(costs, deadline);
	return reach(call, { what: ledgerName, isSafe: true, timeoutMs: usualLimitMs });
}

/** Whether an owner's ledger is behind, as far as this isolate knows. */
export function isLedgerBehind(ledgers: LedgerNamespace, owner: string): boolean {
	return loads.isBehind(String(ledgers.idFromName(owner)));
}

/** Throws `overloaded` for new work where an owner's ledger is behind, as far as this isolate knows. */
export function assertLedgerKeepsUp(ledgers: LedgerNamespace, owner: string): void {
	loads.assertKeepsUp(String(ledgers.idFromName(owner)), ledgerName);
}
