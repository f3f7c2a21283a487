/** Finds the finished first parts of a growing list or table. The rest continues in the next text. */

import type { Tokens } from 'marked';
import type { MarkdownToken } from '../../client/markdown.ts';

/** Items of a part of a list, and rows of a part of a table. */
export const partLengths = { list: 50, table: 100 };

/** The finished part of the list or table with which a text begins. */
export interface Begun {
	/** Its items or rows, which are whole parts. */
	readonly count: number;
	/** The number of the first item. */
	readonly start: number;
}

export const notBegun: Begun = { count: 0, start: 1 };

interface Complete {
	/** How many of the last parts are not complete. */
	readonly left: number;
	/** The text to read from now on, and the finished part of its first block. */
	readonly rest: string;
	readonly begun: Begun;
}

/** Finds the parts of the last block of `text` that more text can't change. `begun` is of its first block. */
export function findComplete(text: string, blocks: readonly MarkdownToken[], begun: Begun): Complete | undefined {
	const at = blocks.findLastIndex(({ type }) => type !== 'space');
	const block = blocks[at];
	if (block?.type !== 'list' && block?.type !== 'table') return undefined;
	const before = blocks
		.slice(0, at)
		.map(({ raw }) => raw)
		.join('');
	// What the lexer has changed must not be lost.
	if (!text.startsWith(before + block.raw)) return undefined;
	const growing = text.slice(before.length);
	const from = at === 0 ? begun : notBegun;
	return block.type === 'list' ? findItems(growing, block, from) : findRows(growing, block, from);
}

/** An item is complete when the first line of the next one is. The last line may not have ended. */
function findItems(text: string, { items, start }: Tokens.List, begun: Begun): Complete | undefined {
	const count = countWhole(items.length - 2, partLengths.list);
	if (count === 0) return undefined;
	const complete = items
		.slice(0, count)
		.map(({ raw }) => raw)
		.join('');
	return {
		left: Math.ceil((items.length - count) / partLengths.list),
		rest: text.slice(complete.length),
		begun: { count: begun.count + count, start: findStart(start, begun) },
	};
}

/** A row is complete when its line has ended. The rest begins with the head of the table again. */
function findRows(text: string, { rows, raw }: Tokens.Table, begun: Begun): Complete | undefined {
	const count = countWhole(rows.length - 1, partLengths.table);
	if (count === 0) return undefined;
	const lines = raw.split(/(?<=\n)/);
	const head = lines.slice(0, 2).join('');
	const complete = lines.slice(2, 2 + count).join('');
	return {
		left: Math.ceil((rows.length - count) / partLengths.table),
		rest: head + text.slice(head.length + complete.length),
		begun: { ...begun, count: begun.count + count },
	};
}

/** Counts those of the first items or rows that are whole parts. */
function countWhole(complete: number, partLength: number): number {
	return Math.max(0, complete - (complete % partLength));
}

/** Finds the number of the first item. */
export function findStart(start: number | '', begun: Begun): number {
	return begun.count > 0 || start === '' ? begun.start : start;
}
