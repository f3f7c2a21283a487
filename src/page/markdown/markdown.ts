/**
 * Markdown that is drawn while it streams in. What is drawn of a block is replaced until the block is complete; images and
 * HTML stay text.
 */

import { readMarkdown, splitBlocks } from '../../client/markdown.ts';
import { withoutTurns } from '../parts/element.ts';
import { createBlocks } from './blocks.ts';
import { colourCode } from './code.ts';

/** An open block of more characters is drawn again only when it has grown by a share of itself, so that its cost stays linear. */
const redrawLimit = 4_000;

export function createMarkdown(root: HTMLElement) {
	/** The text of the blocks that are not complete. Only `redraw` reads it: to read a text that grows costs its length. */
	let open = '';
	/** The end of it that is not shown yet. */
	let unseen = '';
	/** What was drawn of it, where further text goes, and how it stood then. */
	let draft: readonly ChildNode[] = [];
	let end: Element | undefined;
	let drawn = toDrawn('');
	/** The number of characters that were added to the end of the draft. */
	let added = 0;

	function draw(text: string): HTMLElement[] {
		const nodes = createBlocks(readMarkdown(text));
		root.append(...nodes);
		return nodes;
	}

	function redraw(): void {
		for (const node of draft) node.remove();
		// Only lines that have ended say where a block is complete.
		const { settled } = splitBlocks(open.slice(0, open.lastIndexOf('\n') + 1));
		colourCode(draw(settled));
		open = open.slice(settled.length);
		draft = draw(open);
		end = findEnd(draft);
		drawn = toDrawn(open);
		// Spaces at an end are drawn when something stands behind them.
		unseen = open.slice(drawn.length);
		added = 0;
	}

	/** Whether what is unseen can be added to the end of the draft, in place of drawing it again. */
	function isCheap(at: Element): boolean {
		const { fence, length, line } = drawn;
		if (fence !== undefined && !unseen.includes(fence.charAt(0))) return at.matches('code');
		if (fence !== undefined) return length >= redrawLimit && !unseen.includes(fence) && added < length / 10;
		const isGoingOn = line > 8 && isPlain(unseen) && !(at.lastChild instanceof HTMLAnchorElement);
		if (isGoingOn && at.matches('p, li, h3, h4, h5')) return true;
		return length >= redrawLimit && added + unseen.length < length / (unseen.includes('\n\n') ? 100 : 10);
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
				end.append(unseen);
				added += unseen.length;
				unseen = '';
			} else redraw();
		},

		end(): void {
			for (const node of draft) node.remove();
			colourCode(draw(open));
			draft = [];
			end = undefined;
			open = '';
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
