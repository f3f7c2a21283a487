/** Markdown for the terminal. Writes each block when it is complete. Unknown markup stays as it is. */

import { stripVTControlCharacters, styleText } from 'node:util';
import type { Tokens } from 'marked';
import { type CodeNode, highlight } from '../../client/highlight.ts';
import {
	type Markdown,
	type MarkdownToken,
	openMarkdown,
	readLine,
	splitBlocks,
	toKnown,
} from '../../client/markdown.ts';
import { measure, wrap } from './width.ts';

type Style = Parameters<typeof styleText>[0];

/** A longer text without a complete block is parsed again only when it has grown by a tenth. */
const longestOpen = 4_000;

/**
 * Takes Markdown without control characters. `write` gets complete blocks with the control characters of styles, and in
 * lines of at most so many columns.
 */
export function createMarkdownWriter(write: (text: string) => void, getColumns = () => Number.POSITIVE_INFINITY) {
	let open = '';
	let looked = 0;
	let hasWritten = false;

	function put({ blocks, getLine }: Markdown): void {
		const text = renderBlocks(blocks, { getLine, columns: getColumns() });
		if (text === '') return;
		write(`${hasWritten ? '\n' : ''}${text}\n`);
		hasWritten = true;
	}

	return {
		write(text: string): void {
			open += text;
			if (!text.includes('\n') || (open.length > longestOpen && open.length < looked * 1.1)) return;
			looked = open.length;
			// An unfinished line may still change the block.
			const end = open.lastIndexOf('\n') + 1;
			const { settled, rest } = splitBlocks(open.slice(0, end));
			open = rest + open.slice(end);
			put(settled);
		},
		/** Ends the text. */
		end(): void {
			put(openMarkdown(open));
			open = '';
		},
	};
}

function style(format: Style, text: string): string {
	return styleText(format, text, { validateStream: false });
}

interface Place extends Pick<Markdown, 'getLine'> {
	/** The columns that a line can have. */
	readonly columns: number;
}

function renderBlocks(tokens: readonly MarkdownToken[], place: Place, gap = '\n\n'): string {
	return tokens.flatMap((token) => renderBlock(token, place) ?? []).join(gap);
}

function renderBlock(token: MarkdownToken, place: Place): string | undefined {
	switch (token.type) {
		case 'space':
		case 'checkbox':
			return undefined;
		case 'heading':
			return fold(style(token.depth === 1 ? ['bold', 'underline'] : 'bold', renderLine(token, place)), place);
		case 'paragraph':
		case 'text':
			return fold(renderLine(token, place), place);
		case 'code':
			return indent(renderCode(token), '    ');
		case 'blockquote':
			return indent(renderBlocks(toKnown(token.tokens), within(place, 2)), style('dim', '│ '));
		case 'hr':
			return style('dim', '─'.repeat(Math.min(40, place.columns)));
		case 'list':
			return renderList(token, place);
		case 'table':
			return renderTable(token, place);
		default:
			return token.raw.trimEnd();
	}
}

/** The shortest line, however narrow the terminal is and however deep a list is. */
const fewestColumns = 20;

function within({ getLine, columns }: Place, indentation: number): Place {
	return { getLine, columns: Math.max(fewestColumns, columns - indentation) };
}

function fold(text: string, { columns }: Place): string {
	return wrap(text, columns).join('\n');
}

const codeStyles: Readonly<Record<string, Style>> = {
	'hljs-keyword': 'magenta',
	'hljs-built_in': 'cyan',
	'hljs-type': 'cyan',
	'hljs-attr': 'cyan',
	'hljs-variable': 'cyan',
	'hljs-literal': 'yellow',
	'hljs-number': 'yellow',
	'hljs-string': 'green',
	'hljs-regexp': 'green',
	'hljs-addition': 'green',
	'hljs-deletion': 'red',
	'hljs-comment': 'dim',
	'hljs-meta': 'dim',
	'hljs-title': 'blue',
	'hljs-name': 'blue',
};

function renderCode({ text, lang = '' }: Tokens.Code): string {
	const nodes = highlight(text, lang.split(/\s/)[0] ?? '');
	return nodes === undefined ? style('cyan', text) : nodes.map(renderNode).join('');
}

function renderNode({ text, classes, children }: CodeNode): string {
	const inner = text ?? children.map(renderNode).join('');
	const format = classes.map((name) => codeStyles[name]).find((known) => known !== undefined);
	return format === undefined ? inner : style(format, inner);
}

function renderLine(token: Tokens.Heading | Tokens.Paragraph | Tokens.Text, { getLine }: Place): string {
	// A heading may have no words.
	return renderInline(readLine(getLine(token))) || (token.type === 'heading' ? token.raw.trimEnd() : '');
}

