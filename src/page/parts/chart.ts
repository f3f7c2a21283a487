/** A chart of bars, one beside the other. Each says its numbers to a pointer; the table beside it says them to everybody. */

import { element, withoutTurns } from './element.ts';
import { svg } from './svg.ts';

export interface Bar {
	readonly name: string;
	/** The numbers that stand upon each other, the lowest first. */
	readonly parts: readonly number[];
	/** The numbers in words. */
	readonly words: string;
}

/** Fewer bars leave the rest of the width empty. */
const fewestSlots = 16;

/** `parts` are the names of the numbers of a bar, if there are several. `most` describes the highest bar. */
export function createChart(
	title: string,
	bars: readonly Bar[],
	most: string,
	parts: readonly string[] = [],
): HTMLElement {
	const highest = Math.max(Number.MIN_VALUE, ...bars.map(toSum));
	const slot = 100 / Math.max(fewestSlots, bars.length);
	const drawing = svg(
		'svg',
		{ class: 'bars', role: 'img', 'aria-label': `${title}: ${bars.length} bars, the highest ${most}` },
		...bars.map((bar, at) => createBar(bar, at * slot, slot, highest)),
	);
	const legend = parts.map((name, at) => element('span', `legend part-${at}`, name));
	return element(
		'figure',
		'chart',
		element('figcaption', '', element('b', '', title), ...legend, element('span', 'most', `at most ${most}`)),
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

function toSum({ parts }: Bar): number {
	return parts.reduce((sum, part) => sum + part, 0);
}
