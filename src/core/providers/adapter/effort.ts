import { type ReasoningEffort, reasoningEfforts } from '../../chat/effort.ts';

/**
 * The step of a model that is nearest to the wanted one; of two, the one that thinks more, unless that is `max`, which
 * has no limit. Every provider rounds by this, so that an effort means the same everywhere. Nothing for a model without
 * steps.
 */
export function roundEffort(wanted: ReasoningEffort, steps: readonly ReasoningEffort[]): ReasoningEffort | undefined {
	const measureDistance = (step: ReasoningEffort): number =>
		Math.abs(reasoningEfforts.indexOf(step) - reasoningEfforts.indexOf(wanted));
	let best: ReasoningEffort | undefined;
	for (const step of reasoningEfforts) {
		if (!steps.includes(step)) continue;
		const nearer = best === undefined ? 1 : measureDistance(best) - measureDistance(step);
		if (nearer > 0 || (nearer === 0 && step !== 'max')) best = step;
	}
	return best;
}
