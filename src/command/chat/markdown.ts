/** Markdown for the terminal. Writes each block when it is complete. Unknown markup stays as it is. */

import { stripVTControlCharacters, styleText } from 'node:util';
import type { Tokens } from 'marked';
import {
	type Markdown,
	type MarkdownToken,
	openMarkdown,
	readLine,
	splitBlocks,
	toKnown,
} from '../../client/markdown.ts';

type Style = Parameters<typeof styleText>[0];

/** A longer text without a complete block is parsed again only when it has grown by a tenth. */
const longestOpen = 4_000;

/** Takes Markdown without control characters. `write` gets complete blocks with the control characters of styles. */
export function createMarkdownWriter(write: (text: string) => void) {
	let open = '';
	let looked = 0;
	let hasWritten = false;

	function put({ blocks, getLine }: Markdown): void {
		const text = renderBlocks(blocks, getLine);
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

type GetLine = Markdown['getLine'];

function renderBlocks(tokens: readonly MarkdownToken[], getLine: GetLine, gap = '\n\n'): string {
	return tokens.flatMap((token) => renderBlock(token, getLine) ?? []).join(gap);
}

function renderBlock(token: MarkdownToken, getLine: GetLine): string | undefined {
	switch (token.type) {
		case 'space':
		case 'checkbox':
			return undefined;
		case 'heading':
			return style(token.depth === 1 ? ['bold', 'underline'] : 'bold', renderLine(token, getLine));
		case 'paragraph':
		case 'text':
			return renderLine(token, getLine);
		case 'code':
			return indent(style('cyan', token.text), '    ');
		case 'blockquote':
			return indent(renderBlocks(toKnown(token.tokens), getLine), style('dim', '│ '));
		case 'hr':
			return style('dim', '─'.repeat(40));
		case 'list':
			return renderList(token, getLine);
		case 'table':
			return renderTable(token, getLine);
		default:
			return token.raw.trimEnd();
	}
}

function renderLine(token: Tokens.Heading | Tokens.Paragraph | Tokens.Text, getLine: GetLine): string {
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

function renderList({ ordered, start, items, loose }: Tokens.List, getLine: GetLine): string {
	const first = typeof start === 'number' ? start : 1;
	const lines = items.map(({ tokens, task, checked }, at) => {
		const mark = task ? (checked === true ? '[x] ' : '[ ] ') : ordered ? `${first + at}. ` : '• ';
		const body = renderBlocks(toKnown(tokens), getLine, loose ? '\n\n' : '\n');
		return `${mark}${indent(body, ' '.repeat(mark.length)).slice(mark.length)}`;
	});
	return lines.join(loose ? '\n\n' : '\n');
}

function renderTable({ header, rows }: Tokens.Table, getLine: GetLine): string {
	const toCells = (cells: readonly Tokens.TableCell[]) => cells.map((cell) => renderInline(readLine(getLine(cell))));
	const head = toCells(header);
	const body = rows.map(toCells);
	const widths = head.map((_, at) => Math.max(...[head, ...body].map((cells) => measure(cells[at] ?? ''))));
	const toLine = (cells: readonly string[]) =>
		widths
			.map((width, at) => {
				const cell = cells[at] ?? '';
				const rest = ' '.repeat(width - measure(cell));
				return header[at]?.align === 'right' ? rest + cell : cell + rest;
			})
			.join('  ')
			.trimEnd();
	const rule = style('dim', widths.map((width) => '─'.repeat(width)).join('  '));
	return [style('bold', toLine(head)), rule, ...body.map(toLine)].join('\n');
}

/** Counts the columns of a text, if each character needs one column. */
function measure(text: string): number {
	return stripVTControlCharacters(text).length;
}

function indent(text: string, by: string): string {
	return text
		.split('\n')
		.map((line) => (line === '' && by.trim() === '' ? '' : by + line))
		.join('\n');
}
