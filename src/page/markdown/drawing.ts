/** When texts that are complete are drawn: at once, or a slice a frame. */

/** Draws a text that `root` shows, a slice a step. Each step gives how many characters it has drawn. */
export type Draw = (root: Node, slices: Iterator<number, void>) => void;

/** The characters that a frame draws, about. */
const mostCharacters = 1_500;

export function drawAtOnce(_root: Node, slices: Iterator<number, void>): void {
	while (slices.next().done !== true);
}

/** Gathers texts, and draws the newest first: that is the one which is seen. What has left the page is not drawn. */
export function createDrawing() {
	const waiting: Parameters<Draw>[] = [];

	function drawNext(): void {
		for (let room = mostCharacters; room > 0; ) {
			const [root, slices] = waiting.at(-1) ?? [];
			if (root === undefined) return;
			const step = root.isConnected ? slices?.next() : undefined;
			if (step === undefined || step.done === true) waiting.pop();
			else room -= step.value;
		}
	}

	return {
		draw: (...text: Parameters<Draw>): void => {
			waiting.push(text);
		},
		/** Draws the first slices at once, and the others in the next frames. Resolves in the frame after the last. */
		async drawAll(onDrawn: () => void): Promise<void> {
			do {
				drawNext();
				onDrawn();
				await new Promise(requestAnimationFrame);
			} while (waiting.length > 0);
			onDrawn();
		},
	};
}
