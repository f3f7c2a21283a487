import { DurableObject } from 'cloudflare:workers';
import type { Amount } from '../budget/amount.ts';
import type { BudgetState, Limit } from '../budget/budget.ts';
import type { Env } from '../config.ts';
import type { Cost, Day, LedgerApi, Reserved } from '../rpc/ledger.ts';
import { LedgerStore, toDay } from './store.ts';

/** The Durable Object class of an owner's ledger. `now` is its clock, in milliseconds since 1970. */
export function createLedgerClass(now: () => number = Date.now) {
	return class Ledger extends DurableObject<Env> implements LedgerApi {
		readonly #store: LedgerStore;

		constructor(ctx: DurableObjectState, env: Env) {
			super(ctx, env);
			this.#store = new LedgerStore(ctx.storage);
		}

		async reserve(id: string, amount: Amount, limit: Limit): Promise<Reserved> {
			return this.#store.reserve(toDay(now()), id, amount, limit);
		}

		async settle(costs: readonly Cost[]): Promise<void> {
			this.#store.settle(toDay(now()), costs);
		}

		async state(limit: Limit): Promise<BudgetState> {
			return this.#store.state(toDay(now()), limit);
		}

		async days(count: number): Promise<Day[]> {
			return this.#store.days(toDay(now()) - count + 1);
		}
	};
}
