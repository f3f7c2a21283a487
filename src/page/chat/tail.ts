/** Keeps the end of the conversation in view, and offers the way back to it. */

import { say } from '../../client/say.ts';
import { find, type Root } from '../parts/element.ts';
import { createIcon } from '../parts/icon.ts';

/** Scrolls to the end of the conversation while it grows, unless the reader has scrolled up. */
export function createTail(place: Root, life: AbortSignal) {
	const node = find('#scroller', HTMLElement, place);
	// It is read from its beginning.
	const start = find('#welcome', HTMLElement, place);
	const jump = createJump(find('#latest', HTMLButtonElement, place), () => toEnd());
	const reader = watchReader(life);
	let isAtEnd = true;
	let lastTop = 0;
	let lastHeight = 0;

	function toEnd() {
		if (!start.hidden) return;
		node.scrollTop = node.scrollHeight;
		setAtEnd(true);
	}

	function setAtEnd(value: boolean) {
		isAtEnd = value;
		jump.show(!value && start.hidden !== false);
	}

	node.addEventListener(
		'scroll',
		() => {
			const { scrollTop, scrollHeight, clientHeight } = node;
			const isUp = scrollTop < lastTop;
			// When the browser lays out a part late, the part's height changes, and the content below moves.
			const isMoved = scrollHeight !== lastHeight && !reader.isMoving();
			[lastTop, lastHeight] = [scrollTop, scrollHeight];
			if (scrollHeight - scrollTop - clientHeight < 4) setAtEnd(true);
			else if (isUp && !isMoved) setAtEnd(false);
			else if (isMoved && isAtEnd) toEnd();
		},
		{ passive: true },
	);

	// The element's height also changes when the elements beside it change.
	new ResizeObserver(() => {
		if (isAtEnd) toEnd();
	}).observe(node);

	return {
		toEnd,
		/** Call this after the element has grown. */
		keep() {
			if (isAtEnd) toEnd();
		},
		/** Call this when something new is at the end. */
		announce() {
			if (!isAtEnd) jump.mark();
		},
	};
}

/** The button that leads to the end. It has a dot while something new is there that was not seen. */
function createJump(button: HTMLButtonElement, onClick: () => void) {
	button.append(createIcon('arrowDown'));
	button.addEventListener('click', onClick);

	function name(hasNews: boolean): void {
		button.classList.toggle('news', hasNews);
		button.ariaLabel = hasNews ? say('Jump to latest: there is something new') : say('Jump to latest');
		button.title = button.ariaLabel;
	}
	name(false);

	return {
		show(isShown: boolean): void {
			if (button.hidden === !isShown) return;
			button.hidden = !isShown;
			name(false);
		},
		mark: () => name(true),
	};
}

/** Scrolling has ended after this many milliseconds without a wheel, touch or key event. */
const restMs = 1_000;

/** Watches whether the reader is possibly scrolling. */
function watchReader(life: AbortSignal) {
	let lastAt = Number.NEGATIVE_INFINITY;
	let isHeld = false;
	const note = ({ type }: Event): void => {
		lastAt = performance.now();
		if (type.startsWith('pointer')) isHeld = type === 'pointerdown';
	};
	for (const type of ['wheel', 'touchmove', 'keydown', 'pointerdown', 'pointerup', 'pointercancel'])
		document.addEventListener(type, note, { capture: true, passive: true, signal: life });
	return { isMoving: (): boolean => isHeld || performance.now() - lastAt < restMs };
}
