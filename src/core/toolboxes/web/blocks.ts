import type {
	BlockContent,
	Blockquote,
	Code,
	Heading,
	List,
	ListItem,
	Paragraph,
	PhrasingContent,
	Root,
	Table,
	TableCell,
	TableRow,
} from 'mdast';

/** A block that can be opened. A `box` is not written: it only separates its text from the text around it. */
export type Block =
	| { readonly type: 'box' | 'quote' | 'item' | 'table' | 'caption' | 'row' }
	| { readonly type: 'list'; readonly start?: number }
	| { readonly type: 'heading'; readonly depth: Heading['depth'] }
	| { readonly type: 'code'; readonly language?: string }
	| ({ readonly type: 'cell' } & Cell);

/** An open block that has a node in the tree. */
export type Target =
	| { readonly type: 'flow'; readonly node: Flow }
	| { readonly type: 'list'; readonly node: List }
	| { readonly type: 'line'; readonly node: Heading | Paragraph | TableCell }
	| { readonly type: 'code'; readonly node: Code }
	| { readonly type: 'table'; readonly table: GrowingTable };

/** An open block. A `box` has no node in the tree, so its text is added to the block around it. */
export type Open = Target | { readonly type: 'box'; readonly around: Target };

/** A node that contains blocks. */
type Flow = Root | Blockquote | ListItem;

/** Adds a block to an open block. A block that is not possible there becomes a box. */
export function enterBlock(block: Block, target: Target): Open {
	const box: Open = { type: 'box', around: target };
	if (target.type === 'table') return enterTable(block, target.table) ?? box;
	if (target.type === 'list') return block.type === 'item' ? { type: 'flow', node: addItem(target.node) } : box;
	return target.type === 'flow' ? (enterFlow(block, target.node) ?? box) : box;
}

function enterTable(block: Block, table: GrowingTable): Open | undefined {
	if (block.type === 'row') table.addRow();
	return block.type === 'cell' ? { type: 'line', node: table.addCell(block) } : undefined;
}

function enterFlow(block: Block, flow: Flow): Open | undefined {
	switch (block.type) {
		case 'heading':
			return { type: 'line', node: addBlock(flow, { type: 'heading', depth: block.depth, children: [] }) };
		case 'code':
			return { type: 'code', node: addBlock(flow, { type: 'code', lang: block.language, value: '' }) };
		case 'quote':
			return { type: 'flow', node: addBlock(flow, { type: 'blockquote', children: [] }) };
		case 'list': {
			const { start } = block;
			return {
				type: 'list',
				node: addBlock(flow, { type: 'list', ordered: start !== undefined, start, spread: false, children: [] }),
			};
		}
		case 'table': {
			const table = new GrowingTable();
			addBlock(flow, table.node);
			return { type: 'table', table };
		}
		default:
			return undefined;
	}
}

export function addBlock<N extends BlockContent>(flow: Flow, node: N): N {
	flow.children.push(node);
	return node;
}

export function addParagraph(flow: Flow, children: PhrasingContent[] = []): Paragraph {
	return addBlock(flow, { type: 'paragraph', children });
}

export function addItem(list: List): ListItem {
	const item: ListItem = { type: 'listItem', spread: false, children: [] };
	list.children.push(item);
	return item;
}

/** Opens the same block again in a new tree, without its content. A list continues its numbers. */
export function continueBlock(open: Open, target: Target): Open {
	if (open.type === 'box') return { type: 'box', around: target };
	if (open.type === 'table') return enterBlock({ type: 'table' }, target);
	if (open.type === 'code') return enterBlock({ type: 'code', language: open.node.lang ?? undefined }, target);
	if (open.type === 'list') {
		const { ordered, start, children } = open.node;
		return enterBlock(
			{ type: 'list', start: ordered ? (start ?? 1) + Math.max(0, children.length - 1) : undefined },
			target,
		);
	}
	const { node } = open;
	if (node.type === 'tableCell') return enterBlock({ type: 'cell', columns: 1, rows: 1, isHead: false }, target);
	if (node.type === 'heading') return enterBlock({ type: 'heading', depth: node.depth }, target);
	if (node.type === 'paragraph') return { type: 'box', around: target };
	return enterBlock({ type: node.type === 'blockquote' ? 'quote' : 'item' }, target);
}

/** The maximum number of columns or rows that one cell spans. */
const mostSpanned = 10;

/** The number of columns and rows that a cell spans, and whether the cell is a header. */
interface Cell {
	readonly isHead: boolean;
	readonly columns: number;
	readonly rows: number;
}

/** A table that grows cell by cell. If a cell spans several places, the further places stay empty. */
export class GrowingTable {
	readonly node: Table = { type: 'table', align: [], children: [] };
	/** For each column, the number of following rows that a cell above still covers. */
	readonly #taken: number[] = [];
	#row: TableRow | undefined;

	addRow(): void {
		this.#row = { type: 'tableRow', children: [] };
		this.node.children.push(this.#row);
	}

	addCell({ columns, rows, isHead }: Cell): TableCell {
		if (this.#row === undefined) this.addRow();
		const cells = this.#row?.children ?? [];
		// Every table in markdown has a head, so a missing head is added as an empty row.
		if (!isHead && cells.length === 0 && this.node.children.length === 1)
			this.node.children.unshift({ type: 'tableRow', children: [] });
		const add = (): TableCell => {
			const cell: TableCell = { type: 'tableCell', children: [] };
			cells.push(cell);
			return cell;
		};
		for (let left = this.#taken[cells.length] ?? 0; left > 0; left = this.#taken[cells.length] ?? 0) {
			this.#taken[cells.length] = left - 1;
			add();
		}
		const at = cells.length;
		const cell = add();
		for (let n = 1; n < columns; n++) add();
		for (let n = at; n < cells.length; n++) this.#taken[n] = rows - 1;
		return cell;
	}

	/** Lists the contents of the cells without the empty cells. */
	listContents(): readonly PhrasingContent[][] {
		const cells = this.node.children.flatMap((row) => row.children);
		return cells.flatMap(({ children }) => (children.length === 0 ? [] : [children]));
	}
}

/** Reads `colspan` or `rowspan`. */
export function readSpan(text: string | undefined): number {
	const span = Math.floor(Number(text));
	return span > 1 ? Math.min(mostSpanned, span) : 1;
}
