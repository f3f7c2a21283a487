/** The end of a text that is drawn while it grows: where further text goes, and when it can be added there as it is. */

/** An open block of more characters is drawn again only when it has grown by a share of itself, so that its cost stays linear. */
const redrawLimit = 4_000;

/** Whether `text` can be added to `end` in place of drawing again what stands there. So many characters were added since `drawn`. */
export function canAdd(end: Element, drawn: ReturnType<typeof toDrawn>, added: number, text: string): boolean {
	const { fence, length, line } = drawn;
	if (fence !== undefined && !text.includes(fence.charAt(0)))
		return added < redrawLimit && end.matches('code, span.part');
	if (fence !== undefined) return length >= redrawLimit && !text.includes(fence) && added < length / 20;
	const isGoingOn = line > 8 && isPlain(text) && !(end.lastChild instanceof HTMLAnchorElement);
	if (isGoingOn && added < redrawLimit && end.matches('p, li, h3, h4, h5, span.part')) return true;
	return length >= redrawLimit && added + text.length < length / (text.includes('\n\n') ? 100 : 20);
}

/** Says of a text that is drawn how it begins and ends: the marks of its block of code, its length, and that of its last line. */
export function toDrawn(text: string) {
	const fence = /^\n* {0,3}(`{3,}|~{3,})/.exec(text)?.[1];
	const shown = fence === undefined ? text.trimEnd() : text.replace(/\n$/, '');
	return { fence, length: shown.length, line: shown.length - shown.lastIndexOf('\n') - 1 };
}

/** Whether a text has nothing that may be a mark within a line that has begun. */
function isPlain(text: string): boolean {
	return /^[\p{L}\p{N} ,;'"?!-]*$/u.test(text);
}

/** Finds where further text of the last block goes. */
export function findEnd(nodes: readonly ChildNode[]): Element | undefined {
	let end = nodes.at(-1);
	while (
		end instanceof Element &&
		end.lastElementChild?.matches('.code-block > pre, pre > code, ul, ol, li, p, blockquote, span.part')
	)
		end = end.lastElementChild;
	return end instanceof Element ? end : undefined;
}
