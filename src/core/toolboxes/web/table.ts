import type { PhrasingContent, Table, TableCell, TableRow } from 'mdast';

/** The most columns or rows that a cell spans. */
const mostSpanned = 10;

/** How many columns and rows a cell takes, and whether it names them. */
export interface Cell {
	readonly isHead: boolean;
	readonly columns: number;
	readonly rows: number;
}

/** A table that grows cell by cell. A cell that spans others leaves them empty. */
export class GrowingTable {
	readonly node: Table = { type: 'table', align: [], children: [] };
	/** For each column, how many more rows a cell above takes. */
	readonly #taken: number[] = [];
	#row: TableRow | undefined;

	addRow(): void {
		this.#row = { type: 'tableRow', children: [] };
		this.node.children.push(this.#row);
	}

	addCell({ columns, rows, isHead }: Cell): TableCell {
		if (this.#row === undefined) this.addRow();
		const cells = this.#row?.children ?? [];
		// A table without a head gets an empty one, because markdown has no other tables.
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

	/** The contents of its cells that have one. */
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
