/**
 * Markdown that is drawn while it streams in. The blocks that are not complete are read again, and what has changed of them
 * is drawn again; images and HTML stay text.
 */

import { type MarkdownToken, openMarkdown, splitBlocks } from '../../client/markdown.ts';
import { withoutTurns } from '../parts/element.ts';
import { toBlocks } from './blocks.ts';
import { colourCode } from './code.ts';
import { findComplete, notBegun } from './complete.ts';
import { type KeptBlocks, showBlocks } from './kept-blocks.ts';
import { createSheets } from './sheets.ts';

/** An open block of more characters is drawn again only when it has grown by a share of itself, so that its cost stays linear. */
const redrawLimit = 4_000;

export function createMarkdown(root: HTMLElement) {
	const sheets = createSheets(root);
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
		sheets.fill(complete, draft);
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
		showBlocks(sheets.newest, draft, [...complete, ...toBlocks(last, begun)]);
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

	/** Whether what is unseen can be added to the end of the draft, in place of drawing it again. */
	function isCheap(at: Element): boolean {
		const { fence, length, line } = drawn;
		if (fence !== undefined && !unseen.includes(fence.charAt(0))) return at.matches('code');
		if (fence !== undefined) return length >= redrawLimit && !unseen.includes(fence) && added.length < length / 20;
		const isGoingOn = line > 8 && isPlain(unseen) && !(at.lastChild instanceof HTMLAnchorElement);
		if (isGoingOn && at.matches('p, li, h3, h4, h5')) return true;
		return length >= redrawLimit && added.length + unseen.length < length / (unseen.includes('\n\n') ? 100 : 20);
	}

	return {
		/** Takes text in; `flush` shows it. */
		write(text: string): void {
			const clean = withoutTurns(text).replaceAll('\r', '');
			open += clean;
			unseen += clean;
		},

		flush(): void {
			if (unseen.trim() === '') return;
			if (end !== undefined && isCheap(end)) {
				added.appendData(unseen);
				if (added.parentNode === null) end.append(added);
				unseen = '';
			} else redraw();
		},

		end(): void {
			added.remove();
			added.data = '';
			showBlocks(sheets.newest, draft, toBlocks(openMarkdown(open), begun));
			settle(draft.length);
			end = undefined;
			open = '';
			begun = notBegun;
			unseen = '';
			drawn = toDrawn('');
		},
	};
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
		end.lastElementChild?.matches('.code-block > pre, pre > code, ul, ol, li, p, blockquote')
	)
		end = end.lastElementChild;
	return end instanceof Element ? end : undefined;
}
