/** A bar chart. Each bar shows its numbers as a tooltip; a table beside the chart has them for everybody. */

import { element, svg, withoutTurns } from './element.ts';

export interface Bar {
	readonly name: string;
	/** The stacked numbers, the lowest first. */
	readonly parts: readonly number[];
	/** The numbers in words. */
	readonly words: string;
}

/** A number that no bar is to pass. */
export interface ChartLimit {
	readonly value: number;
	/** The text beside the title. */
	readonly words: string;
}

/** Bars that reach so little of a limit are shown by themselves: beside it nothing of them could be seen. */
const fewestOfLimit = 1 / 8;
/** Fewer bars leave the rest of the width empty. */
const fewestSlots = 16;

/**
 * `most` describes the highest bar. `parts` are the names of the numbers of a bar, if there are several. `limit` is a line
 * where bars come near it.
 */
export function createChart(
	title: string,
	bars: readonly Bar[],
	most: string,
	{ parts = [], limit }: { readonly parts?: readonly string[]; readonly limit?: ChartLimit } = {},
): HTMLElement {
	const highestBar = Math.max(Number.MIN_VALUE, ...bars.map(toSum));
	const line = limit !== undefined && highestBar >= limit.value * fewestOfLimit ? limit.value : undefined;
	const highest = Math.max(highestBar, line ?? 0);
	const slot = 100 / Math.max(fewestSlots, bars.length);
	const drawing = svg(
		'svg',
		{ class: 'bars', role: 'img', 'aria-label': `${title}: ${bars.length} bars, the highest ${most}` },
		...bars.map((bar, at) => createBar(bar, at * slot, slot, highest)),
		...(line === undefined ? [] : [createLine(100 - (100 * line) / highest)]),
	);
	const words = limit === undefined ? [] : [element('span', 'limit-words', limit.words)];
	const legend = parts.map((name, at) => element('span', `legend part-${at}`, name));
	return element(
		'figure',
		'chart',
		element('figcaption', '', element('b', '', title), ...legend, ...words, element('span', 'most', `at most ${most}`)),
		drawing,
	);
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

function toSum({ parts }: Bar): number {
	return parts.reduce((sum, part) => sum + part, 0);
}
