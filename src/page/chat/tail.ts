/** Keeps the end of a scrolled element in view while it grows. A reader who scrolls up is left alone until the end is reached again. */
export function createTail(node: HTMLElement) {
	const reader = watchReader();
	let isAtEnd = true;
	let lastTop = 0;
	let lastHeight = 0;

	function toEnd() {
		node.scrollTop = node.scrollHeight;
		isAtEnd = true;
	}

	node.addEventListener(
		'scroll',
		() => {
			const { scrollTop, scrollHeight, clientHeight } = node;
			const isUp = scrollTop < lastTop;
			// What is laid out only now has another height than was thought, and moves the rest.
			const isMoved = scrollHeight !== lastHeight && !reader.isMoving();
			[lastTop, lastHeight] = [scrollTop, scrollHeight];
			if (scrollHeight - scrollTop - clientHeight < 4) isAtEnd = true;
			else if (isUp && !isMoved) isAtEnd = false;
			else if (isUp && isAtEnd) toEnd();
		},
		{ passive: true },
	);

	// Its height changes with what stands beside it.
	new ResizeObserver(() => {
		if (isAtEnd) toEnd();
	}).observe(node);

	return {
		toEnd,
		/** To be called after the element has grown. */
		keep() {
			if (isAtEnd) toEnd();
		},
	};
}

/** After so many milliseconds without a wheel, a touch or a key, nobody scrolls any more. */
const restMs = 1_000;

/** Watches whether a reader may be scrolling. */
function watchReader() {
	let lastAt = Number.NEGATIVE_INFINITY;
	let isHeld = false;
	const note = ({ type }: Event): void => {
		lastAt = performance.now();
		if (type.startsWith('pointer')) isHeld = type === 'pointerdown';
	};
	for (const type of ['wheel', 'touchmove', 'keydown', 'pointerdown', 'pointerup', 'pointercancel'])
		document.addEventListener(type, note, { capture: true, passive: true });
	return { isMoving: (): boolean => isHeld || performance.now() - lastAt < restMs };
}
