/** Characters that turn the direction of the text around them (Unicode, 9.2): with them a text shows another one. */
const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text as it is shown: in the order in which it is written.
 *
 * @param {string} text
 */
export function withoutTurns(text) {
	return text.replace(turning, '');
}

/**
 * A new element. Strings become text: nothing here, or anywhere on the page, is read as HTML.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [className]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, className = '', ...children) {
	const node = document.createElement(tag);
	if (className) node.className = className;
	node.append(...children.map((child) => (typeof child === 'string' ? withoutTurns(child) : child)));
	return node;
}
