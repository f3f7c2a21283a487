import type { Env } from '../../../core/ground/env.ts';
import type { Amount, BudgetState, Limit } from '../budget.ts';
import { DurableObject } from '../durable-object.ts';
import type {
	Cost,
	Day,
	DayPart,
	LedgerApi,
	PartField,
	Reserved,
	UserCaps,
	UserDay,
	UserDayPlace,
	UserState,
} from './api.ts';
import { toDay } from './day.ts';
import { LedgerStore } from './store.ts';

/** The Durable Object of an owner's ledger. */
export class Ledger extends DurableObject<Env> implements LedgerApi {
	readonly #store: LedgerStore;
	readonly #now: () => number;

	/** @param now the clock, in milliseconds since 1970. */
	constructor(ctx: DurableObjectState, env: Env, { now = Date.now }: { readonly now?: () => number }) {
		super(ctx, env);
		this.#now = now;
		this.#store = new LedgerStore(ctx.storage);
	}

	async reserve(id: string, amount: Amount, limit: Limit, whole?: Amount, user?: string): Promise<Reserved> {
		return this.#store.reserve(this.#today, { id, amount, whole, user }, limit);
	}

	async settle(costs: readonly Cost[]): Promise<void> {
		this.#store.settle(this.#today, costs);
	}

	async state(limit: Limit): Promise<BudgetState> {
		return this.#store.state(this.#today, limit);
	}

	async days(count: number): Promise<Day[]> {
		return this.#store.days(this.#today - count + 1);
	}

	async userState(user: string): Promise<UserState> {
		return this.#store.users.state(user, this.#today);
	}

	async setUserCaps(user: string, caps: UserCaps): Promise<void> {
		this.#store.users.setCaps(user, caps);
	}

	async userDays(user: string, count: number): Promise<Day[]> {
		return this.#store.userDays(user, this.#today - count + 1);
	}

	async daysByUser(count: number, after?: UserDayPlace): Promise<UserDay[]> {
		return this.#store.users.daysByUser(this.#today - count + 1, after);
	}

	async parts(by: readonly PartField[], count: number, user?: string): Promise<DayPart[]> {
		return this.#store.parts(by, this.#today - count + 1, user);
	}

	async eraseUser(user: string): Promise<void> {
		this.#store.eraseUser(user);
	}

	get #today(): number {
		return toDay(this.#now());
	}
}
