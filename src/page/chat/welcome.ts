/** The start of a new chat: what the chosen agent is, and messages to begin with. */

import type { Agent } from '../../client/types.ts';
import { describeModel } from '../../client/words.ts';
import { button, element, find } from '../parts/element.ts';

const root = find('#welcome', HTMLElement);

export function hideWelcome(): void {
	root.hidden = true;
}

export function showWelcome(agent: Agent, onExample: (text: string) => void): void {
	find('#welcome-name', HTMLElement).textContent = agent.name;
	find('#welcome-description', HTMLElement).textContent = agent.description;
	find('#welcome-facts', HTMLElement).replaceChildren(
		...createFacts('Model', [describeModel(agent)]),
		...createFacts(
			'Tools',
			agent.tools.map(({ name }) => name),
		),
		...createFacts(
			'Skills',
			agent.skills.map(({ name }) => name),
		),
	);
	const box = find('#examples', HTMLElement);
	for (const old of box.querySelectorAll('button')) old.remove();
	box.append(...agent.examples.map((text) => button('', text, () => onExample(text))));
	box.hidden = agent.examples.length === 0;
	root.hidden = false;
}

function createFacts(label: string, names: readonly string[]): HTMLElement[] {
	if (names.length === 0) return [];
	const shown = names.length > 12 ? [...names.slice(0, 10), `and ${names.length - 10} more`] : names;
	return [element('dt', '', label), element('dd', '', shown.join(', '))];
}
