/** Finds an element of the page. Throws if the page has none, or one of another type. */
export function find<T extends Element>(selector: string, type: new () => T): T {
	const found = document.querySelector(selector);
	if (found instanceof type) return found;
	throw new Error(`The page has no ${selector}.`);
}

/** Makes an element with a text. The text is shown as it is, and never read as HTML. */
export function createElement<K extends keyof HTMLElementTagNameMap>(
	tag: K,
	className: string,
	...content: (string | Node)[]
): HTMLElementTagNameMap[K] {
	const element = document.createElement(tag);
	element.className = className;
	element.append(...content);
	return element;
}

/** Makes a button. */
export function createButton(text: string, onClick: () => void): HTMLButtonElement {
	const button = createElement('button', '', text);
	button.type = 'button';
	button.addEventListener('click', onClick);
	return button;
}
