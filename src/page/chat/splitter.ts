/** The edge of a pane, by which a person sets its width with the mouse or with the arrow keys. The browser keeps the width. */

import { configure, element } from '../parts/element.ts';

const storageName = 'runlet-pane-width';
const [least, most, usual, step] = [18, 60, 26, 2];

export function createSplitter(pane: HTMLElement): HTMLElement {
	const splitter = configure(element('div', 'splitter'), {
		...{ role: 'separator', ariaOrientation: 'vertical', tabIndex: 0, ariaLabel: 'Width of the pane' },
		...{ ariaValueMin: `${least}`, ariaValueMax: `${most}` },
	});
	let width = Number(localStorage.getItem(storageName)) || usual;

	/** Sets the width in rem. */
	function set(wanted: number): void {
		width = Math.min(most, Math.max(least, wanted));
		splitter.ariaValueNow = `${Math.round(width)}`;
		pane.parentElement?.style.setProperty('--pane-width', `${width}rem`);
		localStorage.setItem(storageName, `${width}`);
	}

	const isReversed = (): boolean => getComputedStyle(pane).direction === 'rtl';
	splitter.addEventListener('pointerdown', (event) => {
		event.preventDefault();
		splitter.setPointerCapture(event.pointerId);
	});
	splitter.addEventListener('pointermove', ({ pointerId, clientX }) => {
		if (!splitter.hasPointerCapture(pointerId)) return;
		const { left, right } = pane.getBoundingClientRect();
		const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
		set((isReversed() ? clientX - left : right - clientX) / rem);
	});
	splitter.addEventListener('keydown', (event) => {
		const wider = isReversed() ? 'ArrowRight' : 'ArrowLeft';
		if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
		event.preventDefault();
		set(width + (event.key === wider ? step : -step));
	});
	// The parent exists once the pane stands in the page.
	queueMicrotask(() => set(width));
	return splitter;
}
