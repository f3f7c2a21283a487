import type { Env } from '../../../core/ground/env.ts';
import type { Amount, BudgetState, Limit } from '../budget.ts';
import { DurableObject } from '../durable-object.ts';
import type { Cost, Day, LedgerApi, Reserved } from './api.ts';
import { LedgerStore, toDay } from './store.ts';

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

	async reserve(id: string, amount: Amount, limit: Limit, whole?: Amount): Promise<Reserved> {
		return this.#store.reserve(toDay(this.#now()), { id, amount, whole }, limit);
	}

	async settle(costs: readonly Cost[]): Promise<void> {
		this.#store.settle(toDay(this.#now()), costs);
	}

	async state(limit: Limit): Promise<BudgetState> {
		return this.#store.state(toDay(this.#now()), limit);
	}

	async days(count: number): Promise<Day[]> {
		return this.#store.days(toDay(this.#now()) - count + 1);
	}
}
