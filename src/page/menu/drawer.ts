/** The menu on a narrow screen: it slides over the page, which can't be used meanwhile. */

import { find } from '../parts/element.ts';

export function createDrawer(side: HTMLElement, opener: HTMLButtonElement) {
	const page = find('main', HTMLElement);

	function set(isOpen: boolean): void {
		document.body.classList.toggle('menu-open', isOpen);
		opener.setAttribute('aria-expanded', `${isOpen}`);
		page.inert = isOpen;
	}

	function close(): void {
		if (!document.body.classList.contains('menu-open')) return;
		set(false);
		opener.focus();
	}

	opener.addEventListener('click', () => {
		set(true);
		side.querySelector('a')?.focus();
	});
	addEventListener('keydown', ({ key }) => {
		if (key === 'Escape') close();
	});
	find('#shade', HTMLElement).addEventListener('click', close);
	// A wide screen shows both.
	matchMedia('(width >= 56rem)').addEventListener('change', close);
	return { close };
}
