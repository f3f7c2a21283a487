/**
 * Shows a very long finished text. Its parts are shown as they were written, and each is drawn as Markdown when it comes
 * near the visible part of the page. So a text of 5 MB is there after a few frames, and the browser finds all its words.
 */

import { element } from '../parts/element.ts';

const longLength = 100_000;
const partLength = 5_000;
/** The layout of a text of this length takes a small part of a frame. */
const pieceLength = 10_000;
/** Matches a piece up to the end of a word. */
const piece = new RegExp(`[\\s\\S]{1,${pieceLength}}\\S{0,100}`, 'gu');

/** Matches an empty line, or a line that begins or ends a block of code. */
const emptyOrFence = / {0,3}(`{3,}|~{3,}).*$|[ \t]*$/my;

/**
 * Splits a long text at empty lines outside of blocks of code. Each part but the last has at least `partLength` characters.
 * Returns one part for a text that is not long, or has no such lines. Splitting a part again changes nothing.
 */
export function splitLong(text: string): readonly string[] {
	if (text.length < longLength) return [text];
	const parts: string[] = [];
	let fence: string | undefined;
	let from = 0;
	for (let at = 0; at !== -1; at = findNextLine(text, at)) {
		// Most lines need no regular expression, which takes longer.
		if (!' \t\n`~'.includes(text.charAt(at))) continue;
		emptyOrFence.lastIndex = at;
		const [line, mark] = emptyOrFence.exec(text) ?? [];
		if (mark !== undefined) {
			if (fence === undefined) fence = mark;
			else if (mark.startsWith(fence) && line?.trim() === mark) fence = undefined;
		} else if (line !== undefined && fence === undefined && at - from >= partLength && at < text.length) {
			parts.push(text.slice(from, at));
			from = at;
		}
	}
	return [...parts, text.slice(from)];
}

function findNextLine(text: string, at: number): number {
	const end = text.indexOf('\n', at);
	return end === -1 ? -1 : end + 1;
}

/** Splits a part without empty lines, such as a long table. Each piece is laid out alone when it comes near. */
function toPieces(part: string): readonly (string | Node)[] {
	if (part.length <= pieceLength) return [part];
	return (part.match(piece) ?? []).map((text) => element('span', 'part', text));
}

/** The number of parts that one step adds. */
const partsAtOnce = 100;

/**
 * Adds an element for each part to `root`, in several steps: the last parts first, because they are in view.
 * `draw` is called for each part at most once, when its element comes near.
 */
export function* addWaitingParts(
	root: Element,
	parts: readonly string[],
	draw: (part: string, root: HTMLElement) => void,
): Generator<void, void> {
	let first: Element | undefined;
	for (let to = parts.length; to > 0; to -= partsAtOnce) {
		const added = parts.slice(Math.max(0, to - partsAtOnce), to).map((part) => createWaitingPart(part, draw));
		if (first === undefined) root.append(...added);
		else first.before(...added);
		first = added[0];
		yield;
	}
}

function createWaitingPart(part: string, draw: (part: string, root: HTMLElement) => void): HTMLElement {
	const root = element('div', 'section waiting', ...toPieces(part));
	root.addEventListener('contentvisibilityautostatechange', (event) => {
		if (!isNear(event) || !root.classList.contains('waiting')) return;
		root.classList.remove('waiting');
		root.replaceChildren();
		draw(part, root);
	});
	return root;
}

/** Whether the browser lays out the element of the event now. TypeScript does not know the event (CSS Containment 2, 4.5). */
function isNear(event: Event): boolean {
	return 'skipped' in event && event.skipped === false;
}
