/** A bar chart. The numbers of a bar are in the bar's tooltip, and in a table beside the chart. */

import { element, svg, withoutTurns } from './element.ts';

export interface Bar {
	readonly name: string;
	/** The numbers that are stacked in the bar, from bottom to top. */
	readonly parts: readonly number[];
	/** The text of the tooltip. */
	readonly words: string;
}

export interface ChartLimit {
	readonly value: number;
	/** The text about the limit, which is shown beside the title. */
	readonly words: string;
}

/** The limit is drawn only if the highest bar reaches this share of the limit. Otherwise the bars would be too low. */
const fewestOfLimit = 1 / 8;
/** The minimum number of places for bars. With fewer bars, the rest of the width stays empty. */
const fewestSlots = 16;

/** `most` describes the highest bar. `parts` names the numbers of a bar, if each bar has several. */
export function createChart(
	title: string,
	bars: readonly Bar[],
	most: string,
	{ parts = [], limit }: { readonly parts?: readonly string[]; readonly limit?: ChartLimit } = {},
): HTMLElement {
	const highestBar = Math.max(Number.MIN_VALUE, ...bars.map(sumUp));
	const line = limit !== undefined && highestBar >= limit.value * fewestOfLimit ? limit.value : undefined;
	const highest = Math.max(highestBar, line ?? 0);
	const slot = 100 / Math.max(fewestSlots, bars.length);
	const drawing = svg(
		'svg',
		{ class: 'bars', role: 'img', 'aria-label': `${title}: ${bars.length} bars, the highest ${most}` },
		...bars.map((bar, at) => createBar(bar, at * slot, slot, highest)),
		...(line === undefined ? [] : [createLine(100 - (100 * line) / highest)]),
	);
	const words = limit && element('span', 'limit-words', limit.words);
	const legend = parts.map((name, at) => element('span', `legend part-${at}`, name));
	const highestWords = element('span', 'most', `at most ${most}`);
	const caption = element('figcaption', '', element('b', '', title), ...legend, words, highestWords);
	return element('figure', 'chart', caption, drawing);
}

function createBar({ name, parts, words }: Bar, x: number, slot: number, highest: number): SVGElement {
	let below = 0;
	const boxes = parts.map((part, at) => {
		const height = (100 * part) / highest;
		below += height;
		return svg('rect', {
			...{ class: `part-${at}`, x: `${x.toFixed(3)}%`, width: `${(slot * 0.8).toFixed(3)}%` },
			...{ y: `${(100 - below).toFixed(3)}%`, height: `${height.toFixed(3)}%` },
		});
	});
	return svg('g', {}, svg('title', {}, withoutTurns(`${name}: ${words}`)), ...boxes);
}

function createLine(y: number): SVGElement {
	const height = `${y.toFixed(3)}%`;
	return svg('line', { class: 'limit', x1: '0', x2: '100%', y1: height, y2: height });
}

export function sumUp({ parts }: Pick<Bar, 'parts'>): number {
	return parts.reduce((sum, part) => sum + part, 0);
}
