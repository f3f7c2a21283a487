/** Draws the blocks of a text. Interprets no HTML and loads nothing. A block keeps its element while its text grows. */

import type { Tokens } from 'marked';
import { type Markdown, type MarkdownToken, readLine, toKnown } from '../../client/markdown.ts';
import { say } from '../../client/say.ts';
import { configure, element, withoutTurns } from '../parts/element.ts';
import { createCode, splitCode } from './code.ts';
import { type Begun, findStart, notBegun, partLengths } from './complete.ts';
import { createFootnote } from './footnotes.ts';
import { createFormula } from './formulas.ts';
import { createInline } from './inline.ts';

type GetLine = Markdown['getLine'];

/**
 * Makes the blocks of a text. Each has the direction of its first letters, and its inner blocks have it, too. `begun`
 * describes the already finished part of the first block.
 */
export function toBlocks(markdown: Markdown, begun?: Begun): Block[] {
	return toInner(markdown, begun).map(withDirection);
}

function withDirection(block: Block): Block {
	const draw = (): Drawing => {
		const drawn = block.draw();
		for (const node of drawn.nodes)
			if (node instanceof HTMLElement && !node.matches('.code-block, .formula, hr')) node.dir = 'auto';
		return drawn;
	};
	return { ...block, draw };
}

function toInner({ blocks, getLine }: Markdown, begun: Begun = notBegun): Block[] {
	return blocks.flatMap((token, at) => toBlock(token, getLine, at === 0 ? begun : notBegun));
}

function toBlock(token: MarkdownToken, getLine: GetLine, begun: Begun): Block[] {
	switch (token.type) {
		case 'space':
		case 'checkbox':
			return [];
		case 'heading':
			// If a heading has no words, show its marks.
			return [toProse(headings[token.depth - 1] ?? 'h5', getLine(token) || token.raw.trimEnd())];
		case 'paragraph':
			return [toPicture(token.raw) ?? toProse('p', getLine(token))];
		case 'text':
			return [toProse('p', getLine(token))];
		case 'code':
			return [toCode(token)];
		case 'blockquote':
			return [toQuote(token, getLine)];
		case 'hr':
			return [{ kind: 'hr', raw: '', draw: () => ({ nodes: [element('hr')] }) }];
		case 'list':
			return toList(token, getLine, begun);
		case 'table':
			return toTable(token, getLine, begun);
		case 'formula':
			return [toFormula(token.text, token.raw)];
		case 'footnote':
			return [toFootnote(token.label, getLine(token))];
		default:
			return [{ kind: 'p', raw: token.raw, draw: () => ({ nodes: [element('p', '', token.raw.trimEnd())] }) }];
	}
}

/** The tags for headings. `h1` and `h2` are left to the page itself. */
const headings = ['h3', 'h4'] as const;

const toPlace = (node: HTMLElement) => ({ nodes: [node], place: node });

function toProse(tag: 'p' | 'h3' | 'h4' | 'h5', line: string): Block {
	return { kind: tag, raw: line, draw: () => toPlace(element(tag)), list: () => toPieces(line) };
}

/** A paragraph that is one image with its own bytes. No address is asked for it, and an image runs no script. */
const picture = /^\s*!\[([^\]\n]{0,1000})\]\((data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z\d+/]+={0,2})\)\s*$/;

function toPicture(raw: string): Block | undefined {
	const [, alt = '', src = ''] = picture.exec(raw) ?? [];
	if (src === '') return undefined;
	const draw = () => ({ nodes: [element('p', '', configure(element('img'), { alt: withoutTurns(alt), src }))] });
	return { kind: 'picture', raw, draw };
}

function toFormula(text: string, raw: string): Block {
	return { kind: 'formula', raw, draw: () => ({ nodes: [createFormula('div', text, raw, true)] }) };
}

function toFootnote(label: string, line: string): Block {
	const draw = () => toPlace(createFootnote(label));
	return { kind: `footnote ${label}`, raw: line, draw, list: () => toPieces(line) };
}

/** Makes a part of a long text. Each part after the first has its own element, with its own layout. */
function toPart(at: number, nodes: ChildNode[]): ChildNode[] {
	return at === 0 ? nodes : [element('span', 'part', ...nodes)];
}

