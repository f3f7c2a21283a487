/** Adds up the usage of a run from its stored messages. */

import type { Message, Usage } from './types.ts';

/** The usage of several turns. */
export type UsageSum = Required<Pick<Usage, 'inputTokens' | 'outputTokens' | 'costUsd'>> &
	Pick<Usage, 'cachedInputTokens' | 'reasoningTokens' | 'units' | 'unpriced'>;

export const noUsage: UsageSum = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

export function addUsage(sum: UsageSum, usage?: Usage): UsageSum {
	if (usage === undefined) return sum;
	return {
		inputTokens: sum.inputTokens + (usage.inputTokens ?? 0),
		outputTokens: sum.outputTokens + (usage.outputTokens ?? 0),
		costUsd: sum.costUsd + (usage.costUsd ?? 0),
		cachedInputTokens: addCount(sum.cachedInputTokens, usage.cachedInputTokens),
		reasoningTokens: addCount(sum.reasoningTokens, usage.reasoningTokens),
		units: addUnits(sum.units, usage.units),
		unpriced: sum.unpriced ?? usage.unpriced ?? (usage.costUsd === undefined ? 'a turn' : undefined),
	};
}

/** Adds two counts. A provider that reports no count leaves the sum unknown only if no other turn has one. */
function addCount(sum: number | undefined, count: number | undefined): number | undefined {
	return sum === undefined && count === undefined ? undefined : (sum ?? 0) + (count ?? 0);
}

function addUnits(sum: Usage['units'], units: Usage['units']): Usage['units'] {
	if (units === undefined) return sum;
	const all = new Map(Object.entries(sum ?? {}));
	for (const [name, count] of Object.entries(units)) all.set(name, (all.get(name) ?? 0) + count);
	return Object.fromEntries(all);
}

/** Returns the usage of each run of which all turns are among these messages. */
export function sumRuns(messages: readonly Message[]): ReadonlyMap<string, UsageSum> {
	const sums = new Map<string, UsageSum>();
	for (const message of messages) {
		if (message.role !== 'assistant' || message.runId === undefined || message.turn === undefined) continue;
		const { iteration, usage } = message.turn;
		const sum = sums.get(message.runId) ?? (iteration === 1 ? noUsage : undefined);
		if (sum !== undefined) sums.set(message.runId, addUsage(sum, usage));
	}
	return sums;
}
