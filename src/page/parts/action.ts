/** Buttons that ask the server for something; a failure is told beside them. */

import { button, element } from './element.ts';
import { createFailure } from './failure.ts';

/** Makes a button named for what it acts on. While `work` goes on it can't be pressed again. */
export function createAction(label: string, name: string, work: () => Promise<void> | void): HTMLElement {
	const told = element('span');
	const action = button('action', label, () => void run());
	action.setAttribute('aria-label', `${label} ${name}`);
	async function run(): Promise<void> {
		action.disabled = true;
		told.replaceChildren();
		try {
			await work();
		} catch (error) {
			told.replaceChildren(createFailure(error, () => void run()));
		}
		action.disabled = false;
	}
	return element('span', '', action, told);
}

/** Makes a button that has to be pressed twice, and then removes something for good. */
export function createRemoval(name: string, work: () => Promise<void> | void, label = 'Delete'): HTMLElement {
	const sure = createAction(label, `${name} for good`, work);
	const ask = button('action', label, () => {
		box.replaceChildren(sure);
		sure.querySelector('button')?.focus();
	});
	ask.setAttribute('aria-label', `${label} ${name}`);
	sure.querySelector('button')?.replaceChildren(`${label} for good?`);
	sure.querySelector('button')?.classList.add('sure');
	// It stands where the first button stood: a double click is one wish to be asked, not the answer.
	sure.addEventListener('click', (event) => event.detail > 1 && event.stopPropagation(), { capture: true });
	sure.addEventListener('focusout', () => {
		if (!sure.querySelector('.failure, :disabled')) box.replaceChildren(ask);
	});
	const box = element('span', '', ask);
	return box;
}
