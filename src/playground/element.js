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
	node.append(...children);
	return node;
}
