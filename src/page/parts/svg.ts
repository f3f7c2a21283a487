const namespace = 'http://www.w3.org/2000/svg';

/** Makes an element of a drawing. Its looks are classes: the policy of the page allows no style of its own. */
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
