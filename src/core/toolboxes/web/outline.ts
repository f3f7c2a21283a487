import type { Code, Paragraph, Root } from 'mdast';
import type { Handle } from 'mdast-util-to-markdown';
import { RunletError } from '../../base/errors.ts';
import { splitText } from '../../base/text.ts';
import type { GrowingTable } from './blocks.ts';
import {
	addBlock,
	addItem,
	addParagraph,
	type Block,
	continueBlock,
	enterBlock,
	type Open,
	type Target,
} from './blocks.ts';
import { gfmTableToMarkdown, toMarkdown } from './libraries.ts';
import { Line, type LineParent, type Mark } from './line.ts';

/** The maximum number of nodes in a piece. */
const mostNodes = 2_000;
/** The maximum number of characters in a piece. */
const mostCharacters = 100_000;
/** The maximum number of characters in the whole text. */
const mostText = 10_000_000;
/** The maximum depth of nested lists, items and quotations. Deeper blocks are flattened. */
const mostNested = 20;

/** Writes markdown while blocks open and close. The tree is written piece by piece, so the work is linear. */
export class Outline {
	readonly #written: string[] = [];
	readonly #line = new Line();
	#root: Root = { type: 'root', children: [] };
	#open: Open[] = [{ type: 'flow', node: this.#root }];
	/** The current paragraph, for text outside headings, cells and code. */
	#paragraph: Paragraph | undefined;
	#nodes = 0;
	#characters = 0;
	/** The number of characters that are already written. */
	#length = 0;
	/** Whether the newest line of code is empty. */
	#isLineStart = true;

	openBlock(block: Block): void {
		if (this.#nodes >= mostNodes) this.#cut();
		// A table that contains a table or a heading is used only for layout.
		if (block.type === 'table' || block.type === 'heading') this.#dissolveTable();
		this.#endLine();
		this.#nodes++;
		this.#open.push(this.#enter(block));
	}

	closeBlock(): void {
		this.#endLine();
		const closed = this.#open.pop();
		if (closed?.type !== 'box') this.#line.end();
		if (closed?.type === 'code') closed.node.value = closed.node.value.replace(/^\n/, '').replace(/\n$/, '');
	}

	/** Applies a mark to all text until `closeMark`. */
	openMark(mark: Mark): void {
		this.#line.openMark(mark);
	}

	closeMark(): void {
		this.#line.closeMark();
	}

	/** Adds text. Collapses blanks outside code. */
	addText(text: string): void {
		for (const part of splitText(text, mostCharacters / 2)) {
			if (this.#nodes >= mostNodes || this.#characters + part.length > mostCharacters) this.#cut();
			this.#characters += part.length;
			const target = this.#target;
			if (target.type === 'code') this.#addCode(target.node, part);
			else this.#nodes += this.#line.addText(part, () => this.#startLine(target));
		}
	}

	setLanguage(language: string | undefined): void {
		const target = this.#target;
		if (target.type === 'code') target.node.lang ??= language;
	}

	addBreak(): void {
		if (this.#target.type === 'code') this.addText('\n');
		else if (this.#target.type === 'line') this.#line.separate();
		else if (this.#paragraph !== undefined) this.#nodes += this.#line.addNode({ type: 'break' }, this.#paragraph);
	}

	addImage(url: string, alt: string): void {
		const target = this.#target;
		if (target.type === 'code') this.addText(alt);
		else this.#nodes += this.#line.addNode({ type: 'image', url, alt }, this.#startLine(target));
	}

	addRule(): void {
		this.#endLine();
		const target = this.#target;
		if (target.type === 'flow') addBlock(target.node, { type: 'thematicBreak' });
	}

	finish(): string {
		this.#write();
		return this.#written.join('\n\n');
	}

	/** The innermost open block that has a node in the tree. */
	get #target(): Target {
		const open = this.#open.at(-1) ?? { type: 'flow', node: this.#root };
		return open.type === 'box' ? open.around : open;
	}

	#enter(block: Block): Open {
		const target = this.#target;
		if (block.type === 'caption' && target.type === 'table') return this.#enterCaption();
		// A row or cell belongs to the table, even if the end tag of the cell before it is missing.
		const table = target.type === 'line' ? this.#findTable() : undefined;
		if (table !== undefined && (block.type === 'row' || block.type === 'cell')) {
			this.#line.end();
			return enterBlock(block, { type: 'table', table });
		}
		if (block.type === 'item' && target.type === 'line') this.#line.addText('• ', () => target.node);
		const isNesting = block.type === 'list' || block.type === 'quote';
		const nested = isNesting ? this.#open.filter(({ type }) => type === 'list' || type === 'flow').length : 0;
		return nested > mostNested ? { type: 'box', around: target } : enterBlock(block, target);
	}

	/** Puts a paragraph in front of the innermost table. */
	#enterCaption(): Open {
		const around = this.#findAround(this.#open.findLastIndex(({ type }) => type === 'table'));
		const table = this.#findTable();
		if (around === undefined || table === undefined) return { type: 'box', around: this.#target };
		around.node.children.pop();
		const node = addParagraph(around.node);
		addBlock(around.node, table.node);
		return { type: 'line', node };
	}

	/** Returns the block around a table, if this block can contain paragraphs. */
	#findAround(at: number): Extract<Target, { type: 'flow' }> | undefined {
		const around = this.#open.slice(0, Math.max(0, at)).findLast(({ type }) => type !== 'box');
		return around?.type === 'flow' ? around : undefined;
	}

	/** Returns the node to which the text of a line is added. */
	#startLine(target: Exclude<Target, { type: 'code' }>): LineParent {
		if (target.type === 'line') return target.node;
		// The text is inside a table but outside its cells, or inside a list but outside its items.
		if (target.type === 'table') return target.table.addCell({ columns: 1, rows: 1, isHead: false });
		this.#paragraph ??= addParagraph(target.type === 'list' ? addItem(target.node) : target.node);
		return this.#paragraph;
	}

	#endLine(): void {
		const target = this.#target;
		if (target.type === 'line') this.#line.separate();
		else {
			if (target.type === 'code' && !this.#isLineStart) this.#addCode(target.node, '\n');
			this.#paragraph = undefined;
			this.#line.end();
		}
	}

	#addCode(node: Code, text: string): void {
		if (text === '') return;
		node.value += text;
		this.#isLineStart = text.endsWith('\n');
	}

