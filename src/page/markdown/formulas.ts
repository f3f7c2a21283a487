/** Draws formulas in LaTeX as MathML, as soon as their block is complete. Until then they are shown as they were written. */

import { say } from '../../client/say.ts';
import { configure, element } from '../parts/element.ts';

const sources = new WeakMap<Element, { readonly text: string; readonly isBlock: boolean }>();

export function createFormula(tag: 'span' | 'div', text: string, raw: string, isBlock: boolean): HTMLElement {
	const root = element(tag, 'formula', raw.trim());
	root.dir = 'ltr';
	sources.set(root, { text, isBlock });
	// A wide formula scrolls by keyboard when it is focused.
	return isBlock ? configure(root, { tabIndex: 0, role: 'region', ariaLabel: say('Formula') }) : root;
}

/** Draws the formulas in these nodes. The first formula loads the code that draws it. */
export async function drawFormulas(nodes: readonly ChildNode[]): Promise<void> {
	const elements = nodes.filter((node) => node instanceof HTMLElement);
	const formulas = elements.flatMap((node) => [
		...(sources.has(node) ? [node] : []),
		...node.querySelectorAll<HTMLElement>('.formula'),
	]);
	if (formulas.length === 0) return;
	// A file of its own (scripts/page.ts). Without it, formulas stay as they were written.
	const { default: temml } = (await import('./mathml.ts').catch(() => undefined)) ?? {};
	if (temml === undefined) return;
	for (const root of formulas) {
		const source = sources.get(root);
		if (source === undefined) continue;
		const math = element('span');
		try {
			temml.render(source.text, math, { displayMode: source.isBlock, throwOnError: true, maxSize: [20, 50] });
		} catch {
			// What is no LaTeX stays as it was written.
			continue;
		}
		root.replaceChildren(...math.childNodes);
	}
}
