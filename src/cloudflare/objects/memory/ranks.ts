/** A rank counts less the further down it is; the first ones do not outweigh all others (Cormack et al., 2009). */
const damping = 60;

/** Joins rankings of the same things: what stands high in several of them comes first. */
export function joinRanks(rankings: readonly (readonly string[])[], limit: number): readonly string[] {
	const scores = new Map<string, number>();
	for (const ranking of rankings)
		for (const [rank, one] of ranking.entries()) scores.set(one, (scores.get(one) ?? 0) + 1 / (damping + rank));
	return [...scores]
		.sort(([, a], [, b]) => b - a)
		.slice(0, limit)
		.map(([one]) => one);
}
