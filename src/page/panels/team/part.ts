import { element } from '../../parts/element.ts';

/** Makes a part of the panel with a heading. */
export function createPart(
	title: string,
	about: string,
	...children: readonly (HTMLElement | undefined)[]
): HTMLElement {
	const head = element('h3', '', title);
	return element('section', 'team-part', head, about === '' ? undefined : element('p', 'about', about), ...children);
}
