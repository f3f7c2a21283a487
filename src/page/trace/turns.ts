/** Charts of the tokens, the time and the cost of a session's turns. */

import type { Usage } from '../../client/types.ts';
import { describeTokens, describeUsd } from '../../client/words.ts';
import { createChart, sumUp } from '../parts/chart.ts';
import { element } from '../parts/element.ts';
import { describeTime } from '../parts/time.ts';
import type { Trace } from './load.ts';

/** The maximum number of turns that are shown. They are the newest turns. */
const mostTurns = 120;

export function showTurns(root: HTMLElement, { runs }: Trace): void {
	const all = runs.flatMap(({ spans }) => spans.flatMap(({ depth, usage }) => (depth === 0 && usage ? [usage] : [])));
	const turns = all.slice(-mostTurns);
	const name = (at: number) => `Turn ${all.length - turns.length + at + 1}`;
	const draw = (title: string, read: (usage: Usage) => number, describe: (value: number) => string) => {
		const bars = turns.map((usage, at) => ({ name: name(at), parts: [read(usage)], words: describe(read(usage)) }));
		const most = Math.max(0, ...turns.map(read));
		return most === 0 ? [] : [createChart(title, bars, { describe })];
	};
	const drawTokens = () => {
		const bars = turns.map((usage, at) => {
			const parts = [usage.inputTokens ?? 0, usage.outputTokens ?? 0];
			return { name: name(at), parts, words: describeTokens(usage) };
		});
		const most = Math.max(0, ...bars.map(sumUp));
		const describe = (tokens: number) => tokens.toLocaleString('en');
		return most === 0 ? [] : [createChart('Tokens by turn', bars, { describe, parts: ['in', 'out'] })];
	};
	root.replaceChildren(
		...drawTokens(),
		...draw('Time by turn', ({ latencyMs = 0 }) => latencyMs, describeTime),
		...draw('Cost by turn', ({ costUsd = 0 }) => costUsd, describeUsd),
	);
	if (!root.hasChildNodes()) root.append(element('p', 'nothing', 'The model has had no turn yet.'));
}
