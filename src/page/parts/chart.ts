/** A bar chart with axes. A person reads the numbers of a bar by pointing at it, or with the arrow keys. */

import { configure, element, svg, withoutTurns } from './element.ts';

export interface Bar {
	readonly name: string;
	/** The numbers that are stacked in the bar, from bottom to top. */
	readonly parts: readonly number[];
	/** The numbers of the bar with their units. */
	readonly words: string;
}

export interface ChartLimit {
	readonly value: number;
	/** The text about the limit, which is shown beside the title. */
	readonly words: string;
}

interface ChartOptions {
	/** Describes a number of the vertical axis with its unit. */
	readonly describe: (value: number) => string;
	/** Names the numbers of a bar, if each bar has several. */
	readonly parts?: readonly string[];
	readonly limit?: ChartLimit | undefined;
}

/** The limit is drawn only if the highest bar reaches this share of the limit. Otherwise the bars would be too low. */
const fewestOfLimit = 1 / 8;
/** The minimum number of places for bars. With fewer bars, the rest of the width stays empty. */
const fewestSlots = 16;

export function createChart(
	title: string,
	bars: readonly Bar[],
	{ describe, parts = [], limit }: ChartOptions,
): HTMLElement {
	const highestBar = Math.max(Number.MIN_VALUE, ...bars.map(sumUp));
	const line = limit !== undefined && highestBar >= limit.value * fewestOfLimit ? limit.value : undefined;
	const highest = roundUp(Math.max(highestBar, line ?? 0));
	const slot = 100 / Math.max(fewestSlots, bars.length);
	const drawing = svg(
		'svg',
		{ class: 'bars' },
		...[0.5, 1].map((share) => createLine('grid', 100 - 100 * share)),
		...bars.map((bar, at) => createBar(bar, at * slot, slot, highest)),
		...(line === undefined ? [] : [createLine('limit', 100 - (100 * line) / highest)]),
	);
	const words = limit && element('span', 'limit-words', limit.words);
	const legend = parts.map((name, at) => element('span', `legend part-${at}`, name));
	const reading = element('span', 'reading');
	const caption = element('figcaption', '', element('b', '', title), ...legend, words, reading);
	const heights = element(
		'div',
		'heights',
		...[1, 0.5, 0].map((share) => element('span', '', describe(highest * share))),
	);
	const names = element('div', 'names', ...listNames(bars).map((name) => element('span', '', name)));
	names.style.setProperty('--width', `${(slot * bars.length).toFixed(3)}%`);
	const plot = createPlot(title, bars, { drawing, reading, slot });
	return element('figure', 'chart', caption, element('div', 'plot', heights, plot, names));
}

interface PlotOptions {
	readonly drawing: SVGElement;
	/** Shows the numbers of the chosen bar. */
	readonly reading: HTMLElement;
	/** The width of a bar and the gap behind it, in per cent. */
	readonly slot: number;
}

/** Makes the part of the chart with the bars. It is a slider for screen readers: its value is the chosen bar. */
function createPlot(title: string, bars: readonly Bar[], { drawing, reading, slot }: PlotOptions): HTMLElement {
	const plot = configure(element('div', 'bars-plot'), { tabIndex: 0, role: 'slider', ariaLabel: title });
	const groups = [...drawing.querySelectorAll('g')];
	let chosen = bars.length - 1;

	function choose(at: number, isShown = true): void {
		groups[chosen]?.classList.remove('chosen');
		chosen = Math.max(0, Math.min(bars.length - 1, at));
		const { name = '', words = '' } = bars[chosen] ?? {};
		configure(plot, { ariaValueNow: `${chosen + 1}`, ariaValueText: withoutTurns(`${name}: ${words}`) });
		groups[chosen]?.classList.toggle('chosen', isShown);
		reading.textContent = isShown ? withoutTurns(`${name}: ${words}`) : describeHighest(bars);
	}

	configure(plot, { ariaValueMin: '1', ariaValueMax: `${bars.length}` });
	plot.append(drawing);
	choose(chosen, false);
	plot.addEventListener('pointermove', ({ clientX }) => {
		const { left, width } = plot.getBoundingClientRect();
		choose(Math.floor((100 * (clientX - left)) / width / slot));
	});
	plot.addEventListener('pointerleave', () => choose(chosen, plot.matches(':focus-visible')));
	plot.addEventListener('focus', () => choose(chosen));
	plot.addEventListener('blur', () => choose(chosen, false));
	plot.addEventListener('keydown', (event) => {
		const step = steps[event.key];
		if (step === undefined) return;
		event.preventDefault();
		choose(Number.isFinite(step) ? chosen + step : step > 0 ? bars.length - 1 : 0);
	});
	return plot;
}

const steps: Readonly<Record<string, number>> = {
	...{ ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 },
	...{ Home: Number.NEGATIVE_INFINITY, End: Number.POSITIVE_INFINITY },
};

function describeHighest(bars: readonly Bar[]): string {
	const highest = bars.reduce<Bar | undefined>(
		(best, bar) => (best && sumUp(best) >= sumUp(bar) ? best : bar),
		undefined,
	);
	return highest === undefined ? '' : withoutTurns(`at most ${highest.words}`);
}

/** Returns the names of the first, the middle and the last bar. Few bars have room for one name only. */
function listNames(bars: readonly Bar[]): string[] {
	const last = bars.length - 1;
	if (last > 0 && last < fewestSlots / 2) return [`${bars[0]?.name} – ${bars[last]?.name}`];
	return [...new Set([0, Math.floor(last / 2), last])].flatMap((at) => bars[at]?.name ?? []);
}

/** Returns the next higher 1, 2 or 5 with zeros. */
function roundUp(value: number): number {
	const unit = 10 ** Math.floor(Math.log10(value));
	return ([1, 2, 5].find((step) => step * unit >= value * 0.999) ?? 10) * unit;
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

function createLine(className: string, y: number): SVGElement {
	const height = `${y.toFixed(3)}%`;
	return svg('line', { class: className, x1: '0', x2: '100%', y1: height, y2: height });
}

export function sumUp({ parts }: Pick<Bar, 'parts'>): number {
	return parts.reduce((sum, part) => sum + part, 0);
}