function toPieces(line: string): Block[] {
	return splitPieces(line).map((raw, at) => ({
		kind: at === 0 ? 'line' : 'piece',
		raw,
		draw() {
			return { nodes: toPart(at, createInline(readLine(raw))) };
		},
	}));
}

function toQuote({ raw, tokens }: Tokens.Blockquote, getLine: GetLine): Block {
	return {
		kind: 'quote',
		raw,
		draw: () => toPlace(element('blockquote')),
		list: () => toInner({ blocks: toKnown(tokens), getLine }),
	};
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
			splitCode(text).map((raw, at) => ({
				kind: at === 0 ? 'lines' : 'part',
				raw,
				draw: () => ({ nodes: toPart(at, [new Text(raw)]) }),
			})),
	};
}

/** Splits items or rows into parts. The browser skips the layout of parts that are not visible. */
function splitParts<Item>(items: readonly Item[], length: number, { count }: Begun) {
	return Array.from({ length: Math.ceil(items.length / length) }, (_, at) => ({
		from: count + at * length,
		shown: items.slice(at * length, (at + 1) * length),
	}));
}

function toList({ ordered, start, items }: Tokens.List, getLine: GetLine, begun: Begun): Block[] {
	const number = findStart(start, begun);
	return splitParts(items, partLengths.list, begun).map(({ from, shown }) => {
		const first = number + from;
		return {
			kind: `list ${ordered} ${first}`,
			raw: shown.map(({ raw }) => raw).join(''),
			draw() {
				const list = element(ordered ? 'ol' : 'ul', from > 0 ? 'part' : '');
				if (list instanceof HTMLOListElement && first !== 1) list.start = first;
				return toPlace(list);
			},
			list: () => shown.map((item) => toItem(item, getLine)),
		};
	});
}

/** The first words of an item get no paragraph element, so that a later blank line does not change earlier items. */
function toItem({ tokens, task, checked, raw }: Tokens.ListItem, getLine: GetLine): Block {
	const [first, ...others] = toKnown(tokens).filter(({ type }) => type !== 'checkbox');
	const isLine = first?.type === 'text' || first?.type === 'paragraph';
	return {
		kind: `item ${task} ${checked}`,
		raw,
		draw() {
			const item = element('li', task ? 'todo' : '');
			if (task) {
				item.dataset.done = `${checked === true}`;
				item.append(element('span', 'visually-hidden', say(checked === true ? 'Done: ' : 'Open: ')));
			}
			return toPlace(item);
		},
		list() {
			const line = isLine ? toPieces(getLine(first)) : [];
			return [...line, ...toInner({ blocks: isLine || first === undefined ? others : [first, ...others], getLine })];
		},
	};
}

/** Splits a table into parts. Each part repeats the head of the table. */
function toTable({ header, rows }: Tokens.Table, getLine: GetLine, begun: Begun): Block[] {
	const toCell = (cell: Tokens.TableCell) =>
		splitPieces(getLine(cell)).flatMap((piece) => createInline(readLine(piece)));
	const toRow = (cells: readonly Tokens.TableCell[], tag: 'th' | 'td') =>
		element('tr', '', ...cells.map((cell) => element(tag, cell.align ?? '', ...toCell(cell))));
	const toText = (cells: readonly Tokens.TableCell[]) => cells.map(({ align, text }) => `${align}${text}`).join('\n');
	const toPart = (from: number, shown: Tokens.Table['rows']): Block => ({
		kind: `table ${from} ${toText(header)}`,
		raw: shown.map(toText).join('\n\n'),
		draw() {
			const body = element('tbody');
			const table = element('table', '', element('thead', '', toRow(header, 'th')), body);
			return { nodes: [createScroller(from, table)], place: body };
		},
		list: () =>
			shown.map((cells) => ({ kind: 'row', raw: toText(cells), draw: () => ({ nodes: [toRow(cells, 'td')] }) })),
	});
	const parts = splitParts(rows, partLengths.table, begun);
	return parts.length === 0 && begun.count === 0
		? [toPart(0, [])]
		: parts.map(({ from, shown }) => toPart(from, shown));
}

/** Makes a box for a table that can be wider than the page. When focused, the box scrolls by keyboard. */
function createScroller(from: number, table: HTMLElement): HTMLElement {
	const ariaLabel = from > 0 ? say('Table, from row {row}', { row: from + 1 }) : say('Table');
	return configure(element('div', from > 0 ? 'table part' : 'table', table), {
		tabIndex: 0,
		role: 'region',
		ariaLabel,
	});
}

