/** What an agent says in a run, as it was written, to be copied. */

import { button } from '../parts/element.ts';

export function createAnswer() {
	const said: string[] = [];
	/** The pieces of the turns that have ended. */
	let settled = 0;
	return {
		add(text: string): void {
			said.push(text);
		},
		endTurn(): void {
			if (said.length > settled) said.push('\n\n');
			settled = said.length;
		},
		/** Forgets what the turn has said so far. */
		dropTurn(): void {
			said.length = settled;
		},
		/** Makes a button that copies it, if anything was said. */
		createCopy: (): HTMLElement[] => (said.length === 0 ? [] : [createCopy(() => said.join('').trim())]),
	};
}

/** Its words are drawn by the style sheet: they are not of the answer. */
function createCopy(read: () => string): HTMLElement {
	const copy = button('copy', '', async () => {
		await navigator.clipboard.writeText(read());
		copy.dataset.label = 'Copied';
	});
	copy.dataset.label = 'Copy';
	copy.setAttribute('aria-label', 'Copy the answer');
	copy.addEventListener('blur', () => {
		copy.dataset.label = 'Copy';
	});
	return copy;
}
