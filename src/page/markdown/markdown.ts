/**
 * Draws Markdown while it arrives. Only incomplete blocks are parsed again, and only changed blocks are drawn again.
 * HTML is shown as text, and so are images, except those of the workspace and those whose bytes are in the text.
 */

import { type MarkdownToken, openMarkdown, splitBlocks } from '../../client/markdown.ts';
import { element, withoutTurns } from '../parts/element.ts';
import { type KeptBlocks, showBlocks, toBlocks } from './blocks.ts';
import { colourCode } from './code.ts';
import { findComplete, notBegun } from './complete.ts';
import { drawFormulas } from './formulas.ts';
import { drawFileImages, type ReadFile } from './images.ts';
import { addWaitingParts, splitLong } from './long.ts';

export interface MarkdownOptions {
	/** Schedules the drawing of the text that is left at the end. By default, it is drawn at once. */
	readonly draw?: Draw;
	/** Reads the images of the workspace. Without it, they are shown as text. */
	readonly readFile?: ReadFile;
}

/** Makes a Markdown writer. */
export function createMarkdown(root: HTMLElement, { draw = drawAtOnce, readFile }: MarkdownOptions = {}) {
	const sections = createSections(root);
	/** The text of the incomplete blocks. Only `redraw` reads it, because reading takes longer for longer texts. */
	let open = '';
	/** The part of the first incomplete block that is already finished. */
	let begun = notBegun;
	/** The end of `open` that is not yet shown. */
	let unseen = '';
	/** The blocks of `open` that are drawn. */
	const draft: KeptBlocks = [];
	/** The element to which further text can be added. */
	let end: Element | undefined;
	let drawn = toDrawn('');
	/** The text that was added to `end` since the last redraw. */
	const added = new Text();

	/** Marks the first blocks as finished. */
	function settle(count: number): void {
		const complete = draft.splice(0, count);
		sections.fill(complete, draft);
		for (const { nodes } of complete) finishNodes(nodes, readFile);
	}

	/** Draws the open blocks. Finishes the blocks that further text cannot change. */
	function redraw(): void {
		added.remove();
		added.data = '';
		// Only an empty line ends a block, so complete lines are enough to find the finished blocks.
		const lines = open.slice(0, open.lastIndexOf('\n') + 1);
		const { settled, rest } = /\n[ \t]*\n/.test(lines) ? splitBlocks(lines) : { settled: undefined, rest: lines };
		const complete = settled === undefined ? [] : toBlocks(settled, begun);
		if (rest !== lines) begun = notBegun;
		open = rest + open.slice(lines.length);
		const last = openMarkdown(open);
		showBlocks(sections.newest, draft, [...complete, ...toBlocks(last, begun)]);
		settle(complete.length);
		shorten(last.blocks);
		end = findEnd(draft.at(-1)?.nodes ?? []);
		drawn = toDrawn(open);
		// Spaces at the end are drawn as soon as more text follows.
		unseen = open.slice(drawn.length);
	}

	/** Finishes the parts at the start of a long list or table. They are not parsed again. */
	function shorten(blocks: readonly MarkdownToken[]): void {
		const found = findComplete(open, blocks, begun);
		if (found === undefined) return;
		settle(draft.length - found.left);
		({ rest: open, begun } = found);
	}

	function write(text: string): void {
		const clean = withoutTurns(text).replaceAll('\r', '');
		open += clean;
		unseen += clean;
	}

	function flush(): void {
		if (unseen.trim() === '') return;
		if (end !== undefined && canAdd(end, drawn, added.length, unseen)) {
			added.appendData(unseen);
			if (added.parentNode === null) end.append(added);
			unseen = '';
		} else redraw();
	}

	/** Draws the rest of the text, and finishes all blocks. */
	function* drawRest(): Generator<void, void> {
		const slices = splitSlices(unseen);
		open = open.slice(0, open.length - unseen.length);
		unseen = '';
		for (const [at, slice] of slices.entries()) {
			write(slice);
			if (at < slices.length - 1) flush();
			yield;
		}
		added.remove();
		showBlocks(sections.newest, draft, toBlocks(openMarkdown(open), begun));
		settle(draft.length);
	}

	function* drawEnd(): Generator<void, void> {
		const parts = open === unseen ? splitLong(open) : [];
		if (parts.length < 2) return yield* drawRest();
		yield;
		yield* addWaitingParts(root, parts, (part, place) => drawPart(part, place, { draw, readFile }));
	}

	/** `flush` shows the text that was passed to `write`. Do not call `write` after `end`. */
	return { write, flush, end: () => draw(root, drawEnd()) };
}

/** Colours code, and draws formulas and images, in nodes that further text cannot change. */
function finishNodes(nodes: readonly ChildNode[], readFile: ReadFile | undefined): void {
	colourCode(nodes);
	void drawFormulas(nodes);
	if (readFile !== undefined) void drawFileImages(nodes, readFile);
}

