/** The outcome of an expectation or a score. */
export interface Verdict {
	readonly name: string;
	/** From 0 to 1. `null` if the score does not apply, or has an error. */
	readonly score: number | null;
	/** Why, in the words of the scorer. */
	readonly reason?: string;
	/** Why there is no score. */
	readonly error?: string;
	/** What the scorer gave besides. */
	readonly metadata?: Readonly<Record<string, unknown>>;
	/** What a judge cost, in US dollars. Present if a judge was asked; without `costUsd` its price is unknown. */
	readonly judge?: { readonly costUsd?: number };
}

/** Whether a verdict fulfils an expectation. */
export function isFulfilled({ score, error }: Verdict): boolean {
	return error === undefined && (score === null || score >= 1);
}
