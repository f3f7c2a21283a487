/**
 * The width of texts on a terminal, in columns. Node measures texts for its own prompt, but does not export that
 * function. The packages string-width and wrap-ansi do the same as this file, but do not break Chinese and Japanese texts.
 */

import { stripVTControlCharacters } from 'node:util';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Characters that take two columns: emoji, and the wide ones of Unicode's EastAsianWidth.txt. */
const wide =
	/^(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f|[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2fb}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}])/u;
const empty = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;

interface Piece {
	readonly text: string;
	readonly width: number;
}

function* split(text: string): Generator<Piece> {
	for (const { segment } of graphemes.segment(text))
		yield { text: segment, width: wide.test(segment) ? 2 : empty.test(segment) ? 0 : 1 };
}

/** Counts the columns of a line. Styles take none. */
export function measure(line: string): number {
	const text = stripVTControlCharacters(line);
	if (/^[\x20-\x7e]*$/.test(text)) return text.length;
	let columns = 0;
	for (const { width } of split(text)) columns += width;
	return columns;
}

/** Returns a line without styles in at most so many columns, with `…` where it is cut. */
export function cutLine(line: string, columns: number): string {
	if (measure(line) <= columns) return line;
	let [cut, left] = ['', columns - 1];
	for (const { text, width } of split(line)) {
		left -= width;
		if (left < 0) break;
		cut += text;
	}
	return `${cut}…`;
}

/**
 * Breaks a text with styles into lines of at most so many columns: at spaces, and between wide characters. A longer
 * word, such as an address, stays whole, unless `isStrict`.
 */
export function wrap(text: string, columns: number, { isStrict = false } = {}): string[] {
	return carryStyles(text.split('\n').flatMap((line) => wrapLine(line, columns, isStrict)));
}

function wrapLine(text: string, columns: number, isStrict: boolean): string[] {
	if (measure(text) <= columns) return [text];
	const lines: string[] = [];
	let [line, gap, word] = ['', '', ''];
	let [lineWidth, wordWidth] = [0, 0];
	function endWord() {
		// Spaces at the end of a line take no room.
		if (wordWidth === 0) gap = '';
		if (lineWidth + gap.length + wordWidth > columns) {
			if (lineWidth > 0) lines.push(line);
			// A line without a character has only styles.
			[line, gap, lineWidth] = [lineWidth > 0 ? '' : line, '', 0];
		}
		line += gap + word;
		lineWidth += gap.length + wordWidth;
		[gap, word, wordWidth] = ['', '', 0];
	}
	for (const [part] of text.matchAll(/(?!\t)\p{Cc}\[\d+m| +|[^ \p{Cc}]+|\p{Cc}/gu)) {
		if (/^\p{Cc}/u.test(part)) word += part;
		else if (part.startsWith(' ')) {
			endWord();
			gap = part;
		} else
			for (const { text: piece, width, mayBreak } of splitWord(part, isStrict && measure(part) > columns)) {
				if (mayBreak || (isStrict && wordWidth + width > columns)) endWord();
				word += piece;
				wordWidth += width;
			}
	}
	endWord();
	return [...lines, line];
}

/** Punctuation that begins no line, and punctuation that ends none. */
const closing = /^[\p{Pe}\p{Pf}、。，．！？：；・ー…!?,.:;]/u;
const opening = /[\p{Ps}\p{Pi}]$/u;

/** Splits a word before and after each wide character, and in strict mode into all its characters. */
function* splitWord(word: string, isStrict: boolean): Generator<Piece & { readonly mayBreak: boolean }> {
	if (!isStrict && measure(word) === word.length) return yield { text: word, width: word.length, mayBreak: false };
	let before: Piece = { text: '', width: 0 };
	for (const piece of split(word)) {
		const isWide = before.width === 2 || (piece.width === 2 && before.text !== '');
		yield { ...piece, mayBreak: isWide && !closing.test(piece.text) && !opening.test(before.text) };
		before = piece;
	}
}

/** Ends the open styles at each line's end, and begins them again in the next line. */
function carryStyles(lines: readonly string[]): string[] {
	let open: string[] = [];
	return lines.map((line) => {
		const before = open.join('');
		for (const [code, number] of line.matchAll(/(?!\t)\p{Cc}\[(\d+)m/gu)) {
			const style = toKind(Number(number));
			open = open.filter((one) => toKind(Number.parseInt(one.slice(2), 10)) !== style);
			if (!ends.has(Number(number))) open.push(code);
		}
		return `${before}${line}${open.length > 0 ? '\u001b[0m' : ''}`;
	});
}

const ends: ReadonlySet<number> = new Set([22, 23, 24, 29, 39]);

/** Returns the code that ends a style. */
function toKind(code: number): number {
	if (code === 1 || code === 2) return 22;
	if (code === 3 || code === 4 || code === 9) return code + 20;
	return ends.has(code) ? code : 39;
}
