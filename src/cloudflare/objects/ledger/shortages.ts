import type { Amount } from '../budget.ts';
import type { BudgetScope } from './api.ts';

/** The first request of a new session. */
export interface FirstRequest {
	/** Its largest possible cost. */
	readonly needs: Amount;
	/** The number of characters of its messages. */
	readonly size: number;
}

interface Whose {
	readonly owner: string;
	readonly user?: string;
}

export interface Shortage {
	readonly scope: BudgetScope;
	/** The smallest refused first request of each origin. */
	readonly first: ReadonlyMap<string, FirstRequest>;
}

const mostKnown = 1_000;
const mostFirst = 50;

/**
 * Budgets that refused a request recently, as far as this isolate knows. Before a new session is stored, the ledger is
 * asked only about these budgets.
 */
export class Shortages {
	readonly #known = new Map<string, Shortage>();

	list(whose: Whose): readonly Shortage[] {
		const keys = (['day', 'user-day', 'user-total'] as const).map((scope) => toKey(scope, whose));
		return keys.flatMap((key) => this.#known.get(key) ?? []);
	}

	/** `from` is the origin of the first request of a new session, such as the name of its agent. */
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
