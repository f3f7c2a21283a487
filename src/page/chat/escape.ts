/** Stops the run with Escape. */

import { find, type Root } from '../parts/element.ts';

/** What closes with Escape itself. */
const closing = '.editor, .note-form, dialog, [popover]';

/** Calls `onEscape` for Escape in the chat, unless something is open that Escape closes. */
export function listenForEscape(
	{ root, life }: { readonly root: Root; readonly life: AbortSignal },
	onEscape: () => void,
): void {
	const chat = find('#chat', HTMLElement, root);
	const listen = (event: Event): void => {
		if (!(event instanceof KeyboardEvent) || event.key !== 'Escape') return;
		const { target, defaultPrevented, isComposing } = event;
		if (defaultPrevented || isComposing || chat.hidden || chat.closest('[inert]') !== null) return;
		if (root.querySelector(':modal, :popover-open') !== null || !(target instanceof Element)) return;
		if (target !== document.body && !chat.contains(target)) return;
		if (target.closest(closing) === null) onEscape();
	};
	root.addEventListener('keydown', listen, { signal: life });
}
