/** The turns of a session as charts: what each took in tokens, in time and in dollars. */

import type { Usage } from '../../client/types.ts';
import { describeTokens } from '../../client/words.ts';
import { createChart } from '../parts/chart.ts';
import { element } from '../parts/element.ts';
import { describeTime } from '../parts/time.ts';
import type { Trace } from './load.ts';

/** Turns that are shown: the newest. */
const mostTurns = 120;

export function showTurns(root: HTMLElement, { runs }: Trace): void {
	const all = runs.flatMap(({ spans }) => spans.flatMap(({ depth, usage }) => (depth === 0 && usage ? [usage] : [])));
	const turns = all.slice(-mostTurns);
	const number = (at: number) => `Turn ${all.length - turns.length + at + 1}`;
	const draw = (
		title: string,
		read: (usage: Usage) => readonly number[],
		say: (sum: number) => string,
		names?: string[],
	) => {
		const bars = turns.map((usage, at) => {
			const parts = read(usage);
			return {
				name: number(at),
				parts,
				words: names === undefined ? say(sum(parts)) : describeTokens(usage),
			};
		});
		const most = Math.max(0, ...bars.map(({ parts }) => sum(parts)));
		return most === 0 ? [] : [createChart(title, bars, say(most), { parts: names })];
	};
	root.replaceChildren(
		...draw(
			'Tokens',
			(one) => [one.inputTokens ?? 0, one.outputTokens ?? 0],
			(tokens) => tokens.toLocaleString('en'),
			['in', 'out'],
		),
		...draw('Time', ({ latencyMs = 0 }) => [latencyMs], describeTime),
		...draw(
			'Cost',
			({ costUsd = 0 }) => [costUsd],
			(usd) => `$${usd.toFixed(usd < 0.01 ? 5 : 2)}`,
		),
	);
	if (!root.hasChildNodes()) root.append(element('p', 'nothing', 'The model has had no turn yet.'));
}

function sum(parts: readonly number[]): number {
	return parts.reduce((total, part) => total + part, 0);
}
