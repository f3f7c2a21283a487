/**
 * Markdown that is drawn while it streams in. The blocks that are not complete are read again, and what has changed of them
 * is drawn again; images and HTML stay text.
 */

import { type MarkdownToken, openMarkdown, splitBlocks } from '../../client/markdown.ts';
import { element, withoutTurns } from '../parts/element.ts';
import { toBlocks } from './blocks.ts';
import { colourCode } from './code.ts';
import { findComplete, notBegun } from './complete.ts';
import { type KeptBlocks, showBlocks } from './kept-blocks.ts';

/** `draw` says when that is drawn which is not shown at the end. */
export function createMarkdown(root: HTMLElement, draw: Draw = drawAtOnce) {
	const sections = createSections(root);
	/** The text of the blocks that are not complete. Only `redraw` reads it: to read a text that grows costs its length. */
	let open = '';
	/** What stands already of the first of them. */
	let begun = notBegun;
	/** The end of it that is not shown yet. */
	let unseen = '';
	/** What was drawn of it, where further text goes, and how it stood then. */
	const draft: KeptBlocks = [];
	let end: Element | undefined;
	let drawn = toDrawn('');
	/** What was added to the end of the draft since. */
	const added = new Text();

	/** Leaves the first blocks alone from now on. */
	function settle(count: number): void {
		const complete = draft.splice(0, count);
		sections.fill(complete, draft);
		colourCode(complete.flatMap(({ nodes }) => nodes));
	}

	/** Draws the open blocks, and leaves alone from now on what more text can't change. */
	function redraw(): void {
		added.remove();
		added.data = '';
		// Only lines that have ended say where a block is complete, and only an empty one does.
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
		// Spaces at an end are drawn when something stands behind them.
		unseen = open.slice(drawn.length);
	}

	/** Leaves the first parts of a long list or table alone from now on. Its others are read without them. */
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

	/** Draws what is not shown yet, and what stands as it stays. */
	function* drawRest(): Generator<number, void> {
		const slices = splitSlices(unseen);
		open = open.slice(0, open.length - unseen.length);
		unseen = '';
		for (const [at, slice] of slices.entries()) {
			write(slice);
			if (at < slices.length - 1) flush();
			yield slice.length;
		}
		added.remove();
		showBlocks(sections.newest, draft, toBlocks(openMarkdown(open), begun));
		settle(draft.length);
	}

	/** `flush` shows what `write` has taken in. Nothing comes after the end. */
	return { write, flush, end: () => draw(root, drawRest()) };
}

/** Cuts a text that is drawn over many frames. */
function splitSlices(text: string): readonly string[] {
	return text.match(/[\s\S]{1,1500}/gu) ?? [];
}

/** An open block of more characters is drawn again only when it has grown by a share of itself, so that its cost stays linear. */
const redrawLimit = 4_000;

/** Whether `text` can be added to `end` in place of drawing again what stands there. So many characters were added since `drawn`. */
function canAdd(end: Element, drawn: ReturnType<typeof toDrawn>, added: number, text: string): boolean {
	const { fence, length, line } = drawn;
	if (fence !== undefined && !text.includes(fence.charAt(0)))
		return added < redrawLimit && end.matches('code, span.part');
	if (fence !== undefined) return length >= redrawLimit && !text.includes(fence) && added < length / 20;
	const isGoingOn = line > 8 && isPlain(text) && !(end.lastChild instanceof HTMLAnchorElement);
	if (isGoingOn && added < redrawLimit && end.matches('p, li, h3, h4, h5, span.part')) return true;
	return length >= redrawLimit && added + text.length < length / (text.includes('\n\n') ? 100 : 20);
}

/** Says of a text that is drawn how it begins and ends: the marks of its block of code, its length, and that of its last line. */
function toDrawn(text: string) {
	const fence = /^\n* {0,3}(`{3,}|~{3,})/.exec(text)?.[1];
	const shown = fence === undefined ? text.trimEnd() : text.replace(/\n$/, '');
	return { fence, length: shown.length, line: shown.length - shown.lastIndexOf('\n') - 1 };
}

/** Whether a text has nothing that may be a mark within a line that has begun. */
function isPlain(text: string): boolean {
	return /^[\p{L}\p{N} ,;'"?!-]*$/u.test(text);
}

/** Finds where further text of the last block goes. */
function findEnd(nodes: readonly ChildNode[]): Element | undefined {
	let end = nodes.at(-1);
	while (
		end instanceof Element &&
		end.lastElementChild?.matches('.code-block > pre, pre > code, ul, ol, li, p, blockquote, span.part')
	)
		end = end.lastElementChild;
	return end instanceof Element ? end : undefined;
}

/** The characters after which a section is full, about. */
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
		/** The one that is filled. */
		get newest(): Element {
			return section;
		},

		/**
		 * Leaves complete blocks where they are, or on the next sections. `open` follow them: one that grows is moved while it is
		 * short.
		 */
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

/** Draws a text that `root` shows, a slice a step. Each step gives how many characters it has drawn. */
export type Draw = (root: Node, slices: Iterator<number, void>) => void;

/** The characters that a frame draws, about. */
const mostCharacters = 1_500;

function drawAtOnce(_root: Node, slices: Iterator<number, void>): void {
	while (slices.next().done !== true);
}

/** Gathers texts, and draws the newest first: that is the one which is seen. What has left the page is not drawn. */
export function createDrawing() {
	const waiting: Parameters<Draw>[] = [];

	function drawNext(): void {
		for (let room = mostCharacters; room > 0; ) {
			const [root, slices] = waiting.at(-1) ?? [];
			if (root === undefined) return;
			const step = root.isConnected ? slices?.next() : undefined;
			if (step === undefined || step.done === true) waiting.pop();
			else room -= step.value;
		}
	}

	return {
		draw: (...text: Parameters<Draw>): void => {
			waiting.push(text);
		},
		/** Draws the first slices at once, and the others in the next frames. Resolves in the frame after the last. */
		async drawAll(onDrawn: () => void): Promise<void> {
			do {
				drawNext();
				onDrawn();
				await new Promise(requestAnimationFrame);
			} while (waiting.length > 0);
			onDrawn();
		},
	};
}
