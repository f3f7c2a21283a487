/** The start page of a new chat. */

import { button, element, find, type Root } from '../parts/element.ts';

export interface Welcome {
	readonly name: string;
	readonly description: string;
	/** Lists of names, by their labels. */
	readonly facts?: readonly (readonly [label: string, names: readonly string[]])[];
	/** What this program is. */
	readonly intro?: string;
	/** Further parts of the page. `send` sends a message to the chosen agent. */
	readonly createMore?: (send: (text: string) => void) => HTMLElement;
	/** Messages that a person can send by a click. */
	readonly examples: readonly string[];
}

export function createWelcome(place: Root) {
	const root = find('#welcome', HTMLElement, place);
	const lead = find('#welcome-intro', HTMLElement, place);
	const more = find('#welcome-more', HTMLElement, place);
	const box = find('#examples', HTMLElement, place);
	return {
		hide(): void {
			root.hidden = true;
		},
		show(
			{ name, description, facts = [], intro = '', examples, createMore }: Welcome,
			onExample: (text: string) => void,
		): void {
			find('#welcome-name', HTMLElement, place).textContent = name;
			find('#welcome-description', HTMLElement, place).textContent = description;
			find('#welcome-facts', HTMLElement, place).replaceChildren(...facts.flatMap(createFacts));
			for (const old of box.querySelectorAll('button')) old.remove();
			box.append(...examples.map((text) => button('', text, () => onExample(text))));
			box.hidden = examples.length === 0;
			lead.textContent = intro;
			lead.hidden = intro === '';
			more.replaceChildren(...(createMore === undefined ? [] : [createMore(onExample)]));
			root.hidden = false;
			find('#scroller', HTMLElement, place).scrollTop = 0;
		},
	};
}

function createFacts([label, names]: readonly [string, readonly string[]]): HTMLElement[] {
	if (names.length === 0) return [];
	const shown = names.length > 12 ? [...names.slice(0, 10), `and ${names.length - 10} more`] : names;
	return [element('dt', '', label), element('dd', '', shown.join(', '))];
}
