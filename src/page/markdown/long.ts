/**
 * Shows a very long finished text. Its parts are shown as they were written, and each is drawn as Markdown when it comes
 * near the visible part of the page. So a text of 5 MB is there at once, and the browser finds all its words.
 */

import { element } from '../parts/element.ts';

const longLength = 100_000;
const partLength = 5_000;
/** Matches text up to the end of a word. Its layout takes a small part of a frame. */
const piece = /[\s\S]{1,10000}\S{0,100}/gu;

/**
 * Splits a long text at empty lines outside of blocks of code. Each part but the last has at least `partLength` characters.
 * Returns one part for a text that is not long, or has no such lines. Splitting a part again changes nothing.
 */
export function splitLong(text: string): readonly string[] {
	if (text.length < longLength) return [text];
	const parts: string[] = [];
	let fence: string | undefined;
	let from = 0;
	for (const { 0: line, 1: mark, index } of text.matchAll(/^(?: {0,3}(`{3,}|~{3,}).*|[ \t]*)$/gm)) {
		if (mark !== undefined) {
			if (fence === undefined) fence = mark;
			else if (mark.startsWith(fence) && line.trim() === mark) fence = undefined;
		} else if (fence === undefined && index - from >= partLength && index < text.length) {
			parts.push(text.slice(from, index));
			from = index;
		}
	}
	return [...parts, text.slice(from)];
}

/** Splits a part without empty lines, such as a long table. Each piece is laid out alone when it comes near. */
function toPieces(part: string): readonly (string | Node)[] {
	const pieces = part.match(piece) ?? [];
	return pieces.length === 1 ? pieces : pieces.map((text) => element('span', 'part', text));
}

/** Makes an element for each part. `draw` is called for each at most once, when its element comes near. */
export function createWaitingParts(
	parts: readonly string[],
	draw: (part: string, root: HTMLElement) => void,
): HTMLElement[] {
	return parts.map((part) => {
		const root = element('div', 'section waiting', ...toPieces(part));
		root.addEventListener('contentvisibilityautostatechange', (event) => {
			if (!isNear(event) || !root.classList.contains('waiting')) return;
			root.classList.remove('waiting');
			root.replaceChildren();
			draw(part, root);
		});
		return root;
	});
}

/** Whether the browser lays out the element of the event now. TypeScript does not know the event (CSS Containment 2, 4.5). */
function isNear(event: Event): boolean {
	return 'skipped' in event && event.skipped === false;
}