/** The minimum and maximum length of a piece. A piece ends after a sentence or line, preferably without open marks. */
const shortest = 2_000;
const longest = 4_000;

const marks = '*_`~$[]()';
const markOrGap = /[*_`~$[\]()]|(?<=[\p{L}\p{N}.,:;!?])\s(?=[\p{L}\p{N}])/gu;

function splitPieces(text: string): readonly string[] {
	const pieces: string[] = [];
	let from = 0;
	while (text.length - from > shortest) {
		const to = findCut(text, from);
		if (to === undefined) break;
		pieces.push(text.slice(from, to));
		from = to;
	}
	return from < text.length ? [...pieces, text.slice(from)] : pieces;
}

/** Returns the end of the piece that begins at `from`, or undefined if it is not known yet. */
function findCut(text: string, from: number): number | undefined {
	const last = from + longest;
	const counts = new Map<string, number>();
	let best: { readonly at: number; readonly badness: number } | undefined;
	markOrGap.lastIndex = from;
	for (let match = markOrGap.exec(text); match !== null && match.index < last; match = markOrGap.exec(text)) {
		const [found] = match;
		const at = match.index + 1;
		if (marks.includes(found)) counts.set(found, (counts.get(found) ?? 0) + 1);
		else if (at - from > shortest) {
			const badness = 2 * countOpen(counts) + (found === '\n' || /[.:!?]/.test(text.charAt(at - 2)) ? 0 : 1);
			if (badness === 0) return at;
			if (best === undefined || badness <= best.badness) best = { at, badness };
		}
	}
	if (text.length <= last) return undefined;
	// A word of thousands of letters is cut anywhere, except within a character.
	return best?.at ?? (/[\udc00-\udfff]/.test(text.charAt(last)) ? last + 1 : last);
}

function countOpen(counts: ReadonlyMap<string, number>): number {
	const count = (mark: string) => counts.get(mark) ?? 0;
	const odd = [...'*_`~$'].filter((mark) => count(mark) % 2 > 0).length;
	return odd + Math.abs(count('[') - count(']')) + Math.abs(count('(') - count(')'));
}

export interface Block {
	/** The kind of the block. If the kind changes, the block gets a new element. */
	readonly kind: string;
	/** The source text. Blocks with the same kind and source look the same. */
	readonly raw: string;
	readonly draw: () => Drawing;
	/** Returns the inner blocks. `draw` does not draw them. */
	readonly list?: () => readonly Block[];
}

interface Drawing {
	readonly nodes: readonly ChildNode[];
	/** The element into which the inner blocks are drawn. */
	readonly place?: Element;
}

interface KeptBlock extends Drawing {
	readonly kind: string;
	raw: string;
	readonly inner: KeptBlock[];
}

export type KeptBlocks = KeptBlock[];

/** Updates `place` to show these blocks. `kept` has the blocks that are now at the end of `place`. */
export function showBlocks(place: Element, kept: KeptBlocks, blocks: readonly Block[]): void {
	let same = 0;
	while (isSame(kept[same], blocks[same])) same += 1;
	const changed = kept.splice(same);
	const first = changed[0];
	const next = blocks[same];
	if (first?.place !== undefined && next?.list !== undefined && first.kind === next.kind) {
		showBlocks(first.place, first.inner, next.list());
		first.raw = next.raw;
		kept.push(first);
		changed.shift();
	}
	for (const { nodes } of changed) for (const node of nodes) node.remove();
	for (const block of blocks.slice(kept.length)) {
		const drawn = draw(block);
		kept.push(drawn);
		place.append(...drawn.nodes);
	}
}

function isSame(kept: KeptBlock | undefined, block: Block | undefined): boolean {
	return kept !== undefined && kept.kind === block?.kind && kept.raw === block.raw;
}

function draw({ kind, raw, draw: drawOne, list }: Block): KeptBlock {
	const drawing = drawOne();
	const inner: KeptBlock[] = [];
	if (drawing.place !== undefined && list !== undefined) showBlocks(drawing.place, inner, list());
	return { ...drawing, kind, raw, inner };
}
