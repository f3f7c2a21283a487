import { button } from './element.ts';

/** Makes a small button of a row. Its name says of which one. */
export function createAction(label: string, title: string, onClick: () => void): HTMLButtonElement {
	const action = button('action', label, onClick);
	action.setAttribute('aria-label', `${label} ${title}`);
	return action;
}

/** Makes a button that removes something, and has to be pressed twice. */
export function createRemoval(title: string, onSure: () => void, label = 'Delete'): HTMLButtonElement {
	let isAsked = false;
	const action = createAction(label, title, () => {
		if (isAsked) return onSure();
		isAsked = true;
		action.textContent = `${label} for good?`;
		action.classList.add('sure');
		action.setAttribute('aria-label', `${label} ${title} for good`);
	});
	action.addEventListener('blur', () => {
		isAsked = false;
		action.textContent = label;
		action.classList.remove('sure');
		action.setAttribute('aria-label', `${label} ${title}`);
	});
	return action;
}
