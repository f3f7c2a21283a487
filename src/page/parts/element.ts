/** Helpers for the DOM: HTML and SVG elements, texts that are safe to show, and downloads. */

import { say } from '../../client/say.ts';

/** Characters that change the direction of text (Unicode, 9.2), so that it can look like a different text. */
const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function withoutTurns(text: string): string {
	return text.replace(turning, '');
}

/** Returns the first `most` UTF-16 units of a text, without splitting a character. */
export function shorten(text: string, most: number): string {
	return text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/** A child of an element. A string becomes text, and never HTML. */
export type Child = Node | string | undefined;

export function element<Tag extends keyof HTMLElementTagNameMap>(
	tag: Tag,
	className = '',
	...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
	const node = document.createElement(tag);
	if (className) node.className = className;
	if (tag === 'input' || tag === 'textarea' || className === 'title') node.dir = 'auto';
	// English words of the page do not decide the direction of the text around them.
	if (className === 'visually-hidden') node.dir = 'ltr';
	for (const child of children)
		if (child !== undefined) node.append(typeof child === 'string' ? withoutTurns(child) : child);
	return node;
}

/** Sets properties of an element. Returns the element. */
export function configure<T extends Element>(node: T, properties: Partial<T>): T {
	return Object.assign(node, properties);
}

export function button(className: string, label: string, onClick: () => void): HTMLButtonElement {
	const node = element('button', className, label);
	node.type = 'button';
	node.addEventListener('click', onClick);
	return node;
}

/** `address` is a place on the page, such as `#/inbox`. */
export function link(className: string, address: string, ...children: readonly Child[]): HTMLAnchorElement {
	return configure(element('a', className, ...children), { href: address });
}

/** Makes a button that copies a text. CSS draws its label, so that the label is not part of a text selection. */
export function createCopy(label: string, read: () => string): HTMLButtonElement {
	const copy = button('copy', '', async () => {
		await navigator.clipboard.writeText(read());
		copy.dataset.label = say('Copied');
	});
	copy.dataset.label = say('Copy');
	copy.ariaLabel = label;
	copy.addEventListener('blur', () => {
		copy.dataset.label = say('Copy');
	});
	return copy;
}

/** Calls `send` when a person submits the form. `submitter` is the button that was pressed. */
export function onSubmit(form: HTMLFormElement, send: (submitter: HTMLElement | null) => void): void {
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		send(event.submitter);
	});
}

/** `cellClass` is the class of all header cells except the first. */
export function createTable(
	className: string,
	columns: readonly string[],
	rows: readonly HTMLElement[],
	cellClass = '',
): HTMLTableElement {
	const head = columns.map((text, at) => configure(element('th', at === 0 ? '' : cellClass, text), { scope: 'col' }));
	return element('table', className, element('thead', '', element('tr', '', ...head)), element('tbody', '', ...rows));
}

/** What contains a chat: the document, or the shadow root of an element, whose ids are its own. */
export type Root = Document | ShadowRoot;

/** Finds an element of the page, or of a shadow root. */
export function find<T extends Element>(selector: string, type: new () => T, root: ParentNode = document): T {
	const node = root.querySelector(selector);
	if (!(node instanceof type)) throw new Error(`The page lacks ${selector}.`);
	return node;
}

const namespace = 'http://www.w3.org/2000/svg';

/** Makes an SVG element. Style it by classes, because the page's policy forbids style attributes. */
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

let lastUrl: string | undefined;

/** Downloads bytes as a file. The caller fetches the bytes, because a plain link would not send the API key. */
export function save(name: string, bytes: Blob): void {
	if (lastUrl !== undefined) URL.revokeObjectURL(lastUrl);
	lastUrl = URL.createObjectURL(bytes);
	configure(element('a'), { href: lastUrl, download: name }).click();
}
