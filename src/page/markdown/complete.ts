/** Finds the finished parts at the start of a growing list or table, so that they are not parsed again. */

import type { Tokens } from 'marked';
import type { MarkdownToken } from '../../client/markdown.ts';

/** The number of items in a part of a list, and the number of rows in a part of a table. */
export const partLengths = { list: 25, table: 100 };

/** The part of a list or table that is finished and no longer in the text. */
export interface Begun {
	/** The number of finished items or rows. */
	readonly count: number;
	/** The number that the list's first item shows. */
	readonly start: number;
}

export const notBegun: Begun = { count: 0, start: 1 };

interface Complete {
	/** The number of parts at the end that are not finished. */
	readonly left: number;
	/** The text that must be parsed again. */
	readonly rest: string;
	/** The finished part of the block with which `rest` begins. */
	readonly begun: Begun;
}

/** Finds the final parts of the last block: more text cannot change them. `begun` belongs to the first block. */
export function findComplete(text: string, blocks: readonly MarkdownToken[], begun: Begun): Complete | undefined {
	const at = blocks.findLastIndex(({ type }) => type !== 'space');
	const block = blocks[at];
	if (block?.type !== 'list' && block?.type !== 'table') return undefined;
	const before = blocks
		.slice(0, at)
		.map(({ raw }) => raw)
		.join('');
	// If the lexer has changed the text, for example its tabs, do not finish any part.
	if (!text.startsWith(before + block.raw)) return undefined;
	const growing = text.slice(before.length);
	const from = at === 0 ? begun : notBegun;
	return block.type === 'list' ? findItems(growing, block, from) : findRows(growing, block, from);
}

/** An item is finished when the first line of the next item is complete. The last line is possibly incomplete. */
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

/** A row is finished when its line has ended. The rest begins with a copy of the table's head. */
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

/** Rounds a number of items or rows down to whole parts. */
function countWhole(complete: number, partLength: number): number {
	return Math.max(0, complete - (complete % partLength));
}

export function findStart(start: number | '', begun: Begun): number {
	return begun.count > 0 || start === '' ? begun.start : start;
}
