import {
	type Amount,
	type BudgetState,
	createAmount,
	everything,
	exceedsLimit,
	type Limit,
	lesser,
	nothing,
} from '../budget.ts';
import type { Cost, LeaseRequest } from './api.ts';

/**
 * Chooses the reservation of a lease: `whole`, or `amount`, while there is plenty; else the next request with a reply
 * of `replyTokens`. Without other reservations it is `amount`.
 */
export function chooseAmount(
	{ amount, whole = amount, reply }: Pick<LeaseRequest, 'amount' | 'whole' | 'reply'>,
	states: readonly BudgetState[],
	replyTokens = Infinity,
): Amount {
	const [most, least] = [toCounted(whole), toCounted(amount)];
	if (states.every((state) => isPlenty(state, most))) return most;
	if (reply === undefined || states.every((state) => isFree(state) || isPlenty(state, least))) return least;
	const { input, perToken } = reply;
	const usd = perToken.usd === 0 ? 0 : perToken.usd * replyTokens;
	return lesser(least, { tokens: Math.ceil(input.tokens + perToken.tokens * replyTokens), usd: input.usd + usd });
}

function isFree({ reserved }: BudgetState): boolean {
	return reserved.tokens === 0 && reserved.usd === 0;
}

/** Whether at most half of the rest of a limit would be reserved. */
function isPlenty({ limit, spent, reserved }: BudgetState, amount: Amount): boolean {
	return !exceedsLimit({ limit: toHalf(limit, spent), spent: nothing, reserved }, amount);
}

function toHalf({ tokens, usd }: Limit, spent: Amount): Limit {
	return {
		...(tokens !== undefined && { tokens: (tokens - spent.tokens) / 2 }),
		...(usd !== undefined && { usd: (usd - spent.usd) / 2 }),
	};
}

/** An infinite part counts as 0, because no cap bounds it. */
export function toCounted({ tokens, usd }: Amount): Amount {
	return createAmount({ tokens: tokens === everything.tokens ? 0 : tokens, usd: usd === everything.usd ? 0 : usd });
}

export function withInfinite({ tokens, usd }: Amount, request: Amount): Amount {
	return {
		tokens: request.tokens === everything.tokens ? request.tokens : tokens,
		usd: request.usd === everything.usd ? request.usd : usd,
	};
}

/** Tokens for the reply of an unknown agent. */
const firstReply = 2_048;
/** Tokens of the shortest reservation, and its factor above the known length. */
const [shortestReply, margin] = [256, 1.25];
/** The share of the difference by which a shorter reply lowers the known length. */
const forgotten = 1 / 32;
const mostKnown = 500;

/**
 * The recent reply lengths of each agent and model, from settled leases of this instance. A longer reply counts at
 * once, a shorter one lowers the length slowly: the result is a high quantile.
 */
export class ReplyLengths {
	readonly #known = new Map<string, number>();

	learn(costs: readonly Cost[]): void {
		for (const { agent, parts = [] } of costs)
			for (const { model, longestReply = 0 } of parts)
				if (agent !== undefined && longestReply > 0) this.#note(toKey(agent, model), longestReply);
	}

	#note(key: string, length: number): void {
		const known = this.#known.get(key) ?? 0;
		this.#known.delete(key);
		this.#known.set(key, length >= known ? length : known - (known - length) * forgotten);
		const [oldest] = this.#known.keys();
		if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
	}

	/** Tokens to reserve for a reply. */
	find(agent: string, model: string): number {
		const known = this.#known.get(toKey(agent, model));
		return known === undefined ? firstReply : Math.max(shortestReply, Math.ceil(known * margin));
	}
}

function toKey(agent: string, model: string): string {
	return JSON.stringify([agent, model]);
}
