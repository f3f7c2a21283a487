/** Draws the blocks of a text: nothing of it is read as HTML, and it loads nothing. */

import type { Tokens } from 'marked';
import { type MarkdownToken, toKnown } from '../../client/markdown.ts';
import { element } from '../parts/element.ts';
import { createCode } from './code.ts';
import { createInline } from './inline.ts';

export function createBlocks(tokens: readonly MarkdownToken[]): HTMLElement[] {
	return tokens.flatMap((token) => createBlock(token) ?? []);
}

function createBlock(token: MarkdownToken): HTMLElement | undefined {
	switch (token.type) {
		case 'space':
		case 'checkbox':
			return undefined;
		case 'heading':
			// The page has headings of its own above.
			return element(token.depth <= 1 ? 'h3' : token.depth === 2 ? 'h4' : 'h5', '', ...createProse(token));
		case 'paragraph':
			return element('p', '', ...createProse(token));
		case 'text':
			return element('p', '', ...createProse(token));
		case 'code':
			return createCode(token.text, token.lang);
		case 'blockquote':
			return element('blockquote', '', ...createBlocks(toKnown(token.tokens)));
		case 'hr':
			return element('hr');
		case 'list':
			return createList(token);
		case 'table':
			return createTable(token);
		default:
			return element('p', '', token.raw.trimEnd());
	}
}

function createProse({ raw, tokens }: { readonly raw: string; readonly tokens?: Tokens.Text['tokens'] }): ChildNode[] {
	const known = toKnown(tokens);
	return known.length === 0 ? [new Text(raw.trimEnd())] : createInline(known);
}

function createList({ ordered, start, items, loose }: Tokens.List): HTMLElement {
	const list = element(ordered ? 'ol' : 'ul', '', ...items.map((item) => createItem(item, loose)));
	if (list instanceof HTMLOListElement && typeof start === 'number' && start !== 1) list.start = start;
	return list;
}

function createItem({ tokens, task, checked }: Tokens.ListItem, isLoose: boolean): HTMLElement {
	const known = toKnown(tokens);
	const children = known.flatMap((token): ChildNode[] => {
		if (!isLoose && token.type === 'text') return createProse(token);
		const block = createBlock(token);
		return block === undefined ? [] : [block];
	});
	const item = element('li', task ? 'todo' : '', ...children);
	if (!task) return item;
	item.dataset.done = `${checked === true}`;
	item.prepend(element('span', 'visually-hidden', checked === true ? 'Done: ' : 'Open: '));
	return item;
}

function createTable({ header, rows }: Tokens.Table): HTMLElement {
	const toCell = (tag: 'th' | 'td') => (cell: Tokens.TableCell) =>
		element(tag, cell.align ?? '', ...createInline(toKnown(cell.tokens)));
	const head = element('tr', '', ...header.map(toCell('th')));
	const body = rows.map((row) => element('tr', '', ...row.map(toCell('td'))));
	return createScroller(
		'table',
		element('table', '', element('thead', '', head), element('tbody', '', ...body)),
		'Table',
	);
}

/** Makes a box that may be wider than the page: the keyboard scrolls it, too. */
function createScroller(className: string, child: HTMLElement, label: string): HTMLElement {
	const box = element('div', className, child);
	box.tabIndex = 0;
	box.setAttribute('role', 'region');
	box.setAttribute('aria-label', label);
	return box;
}
