import type { Amount } from '../budget.ts';
import type { BudgetScope } from './api.ts';

/** The first request of a new session that a budget refused. */
export interface FirstRequest {
	/** What it may cost. */
	readonly needs: Amount;
	/** The characters of its messages. */
	readonly size: number;
}

/** Whose budgets are meant. */
interface Whose {
	readonly owner: string;
	readonly user?: string;
}

/** A budget that refused a request. */
export interface Shortage {
	readonly scope: BudgetScope;
	/** The smallest first requests that it refused, by what asked for them. */
	readonly first: ReadonlyMap<string, FirstRequest>;
}

/** The most budgets and first requests that are remembered. The oldest are forgotten. */
const mostKnown = 1_000;
const mostFirst = 50;

/**
 * The budgets that refused a request lately, as far as this isolate knows. None is believed: each is a reason to ask its
 * ledger before a new session is stored. So an owner who has money left pays no call for it.
 */
export class Shortages {
	readonly #known = new Map<string, Shortage>();

	/** Lists the budgets that refused requests of an owner and a user. */
	list(whose: Whose): readonly Shortage[] {
		const keys = (['day', 'user-day', 'user-total'] as const).map((scope) => toKey(scope, whose));
		return keys.flatMap((key) => this.#known.get(key) ?? []);
	}

	/**
	 * Notes that a budget refused a request.
	 *
	 * @param from what asked for the first request of a new session, such as the name of its agent
	 */
	note(scope: BudgetScope, whose: Whose, from?: string, request?: FirstRequest): void {
		const key = toKey(scope, whose);
		const first = new Map(this.#known.get(key)?.first);
		const before = from === undefined ? undefined : first.get(from);
		const isSmaller = request !== undefined && (before === undefined || request.size < before.size);
		if (from !== undefined && isSmaller) first.set(from, request);
		dropOldest(first, mostFirst);
		this.#known.delete(key);
		this.#known.set(key, { scope, first });
		dropOldest(this.#known, mostKnown);
	}

	/** Forgets a budget, because it allows requests again. */
	forget(scope: BudgetScope, whose: Whose): void {
		this.#known.delete(toKey(scope, whose));
	}
}

function toKey(scope: BudgetScope, { owner, user }: Whose): string {
	return JSON.stringify(scope === 'day' ? [scope, owner] : [scope, owner, user]);
}

function dropOldest(map: Map<string, unknown>, most: number): void {
	for (const key of map.keys()) {
		if (map.size <= most) return;
		map.delete(key);
	}
}
