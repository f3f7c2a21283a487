/** The figures of a session, and their means with intervals over several runs. */

import type { ChatUsage } from '../../core/chat/index.ts';
import { computeWilson } from '../wilson.ts';

/** What a session took, without its children. */
export interface Figures {
	/** The turns of the model. */
	readonly steps: number;
	readonly calls: number;
	readonly tokens: number;
	/** US dollars. Missing if the price of a turn is unknown. */
	readonly usd?: number;
	/** The time of the runs in seconds. Waiting for people does not count. */
	readonly seconds: number;
}

/** A mean over several runs with its 95 % interval. One run has no interval. */
export interface Estimate {
	readonly mean: number;
	readonly low?: number;
	readonly high?: number;
}

/** A share of several runs, from 0 to 1, with its 95 % interval (Wilson). */
export interface Share {
	readonly count: number;
	readonly of: number;
	readonly low: number;
	readonly high: number;
}

/** The means of the figures of several runs. */
export interface FigureEstimates {
	readonly steps: Estimate;
	readonly calls: Estimate;
	readonly tokens: Estimate;
	/** Missing if the dollars of a run are unknown. */
	readonly usd?: Estimate;
	readonly seconds: Estimate;
}

/** Adds up the usage of turns. Dollars are unknown if one turn has no price. */
export function addTurns(usages: readonly ChatUsage[]): Pick<Figures, 'tokens' | 'usd'> {
	const count = ({ totalTokens, inputTokens = 0, outputTokens = 0 }: ChatUsage) =>
		totalTokens ?? inputTokens + outputTokens;
	const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
	const isPriced = usages.every(({ costUsd, unpriced }) => costUsd !== undefined && unpriced === undefined);
	return {
		tokens: sum(usages.map(count)),
		...(isPriced && { usd: sum(usages.map(({ costUsd = 0 }) => costUsd)) }),
	};
}

export function estimateFigures(all: readonly Figures[]): FigureEstimates {
	const dollars = all.flatMap(({ usd }) => usd ?? []);
	return {
		steps: estimate(all.map(({ steps }) => steps)),
		calls: estimate(all.map(({ calls }) => calls)),
		tokens: estimate(all.map(({ tokens }) => tokens)),
		...(dollars.length === all.length && { usd: estimate(dollars) }),
		seconds: estimate(all.map(({ seconds }) => seconds)),
	};
}

/** The 97.5 % quantiles of Student's t distribution with 1 to 30 degrees of freedom. */
const quantiles = [
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
	2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
] as const;

/** The 97.5 % quantile of the normal distribution. */
const normal = 1.96;

/** Estimates a mean by Student's t. No figure is below 0, so no interval is. */
export function estimate(values: readonly number[]): Estimate {
	const n = values.length;
	const mean = values.reduce((sum, value) => sum + value, 0) / n;
	if (n < 2) return { mean };
	const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
	const half = (quantiles[n - 2] ?? normal) * Math.sqrt(variance / n);
	return { mean, low: Math.max(0, mean - half), high: mean + half };
}

/** Estimates a share by the interval of Wilson. */
export function estimateShare(count: number, of: number): Share {
	const [low, high] = computeWilson(count, of);
	return { count, of, low, high };
}
