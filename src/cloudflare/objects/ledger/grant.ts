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
 * Chooses what is reserved for a lease: all of it, or the next request, while there is plenty; else the next request with a
 * reply of `replyTokens`. Where nobody else has reserved anything, the next request gets all it may need.
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

/** Whether nothing is reserved. */
function isFree({ reserved }: BudgetState): boolean {
	return reserved.tokens === 0 && reserved.usd === 0;
}

/** Whether all that is reserved, with this amount, is no more than half of what is not spent of a limit. */
function isPlenty({ limit, spent, reserved }: BudgetState, amount: Amount): boolean {
	return !exceedsLimit({ limit: toHalf(limit, spent), spent: nothing, reserved }, amount);
}

/** Returns half of what is not spent of a limit. */
function toHalf({ tokens, usd }: Limit, spent: Amount): Limit {
	return {
		...(tokens !== undefined && { tokens: (tokens - spent.tokens) / 2 }),
		...(usd !== undefined && { usd: (usd - spent.usd) / 2 }),
	};
}

/** Turns the amount of a lease into what is counted: an infinite part is not, because no cap bounds it. */
export function toCounted({ tokens, usd }: Amount): Amount {
	return createAmount({ tokens: tokens === everything.tokens ? 0 : tokens, usd: usd === everything.usd ? 0 : usd });
}

/** Returns an amount with those parts infinite that are so in the request. */
export function withInfinite({ tokens, usd }: Amount, asked: Amount): Amount {
	return {
		tokens: asked.tokens === everything.tokens ? asked.tokens : tokens,
		usd: asked.usd === everything.usd ? asked.usd : usd,
	};
}

/** The reply that is reserved while nobody knows how long the agent's replies are, in tokens. */
const firstReply = 2_048;
/** The shortest reply that is reserved, in tokens, and how much longer it is than the replies were. */
const [shortestReply, margin] = [256, 1.25];
/** How fast a long reply is forgotten: by this share of the difference with each lease. */
const forgotten = 1 / 32;
/** The most agents and models that are remembered. */
const mostKnown = 500;

/**
 * How long the replies of each agent and model have been lately, as this life of the ledger learned it from the leases that
 * were settled. A longer reply counts at once, and shorter ones lower it slowly, so it is a high quantile.
 */
export class ReplyLengths {
	readonly #known = new Map<string, number>();

	/** Learns from the replies of leases. */
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

	/** Returns the reply to reserve, in tokens. */
	find(agent: string, model: string): number {
		const known = this.#known.get(toKey(agent, model));
		return known === undefined ? firstReply : Math.max(shortestReply, Math.ceil(known * margin));
	}
}

function toKey(agent: string, model: string): string {
	return JSON.stringify([agent, model]);
}