	#findTable(): GrowingTable | undefined {
		const open = this.#open.findLast(({ type }) => type === 'table');
		return open?.type === 'table' ? open.table : undefined;
	}

	/** Converts the cells of the innermost table to paragraphs, and ignores the table from now on. */
	#dissolveTable(): void {
		const at = this.#open.findLastIndex(({ type }) => type === 'table');
		const table = this.#findTable();
		const around = this.#findAround(at);
		if (table === undefined || around === undefined) return;
		around.node.children.pop();
		for (const content of table.listContents()) addParagraph(around.node, content);
		this.#open = this.#open.map((open, n) => (n < at ? open : { type: 'box', around }));
		this.#paragraph = undefined;
		this.#line.end();
	}

	/** Writes the tree, and begins a new tree in which the same blocks are open. */
	#cut(): void {
		const [, ...open] = this.#open;
		this.#write();
		this.#root = { type: 'root', children: [] };
		this.#open = [{ type: 'flow', node: this.#root }];
		this.#nodes = 0;
		this.#characters = 0;
		this.#paragraph = undefined;
		this.#line.end();
		for (const block of open) this.#open.push(continueBlock(block, this.#target));
	}

	#write(): void {
		const text = writeMarkdown(this.#root);
		this.#length += text.length;
		if (this.#length > mostText)
			throw new RunletError(
				'too_large',
				`url: the page has more than ${mostText} characters of text. Read another page.`,
				{
					field: 'url',
					limit: mostText,
				},
			);
		if (text !== '') this.#written.push(text);
	}
}

/** Writes a tree as markdown that is read, not rendered. Text is not escaped, except `|` within a cell. */
function writeMarkdown(tree: Root): string {
	return toMarkdown(tree, {
		bullet: '-',
		extensions: [gfmTableToMarkdown({ tablePipeAlign: false }), { handlers }],
	}).trim();
}

const handlers: Readonly<Record<string, Handle>> = {
	text: ({ value }, _, { stack }) => (stack.includes('tableCell') ? value.replaceAll('|', '\\|') : value),
	break: () => '\n',
	link: (node, _, state, info) => {
		const text = state.containerPhrasing(node, { ...info, before: '[', after: ']' });
		return mark(text, (inner) => `[${inner}](${toDestination(node.url)})`);
	},
	image: ({ alt, url }) => `![${alt}](${toDestination(url)})`,
	strong: (node, _, state, info) =>
		mark(state.containerPhrasing(node, { ...info, before: '*', after: '*' }), (inner) => `**${inner}**`),
	emphasis: (node, _, state, info) =>
		mark(state.containerPhrasing(node, { ...info, before: '_', after: '_' }), (inner) => `_${inner}_`),
	delete: (node, _, state, info) =>
		mark(state.containerPhrasing(node, { ...info, before: '~', after: '~' }), (inner) => `~~${inner}~~`),
};

/** Marks a text, but not the blanks at its ends. */
function mark(text: string, write: (inner: string) => string): string {
	const inner = text.trim();
	if (inner === '') return text;
	const from = text.indexOf(inner);
	return `${text.slice(0, from)}${write(inner)}${text.slice(from + inner.length)}`;
}

function toDestination(url: string): string {
	const plain = url.replaceAll('|', '%7C');
	return /[()]/.test(plain) ? `<${plain}>` : plain;
}
