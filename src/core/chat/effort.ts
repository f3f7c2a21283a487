import { RunletError } from '../ground/errors.ts';

/** All levels of effort, from the lowest. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/**
 * How much a model thinks before it answers. A model with fewer levels takes the nearest one; of two, the one that
 * thinks more, unless that is `max`.
 */
export type ReasoningEffort = (typeof reasoningEfforts)[number];

/** Throws `invalid_request`, which lists the levels, for a caller without types. A missing effort is fine. */
export function assertEffort(effort: ReasoningEffort | undefined): void {
	if (effort === undefined || reasoningEfforts.includes(effort)) return;
	const given = typeof effort === 'string' ? JSON.stringify(String(effort).slice(0, 40)) : typeof effort;
	throw new RunletError(
		'invalid_request',
		`reasoningEffort: expected one of ${reasoningEfforts.join(', ')}, got ${given}. Leave it out and the model decides.`,
		{ field: 'reasoningEffort' },
	);
}
