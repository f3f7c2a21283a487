/**
 * Markdown that is drawn while it streams in. The blocks that are not complete are read again, and what has changed of them
 * is drawn again; images and HTML stay text.
 */

import { type MarkdownToken, openMarkdown, splitBlocks } from '../../client/markdown.ts';
import { withoutTurns } from '../parts/element.ts';
import { toBlocks } from './blocks.ts';
import { colourCode } from './code.ts';
import { findComplete, notBegun } from './complete.ts';
import { type Draw, drawAtOnce } from './drawing.ts';
import { canAdd, findEnd, toDrawn } from './end.ts';
import { type KeptBlocks, showBlocks } from './kept-blocks.ts';
import { createSheets } from './sheets.ts';

/** `draw` says when that is drawn which is not shown at the end. */
export function createMarkdown(root: HTMLElement, draw: Draw = drawAtOnce) {
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
		showBlocks(sheets.newest, draft, toBlocks(openMarkdown(open), begun));
		settle(draft.length);
	}

	/** `flush` shows what `write` has taken in. Nothing comes after the end. */
	return { write, flush, end: () => draw(root, drawRest()) };
}

/** Cuts a text that is drawn over many frames. */
function splitSlices(text: string): readonly string[] {
	return text.match(/[\s\S]{1,1500}/gu) ?? [];
}
