/** Says that another agent means a new chat, before it begins. */

import { say } from '../../client/say.ts';
import { button, element, find, type Root } from '../parts/element.ts';

export function createAgentOffer(place: Root) {
	const root = find('#agent-offer', HTMLElement, place);

	function hide(): void {
		root.replaceChildren();
		root.hidden = true;
	}

	return {
		hide,
		/** Offers a new chat with an agent. `onNew` is called if the person wants it. */
		show(agent: string, onNew: () => void): void {
			const words = say('This chat stays with its agent. What you wrote comes along to a new chat.');
			const begin = button('primary', say('New chat with {agent}', { agent }), () => {
				hide();
				onNew();
			});
			root.replaceChildren(element('span', '', words), begin, button('', say('Stay here'), hide));
			root.hidden = false;
		},
	};
}
