/** Shows the events of one run in a transcript, once a frame. */

import type { RunEvent } from '../../client/index.ts';
import type { RunView } from './run-view.ts';
import type { Transcript } from './transcript.ts';

/** `onShown` is called for each event when it is shown. */
export function createPlayer({ addRun, tail }: Transcript, onShown: (event: RunEvent, view: RunView) => void) {
	const view = addRun();
	let queue: RunEvent[] = [];
	let frame = 0;
	let count = 0;

	function draw(): void {
		frame = 0;
		const events = queue;
		queue = [];
		for (const event of events) {
			view.apply(event);
			onShown(event, view);
		}
		view.flush();
		tail.keep();
	}

	return {
		get hasPlayed() {
			return count > 0;
		},
		push(event: RunEvent): void {
			count += 1;
			queue.push(event);
			frame ||= requestAnimationFrame(draw);
		},
		/** The run is over, or nobody looks at it any more. */
		end(isLeft: boolean): void {
			cancelAnimationFrame(frame);
			if (isLeft) return;
			draw();
			view.end();
			if (!view.root.hasChildNodes()) view.root.remove();
		},
	};
}
