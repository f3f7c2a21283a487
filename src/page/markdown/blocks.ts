/** Says how the blocks of a text are drawn: nothing of it is read as HTML, and it loads nothing. */

import type { Tokens } from 'marked';
import { type Markdown, type MarkdownToken, toKnown } from '../../client/markdown.ts';
import { element } from '../parts/element.ts';
import { createCode, splitCode } from './code.ts';
import { createInline } from './inline.ts';
import type { Block } from './kept-blocks.ts';

/** Items of a part of a list. */
const partLength = 100;

type ReadLine = Markdown['readLine'];

export function toBlocks({ blocks, readLine }: Markdown): Block[] {
	return blocks.flatMap((token) =>
		token.type === 'list' ? toList(token, readLine) : (toBlock(token, readLine) ?? []),
	);
}

function toBlock(token: Exclude<MarkdownToken, Tokens.List>, readLine: ReadLine): Block | undefined {
	switch (token.type) {
		case 'space':
		case 'checkbox':
			return undefined;
		case 'heading':
			// The page has headings of its own above.
			return toProse(token.depth <= 1 ? 'h3' : token.depth === 2 ? 'h4' : 'h5', token, readLine);
		case 'paragraph':
		case 'text':
			return toProse('p', token, readLine);
		case 'code':
			return toCode(token);
		case 'blockquote':
			return {
				kind: 'quote',
				raw: token.raw,
				draw: () => toPlace(element('blockquote')),
				list: () => toBlocks({ blocks: toKnown(token.tokens), readLine }),
			};
		case 'hr':
			return { kind: 'hr', raw: '', draw: () => ({ nodes: [element('hr')] }) };
		case 'table':
			return toTable(token, readLine);
		default:
			return { kind: 'p', raw: token.raw, draw: () => ({ nodes: [element('p', '', token.raw.trimEnd())] }) };
	}
}

const toPlace = (node: HTMLElement) => ({ nodes: [node], place: node });

interface Prose {
	readonly raw: string;
	readonly tokens?: Tokens.Text['tokens'];
}

function toProse(tag: 'p' | 'h3' | 'h4' | 'h5', token: Prose, readLine: ReadLine): Block {
	return { kind: tag, raw: token.raw, draw: () => ({ nodes: [element(tag, '', ...createProse(token, readLine))] }) };
}

function createProse(token: Prose, readLine: ReadLine): ChildNode[] {
	const known = readLine(token);
	return known.length === 0 ? [new Text(token.raw.trimEnd())] : createInline(known);
}

function toCode({ text, lang = '', raw }: Tokens.Code): Block {
	return {
		kind: `code ${lang}`,
		raw,
		draw() {
			const { root, code } = createCode(lang);
			return { nodes: [root], place: code };
		},
		list: () =>
			splitCode(text).map((part) => ({ kind: 'lines', raw: part, draw: () => ({ nodes: [new Text(part)] }) })),
	};
}

/** Gives a list in parts: those of a long one that are out of sight are not laid out. */
function toList({ ordered, start, items, loose }: Tokens.List, readLine: ReadLine): Block[] {
	const parts = Array.from({ length: Math.ceil(items.length / partLength) }, (_, at) => at * partLength);
	return parts.map((from) => {
		const shown = items.slice(from, from + partLength);
		const first = (typeof start === 'number' ? start : 1) + from;
		return {
			kind: `list ${ordered} ${first}`,
			raw: shown.map(({ raw }) => raw).join(''),
			draw() {
				const list = element(ordered ? 'ol' : 'ul', from > 0 ? 'part' : '');
				if (list instanceof HTMLOListElement && first !== 1) list.start = first;
				return toPlace(list);
			},
			list: () => shown.map((item) => toItem(item, loose, readLine)),
		};
	});
}

function toItem({ tokens, task, checked, raw }: Tokens.ListItem, isLoose: boolean, readLine: ReadLine): Block {
	const toInner = (token: MarkdownToken): Block[] =>
		!isLoose && token.type === 'text'
			? [{ kind: 'line', raw: token.raw, draw: () => ({ nodes: createProse(token, readLine) }) }]
			: toBlocks({ blocks: [token], readLine });
	return {
		kind: `item ${isLoose} ${task} ${checked}`,
		raw,
		draw() {
			const item = element('li', task ? 'todo' : '');
			if (task) {
				item.dataset.done = `${checked === true}`;
				item.append(element('span', 'visually-hidden', checked === true ? 'Done: ' : 'Open: '));
			}
			return toPlace(item);
		},
		list: () => toKnown(tokens).flatMap(toInner),
	};
}

function toTable({ header, rows, raw }: Tokens.Table, readLine: ReadLine): Block {
	const toRow = (cells: readonly Tokens.TableCell[], tag: 'th' | 'td') =>
		element('tr', '', ...cells.map((cell) => element(tag, cell.align ?? '', ...createInline(readLine(cell)))));
	const toText = (cells: readonly Tokens.TableCell[]) => cells.map(({ align, text }) => `${align}${text}`).join('\n');
	return {
		kind: `table ${toText(header)}`,
		raw,
		draw() {
			const body = element('tbody');
			const table = element('table', '', element('thead', '', toRow(header, 'th')), body);
			return { nodes: [createScroller('table', table, 'Table')], place: body };
		},
		list: () =>
			rows.map((cells) => ({ kind: 'row', raw: toText(cells), draw: () => ({ nodes: [toRow(cells, 'td')] }) })),
	};
}

/** Makes a box that may be wider than the page: the keyboard scrolls it, too. */
function createScroller(className: string, child: HTMLElement, label: string): HTMLElement {
	const box = element('div', className, child);
	box.tabIndex = 0;
	box.setAttribute('role', 'region');
	box.setAttribute('aria-label', label);
	return box;
}
