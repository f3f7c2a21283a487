/** The DOM: elements of HTML and SVG, texts that are safe to show, and downloads. */

/** Characters that turn the direction of the text around them (Unicode, 9.2): a text with them shows as another one. */
const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Removes characters that change the direction of a text. */
export function withoutTurns(text: string): string {
	return text.replace(turning, '');
}

/** Returns the first `most` UTF-16 units of a text, without splitting a character. */
export function shorten(text: string, most: number): string {
	return text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/** Makes an element. Strings become text: nothing on the page is read as HTML. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
	tag: Tag,
	className = '',
	...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
	const node = document.createElement(tag);
	if (className) node.className = className;
	node.append(...children.map((child) => (typeof child === 'string' ? withoutTurns(child) : child)));
	return node;
}

export function button(className: string, label: string, onClick: () => void): HTMLButtonElement {
	const node = element('button', className, label);
	node.type = 'button';
	node.addEventListener('click', onClick);
	return node;
}

/** Makes a link to a place on the page, such as `#/inbox`. */
export function link(className: string, address: string, ...children: (Node | string)[]) {
	const node = element('a', className, ...children);
	node.href = address;
	return node;
}

/** Finds an element of index.html. */
export function find<T extends Element>(selector: string, type: new () => T): T {
	const node = document.querySelector(selector);
	if (!(node instanceof type)) throw new Error(`The page lacks ${selector}.`);
	return node;
}

const namespace = 'http://www.w3.org/2000/svg';

/** Makes an SVG element. Style it by classes: the policy of the page forbids inline styles. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
	tag: Tag,
	attributes: Readonly<Record<string, string>>,
	...children: readonly (Node | string)[]
): SVGElementTagNameMap[Tag] {
	const node = document.createElementNS(namespace, tag);
	for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
	node.append(...children);
	return node;
}

let last: string | undefined;

/**
 * Downloads bytes under a name. The caller reads them by a request, because a link sends no key.
 */
export function save(name: string, bytes: Blob): void {
	if (last !== undefined) URL.revokeObjectURL(last);
	last = URL.createObjectURL(bytes);
	const link = element('a');
	link.href = last;
	link.download = name;
	link.click();
}