function renderInline(tokens: readonly MarkdownToken[]): string {
	return tokens.map(renderOne).join('');
}

function renderOne(token: MarkdownToken): string {
	switch (token.type) {
		case 'strong':
			return style('bold', renderInline(toKnown(token.tokens)));
		case 'em':
			return style('italic', renderInline(toKnown(token.tokens)));
		case 'del':
			return style('strikethrough', renderInline(toKnown(token.tokens)));
		case 'codespan':
			return style('cyan', token.text);
		case 'checkbox':
			return '';
		case 'br':
			return '\n';
		case 'escape':
			return token.text;
		case 'link':
			return renderLink(token);
		default:
			return token.raw;
	}
}

/** Renders a link with its address. */
function renderLink(token: Tokens.Link): string {
	const label = renderInline(toKnown(token.tokens));
	const address = stripVTControlCharacters(token.href);
	if (stripVTControlCharacters(label) === address || `mailto:${stripVTControlCharacters(label)}` === address)
		return style('underline', label);
	return `${style('underline', label)} ${style('dim', `(${address})`)}`;
}

function renderList({ ordered, start, items, loose }: Tokens.List, place: Place): string {
	const first = typeof start === 'number' ? start : 1;
	const lines = items.map(({ tokens, task, checked }, at) => {
		const mark = task ? (checked === true ? '[x] ' : '[ ] ') : ordered ? `${first + at}. ` : '• ';
		const body = renderBlocks(toKnown(tokens), within(place, mark.length), loose ? '\n\n' : '\n');
		return `${mark}${indent(body, ' '.repeat(mark.length)).slice(mark.length)}`;
	});
	return lines.join(loose ? '\n\n' : '\n');
}

const columnGap = '  ';
/** A table whose columns had to be narrower is written as a list of its cells. */
const narrowestColumn = 8;

function renderTable({ header, rows }: Tokens.Table, { getLine, columns }: Place): string {
	const toCells = (cells: readonly Tokens.TableCell[]) => cells.map((cell) => renderInline(readLine(getLine(cell))));
	const head = toCells(header);
	const body = rows.map(toCells);
	const natural = head.map((_, at) => Math.max(...[head, ...body].map((cells) => measure(cells[at] ?? ''))));
	const widths = fitColumns(natural, columns - columnGap.length * (head.length - 1));
	if (widths === undefined) return renderRecords(head, body, columns);
	const isFolded = widths.some((width, at) => width < (natural[at] ?? 0));
	const toLines = (cells: readonly string[]) => {
		const folded = widths.map((width, at) => wrap(cells[at] ?? '', width, { isStrict: true }));
		return Array.from({ length: Math.max(...folded.map(({ length }) => length)) }, (_, row) =>
			widths
				.map((width, at) => {
					const cell = folded[at]?.[row] ?? '';
					const rest = ' '.repeat(Math.max(0, width - measure(cell)));
					return header[at]?.align === 'right' ? rest + cell : cell + rest;
				})
				.join(columnGap)
				.trimEnd(),
		).join('\n');
	};
	const rule = style('dim', widths.map((width) => '─'.repeat(width)).join(columnGap));
	const title = toLines(head.map((cell) => style('bold', cell)));
	// A rule between the rows shows where a folded row ends.
	return [title, rule, body.map(toLines).join(isFolded ? `\n${rule}\n` : '\n')].join('\n');
}

/** Narrows the widest columns until all fit. Returns undefined if they would be too narrow. */
function fitColumns(natural: readonly number[], columns: number): readonly number[] | undefined {
	let most = Math.max(...natural);
	const toWidths = () => natural.map((width) => Math.min(width, most));
	while (most >= narrowestColumn && toWidths().reduce((sum, width) => sum + width, 0) > columns) most -= 1;
	return most < narrowestColumn && most < Math.max(...natural) ? undefined : toWidths();
}

/** Writes each row as lines `header: cell`. */
function renderRecords(head: readonly string[], body: readonly (readonly string[])[], columns: number): string {
	const toRecord = (cells: readonly string[]) =>
		cells.map((cell, at) => wrap(`${style('bold', `${head[at]}:`)} ${cell}`, columns).join('\n')).join('\n');
	return body.map(toRecord).join(`\n${style('dim', '─'.repeat(Math.min(20, columns)))}\n`);
}

function indent(text: string, by: string): string {
	return text
		.split('\n')
		.map((line) => (line === '' && by.trim() === '' ? '' : by + line))
		.join('\n');
}
