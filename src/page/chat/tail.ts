/** Keeps the end of a scrolled element in view while it grows. A reader who scrolls up is left alone until the end is reached again. */
export function createTail(node: HTMLElement) {
	let isAtEnd = true;
	let lastTop = 0;

	function toEnd() {
		node.scrollTop = node.scrollHeight;
		isAtEnd = true;
	}

	node.addEventListener(
		'scroll',
		() => {
			const { scrollTop, scrollHeight, clientHeight } = node;
			if (scrollHeight - scrollTop - clientHeight < 4) isAtEnd = true;
			else if (scrollTop < lastTop) isAtEnd = false;
			lastTop = scrollTop;
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
