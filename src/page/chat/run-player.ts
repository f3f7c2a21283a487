/** Plays runs in the chat as their events come, each up to its last one. */

import type { RunEvent, RunEvents } from '../../client/index.ts';
import type { createComposer } from './composer.ts';
import type { createDesk } from './desk.ts';
import { createPlayer } from './player.ts';
import { createTakenUp, type TakenUp } from './taken-up.ts';
import type { Transcript } from './transcript.ts';
import type { WaitingList } from './waiting.ts';

interface Options {
	readonly transcript: Transcript;
	readonly waiting: WaitingList;
	readonly desk: Pick<ReturnType<typeof createDesk>, 'apply' | 'settle'>;
	readonly composer: Pick<ReturnType<typeof createComposer>, 'setStatus' | 'takeMore' | 'setRunning'>;
	/** Called for each event as it comes, before it is shown. */
	readonly onEvent: (event: RunEvent) => void;
	/** Called when all of a run is shown. */
	readonly onEnd: () => void;
}

export function createRunPlayer({ transcript, waiting, desk, composer, onEvent, onEnd }: Options) {
	/** Gives the last event of the run, when all of it is shown. Nothing where there is no run, or nobody looks any more. */
	return async (
		events: RunEvents,
		signal: AbortSignal,
		takeUp: TakenUp = createTakenUp({ waiting, transcript }),
	): Promise<RunEvent | undefined> => {
		const player = createPlayer(transcript, {
			signal,
			onShown: (event, view) => {
				desk.apply(event);
				takeUp(event, view);
			},
		});
		let last: RunEvent | undefined;
		composer.setRunning(true);
		try {
			for await (const event of events) {
				if (signal.aborted) return undefined;
				composer.setStatus('Answering…');
				composer.takeMore();
				last = event;
				onEvent(event);
				player.push(event);
			}
			composer.setStatus('');
		} finally {
			await player.end();
			if (!signal.aborted) composer.setRunning(false);
		}
		if (last !== undefined && !signal.aborted) {
			onEnd();
			desk.settle();
		}
		return last;
	};
}
