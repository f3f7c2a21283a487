import { RunletError } from '../../ground/errors.ts';

/** A page of a long text. Pages count from 1. */
export interface TextPage {
	readonly text: string;
	readonly page: number;
	readonly pages: number;
}

/**
 * Returns a page of a text. All pages together are the text. A page ends before a blank line, or else at a line or a
 * word, if one ends in its second half. Throws `invalid_argument` for a page that is not there.
 */
export function readPage(text: string, page: number, length: number): TextPage {
	const pages = splitPages(text, length);
	const found = pages[page - 1];
	if (found !== undefined) return { text: found, page, pages: pages.length };
	const count = pages.length === 1 ? 'is 1 page' : `are ${pages.length} pages`;
	throw new RunletError('invalid_argument', `page: there ${count}, and no page ${page}. Give 1 to ${pages.length}.`, {
		field: 'page',
	});
}

/** Splits a text into pages of at most `length` characters. An empty text is one page. */
export function splitPages(text: string, length: number): readonly string[] {
	const pages: string[] = [];
	let at = 0;
	while (text.length - at > length) {
		const end = at + findEnd(text.slice(at, at + length));
		pages.push(text.slice(at, end));
		at = end;
	}
	return [...pages, text.slice(at)];
}

function findEnd(piece: string): number {
	const half = piece.length / 2;
	for (const sign of ['\n\n', '\n', ' ']) {
		const at = piece.lastIndexOf(sign);
		if (at > half) return at + sign.length;
	}
	return /[\ud800-\udbff]$/.test(piece) && piece.length > 1 ? piece.length - 1 : piece.length;
}
