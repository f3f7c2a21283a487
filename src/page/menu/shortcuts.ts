/** The keys of the page, and their list. */

import { button, configure, element, find } from '../parts/element.ts';

interface Shortcut {
	readonly keys: string;
	readonly what: string;
	/** Missing for keys that another part of the page listens to. */
	readonly key?: string;
	/** Whether Ctrl (⌘ on a Mac) and Shift are held, too. Such a key also works in a field. */
	readonly isHeld?: boolean;
	readonly act?: () => void;
}

interface Actions {
	readonly onNew: () => void;
	readonly onWrite: () => void;
}

/** Listens to the keys. Returns a button that shows their list. */
export function createShortcuts({ onNew, onWrite }: Actions): HTMLButtonElement {
	const command = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';
	const shortcuts: readonly Shortcut[] = [
		{ keys: '/', what: 'Write a message', key: '/', act: onWrite },
		{ keys: `${command} Shift O`, what: 'New chat', key: 'o', isHeld: true, act: onNew },
		{ keys: 'Enter', what: 'Send the message; during a run, queue it' },
		{ keys: `${command} Enter`, what: 'Steer the run with the message' },
		{ keys: 'Shift Enter', what: 'Start a new line' },
		{ keys: 'Escape', what: 'Stop the run, close what is open, or leave the empty message box' },
		{ keys: 'A', what: 'Allow what waits: the card in focus or under the pointer, or the only one' },
		{ keys: 'D', what: 'Deny it' },
		{ keys: 'J', what: 'Go to the next card of the inbox' },
		{ keys: 'K', what: 'Go to the card before' },
		{ keys: `${command} K`, what: 'Search panels, agents, sessions and actions' },
		{ keys: '?', what: 'Show this list, where no field has the focus', key: '?', act: () => list.showModal() },
	];
	const list = createList(shortcuts);

	addEventListener('keydown', (event) => {
		const { key, ctrlKey, metaKey, altKey, shiftKey, defaultPrevented, isComposing } = event;
		if (defaultPrevented || isComposing || altKey || document.querySelector(':modal') !== null) return;
		if (key === 'Escape') leaveField(event.target);
		const isHeld = (ctrlKey || metaKey) && shiftKey;
		const found = shortcuts.find((one) => one.key === key.toLowerCase() && (one.isHeld ?? false) === isHeld);
		if (found === undefined || (!isHeld && (ctrlKey || metaKey || isField(event.target)))) return;
		event.preventDefault();
		found.act?.();
	});
	return button('menu-action', 'Keyboard shortcuts', () => list.showModal());
}

/** Whether an element takes the keys itself. */
function isField(target: EventTarget | null): boolean {
	return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

/** Takes the focus from the empty message box, so that the keys of the page work. While a run is on, Escape stops it. */
function leaveField(target: EventTarget | null): void {
	const [field, stop] = [find('#text', HTMLTextAreaElement), find('#stop', HTMLElement)];
	if (target === field && field.value === '' && stop.hidden) field.blur();
}

function createList(shortcuts: readonly Shortcut[]): HTMLDialogElement {
	const title = configure(element('h2', '', 'Keyboard shortcuts'), { id: 'shortcuts-title' });
	const rows = shortcuts.flatMap(({ keys, what }) => [
		element('dt', '', ...keys.split(' ').map((key) => element('kbd', 'key', key))),
		element('dd', '', what),
	]);
	const dialog = element('dialog', 'shortcuts', title, element('dl', '', ...rows));
	dialog.setAttribute('aria-labelledby', 'shortcuts-title');
	dialog.append(button('', 'Close', () => dialog.close()));
	// A click beside the list closes it.
	dialog.addEventListener('click', ({ target }) => {
		if (target === dialog) dialog.close();
	});
	return document.body.appendChild(dialog);
}
