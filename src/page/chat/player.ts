/** Shows the events of one run in a transcript, a slice a frame: a burst leaves the page time for its reader. */

import type { RunEvent } from '../../client/index.ts';
import type { RunView } from './run-view.ts';
import { takeSlice } from './slice.ts';
import type { Transcript } from './transcript.ts';

interface Options {
	/** Aborted when nobody looks at the run any more. */
	readonly signal: AbortSignal;
	/** Called for each event when it is shown. */
	readonly onShown: (event: RunEvent, view: RunView) => void;
}

export function createPlayer({ addRun, tail }: Pick<Transcript, 'addRun' | 'tail'>, { signal, onShown }: Options) {
	const view = addRun();
	const queue: RunEvent[] = [];
	let drawing: Promise<void> | undefined;

	async function draw(): Promise<void> {
		while (queue.length > 0) {
			await new Promise(requestAnimationFrame);
			if (signal.aborted) return;
			for (const event of takeSlice(queue)) {
				view.apply(event);
				onShown(event, view);
			}
			view.flush();
			tail.keep();
		}
		drawing = undefined;
	}

	return {
		push(event: RunEvent): void {
			queue.push(event);
			drawing ??= draw();
		},
		/** The run is over. Resolves when all of it is shown, or nobody looks at it any more. */
		async end(): Promise<void> {
			await drawing;
			if (signal.aborted) return;
			view.end();
			tail.keep();
			if (!view.root.hasChildNodes()) view.root.remove();
		},
	};
}
