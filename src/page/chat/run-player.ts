/** Shows runs in the chat as their events arrive. Also shows the queued messages that a run receives. */

import type { LoadedSession } from '../../client/history.ts';
import type { RunEvent, RunEvents } from '../../client/index.ts';
import { type SaidMessage, toSaidText } from '../../client/words.ts';
import { element } from '../parts/element.ts';
import type { createComposer } from './composer.ts';
import { createPlayer } from './player.ts';
import type { createProgress } from './progress.ts';
import type { RunView } from './run-view.ts';
import type { createSidePanels } from './side-panels.ts';
import { createMessage, type Transcript } from './transcript.ts';
import type { WaitingList } from './waiting.ts';

interface Options {
	readonly transcript: Transcript;
	readonly waiting: WaitingList;
	readonly sidePanels: ReturnType<typeof createSidePanels>;
	readonly composer: ReturnType<typeof createComposer>;
	readonly progress: ReturnType<typeof createProgress>;
	/** Called for each event before it is shown. */
	readonly onEvent: (event: RunEvent) => void;
	/** Called when the whole run is shown. */
	readonly onEnd: () => void;
}

export function createRunPlayer({ transcript, waiting, sidePanels, composer, progress, onEvent, onEnd }: Options) {
	/** Shows a run and returns its last event. Undefined if there is no run, or if the person has left the chat. */
	return async (
		events: RunEvents,
		signal: AbortSignal,
		takeUp: TakenUp = createTakenUp({ waiting, transcript }),
	): Promise<RunEvent | undefined> => {
		const player = createPlayer(transcript, {
			signal,
			onShown: (event, view) => {
				sidePanels.apply(event);
				takeUp(event, view);
			},
		});
		let last: RunEvent | undefined;
		composer.setRunning(true);
		progress.begin();
		try {
			for await (const event of events) {
				if (signal.aborted) return undefined;
				progress.apply(event);
				composer.takeMore();
				last = event;
				onEvent(event);
				player.push(event);
			}
		} finally {
			await player.end();
			if (!signal.aborted) progress.end();
			if (!signal.aborted) composer.setRunning(false);
		}
		if (last !== undefined && !signal.aborted) {
			onEnd();
			sidePanels.settle();
		}
		return last;
	};
}

/** Puts the beginning of a run in front of events that start later in the run. */
export function withStart(events: RunEvents, runId = ''): RunEvents {
	const next = events.next.bind(events);
	let isFirst = true;
	return Object.assign(events, {
		next: async () => {
			if (!isFirst) return next();
			isFirst = false;
			const value: RunEvent = { type: 'run.started', runId, attempt: 1 };
			return { done: false as const, value };
		},
	});
}

type ShownMessage = SaidMessage & {
	readonly attachments?: readonly { readonly name: string; readonly size: number }[];
};

/** Called with each event of a run after the event is shown. */
export type TakenUp = (event: RunEvent, view: RunView) => void;

export interface TakenUpOptions {
	readonly waiting: WaitingList;
	readonly transcript: Transcript;
	/** The message that started the run, if it was sent from here. */
	readonly sent?: { readonly bubble: HTMLElement; readonly text: string };
	/** The loaded session. It includes the messages that earlier turns of the run received. */
	readonly loaded?: LoadedSession;
	/** Called if the run is not the newest run in `loaded`. The page then lacks messages before the run. */
	readonly onOther?: () => void;
}

export function createTakenUp({ waiting, transcript, sent, loaded, onOther }: TakenUpOptions): TakenUp {
	let turns = 0;
	/** The place above the next turn, for the queued messages of that turn. */
	let place: HTMLElement | undefined;

	function makePlace(view: RunView): void {
		if (!waiting.hasSteering) return;
		place = element('div', 'taken-up');
		view.addBlock(place);
	}

	async function fill(here: HTMLElement): Promise<void> {
		const left = await waiting.refresh();
		here.append(...left.filter(({ steers }) => steers === true).map(show));
	}

	return (event, view) => {
		if (event.type === 'run.started') {
			if (loaded !== undefined && loaded.session.run?.id !== event.runId) return onOther?.();
			const begun = waiting.take(event.runId);
			if (begun?.from !== undefined) {
				view.root.before(transcript.createReport(begun));
				return makePlace(view);
			}
			const message = begun === undefined ? sent : { bubble: show(begun), text: toSaidText(begun) };
			if (begun !== undefined && message !== undefined) view.root.before(message.bubble);
			if (message !== undefined && begun?.attachments === undefined)
				transcript.letEdit(message.bubble, message.text, event.runId);
			makePlace(view);
		} else if (event.type === 'stop') turns += 1;
		else if (event.type === 'step') {
			view.addBlock(...(loaded?.messages.filter(({ id }) => loaded.steered.get(id) === turns) ?? []).map(show));
			makePlace(view);
		} else if (place !== undefined && beginsTurn.has(event.type)) {
			void fill(place);
			place = undefined;
		}
	};
}

const beginsTurn: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool_use_start']);

function show(message: ShownMessage): HTMLElement {
	return createMessage(toSaidText(message), message.attachments);
}
