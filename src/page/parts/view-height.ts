/** Keeps the page above the keyboard of a phone. */

/**
 * Browsers that lay the keyboard over the page (Safari) shrink only the visual viewport. The page then gets its height.
 * Other browsers resize the page themselves, as its viewport says.
 */
export function followKeyboard(): void {
	const { visualViewport: view, document } = window;
	if (view === null) return;
	const root = document.documentElement;
	view.addEventListener('resize', () => {
		// A zoomed page is smaller, too, and keeps its height.
		const isCovered = view.scale === 1 && view.height < window.innerHeight - 1;
		if (isCovered) root.style.setProperty('--view-height', `${view.height}px`);
		else root.style.removeProperty('--view-height');
		if (isCovered) window.scrollTo(0, 0);
	});
}
