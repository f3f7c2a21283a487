import type { Cost } from './api.ts';

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