function drawPart(text: string, root: HTMLElement, options: MarkdownOptions): void {
	const { write, end } = createMarkdown(root, options);
	write(text);
	end();
}

/** Splits a text into slices, so that each frame draws only a few of them. */
function splitSlices(text: string): readonly string[] {
	return text.match(/[\s\S]{1,1500}/gu) ?? [];
}

/** An open block of more characters is redrawn only after it has grown by some percent, so the cost stays linear. */
const redrawLimit = 4_000;

/** Whether `text` can be added to `end` without a redraw. `added` characters have been added since the last redraw. */
function canAdd(end: Element, drawn: ReturnType<typeof toDrawn>, added: number, text: string): boolean {
	const { fence, length, line } = drawn;
	if (fence !== undefined && !text.includes(fence.charAt(0)))
		return added < redrawLimit && end.matches('code, span.part');
	if (fence !== undefined) return length >= redrawLimit && !text.includes(fence) && added < length / 20;
	const isGoingOn = line > 8 && isPlain(text) && !(end.lastChild instanceof HTMLAnchorElement);
	if (isGoingOn && added < redrawLimit && end.matches('p, li, h3, h4, h5, span.part')) return true;
	return length >= redrawLimit && added + text.length < length / (text.includes('\n\n') ? 100 : 20);
}

/** Describes the text that is drawn: the fence of its code block, its length, and the length of its last line. */
function toDrawn(text: string) {
	const fence = /^\n* {0,3}(`{3,}|~{3,})/.exec(text)?.[1];
	const shown = fence === undefined ? text.trimEnd() : text.replace(/\n$/, '');
	return { fence, length: shown.length, line: shown.length - shown.lastIndexOf('\n') - 1 };
}

/** Whether a text has no inline Markdown marks. */
function isPlain(text: string): boolean {
	return /^[\p{L}\p{N} ,;'"?!-]*$/u.test(text);
}

/** Finds the element to which further text of the last block can be added. */
function findEnd(nodes: readonly ChildNode[]): Element | undefined {
	let end = nodes.at(-1);
	while (
		end instanceof Element &&
		end.lastElementChild?.matches('.code-block > pre, pre > code, ul, ol, li, p, blockquote, span.part')
	)
		end = end.lastElementChild;
	return end instanceof Element ? end : undefined;
}

/** The approximate length of a section in characters. */
const sectionLength = 2_500;

function createSections(root: HTMLElement) {
	let section = root;
	let filled = 0;

	function turn(): void {
		if (filled < sectionLength) return;
		section = root.appendChild(element('div', 'section'));
		filled = 0;
	}

	return {
		/** The section in which the next blocks are drawn. */
		get newest(): Element {
			return section;
		},

		/** Adds complete blocks to sections, and begins a new section when one is full. The `open` blocks come last. */
		fill(complete: KeptBlocks, open: KeptBlocks): void {
			const first = section;
			for (const { raw, nodes } of complete) {
				turn();
				if (section !== first) section.append(...nodes);
				filled += raw.length;
			}
			if (open.length > 0) turn();
			if (section !== first) for (const { nodes } of open) section.append(...nodes);
		},
	};
}

/** Draws a text in `root`. Each step of `slices` draws a slice. */
export type Draw = (root: Node, slices: Iterator<void, void>) => void;

/** The milliseconds for which one frame draws. */
const longestMs = 10;

function drawAtOnce(_root: Node, slices: Iterator<void, void>): void {
	while (slices.next().done !== true);
}

/** Queues texts, and draws the newest text first, because it is in view. Skips removed elements. */
export function createDrawing() {
	const waiting: Parameters<Draw>[] = [];
	let onDrawn: (() => void) | undefined;
	let isDrawing = false;

	function drawNext(): void {
		for (const begun = performance.now(); performance.now() - begun < longestMs; ) {
			const [root, slices] = waiting.at(-1) ?? [];
			if (root === undefined) return;
			const step = root.isConnected ? slices?.next() : undefined;
			if (step === undefined || step.done === true) waiting.pop();
		}
	}

	async function drawFrames(): Promise<void> {
		isDrawing = true;
		do {
			drawNext();
			onDrawn?.();
			await new Promise(requestAnimationFrame);
		} while (waiting.length > 0);
		isDrawing = false;
		onDrawn?.();
	}

	return {
		/** Queues a text. After `drawAll`, it is drawn soon. */
		draw: (...text: Parameters<Draw>): void => {
			waiting.push(text);
			if (onDrawn !== undefined && !isDrawing) void drawFrames();
		},
		/**
		 * Draws the first slices at once, the others in later frames. Resolves in the frame after the last slice. `onDrawn`
		 * is called after each frame.
		 */
		drawAll(then: () => void): Promise<void> {
			onDrawn = then;
			return drawFrames();
		},
	};
}
