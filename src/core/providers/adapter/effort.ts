import { type ReasoningEffort, reasoningEfforts } from '../../chat/provider.ts';

/**
 * Returns the level of a model that is nearest to the wanted level: of two, the one that thinks more, except `max`,
 * which has no limit. Returns `undefined` for a model without levels.
 */
export function roundEffort(wanted: ReasoningEffort, steps: readonly ReasoningEffort[]): ReasoningEffort | undefined {
	const distance = (step: ReasoningEffort): number =>
		Math.abs(reasoningEfforts.indexOf(step) - reasoningEfforts.indexOf(wanted));
	let best: ReasoningEffort | undefined;
	for (const step of reasoningEfforts) {
		if (!steps.includes(step)) continue;
		const nearer = best === undefined ? 1 : distance(best) - distance(step);
		if (nearer > 0 || (nearer === 0 && step !== 'max')) best = step;
	}
	return best;
}
