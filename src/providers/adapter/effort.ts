import type { ReasoningEffort } from '../../chat/index.ts';

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const satisfies ReasoningEffort[];

/** The step that is nearest to the wanted one; of two, the one that thinks more. */
export function nearest(wanted: ReasoningEffort, steps: readonly ReasoningEffort[]): ReasoningEffort {
	const distance = (step: ReasoningEffort): number => Math.abs(efforts.indexOf(step) - efforts.indexOf(wanted));
	return steps.reduce((best, step) => (distance(step) <= distance(best) ? step : best));
}
