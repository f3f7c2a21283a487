/** The messages that a run takes up, each shown where it was taken up. */

import type { LoadedSession } from '../../client/history.ts';
import type { RunEvent } from '../../client/index.ts';
import { type SaidMessage, toSaidText } from '../../client/words.ts';
import { element } from '../parts/element.ts';
import type { RunView } from './run-view.ts';
import { createMessage, type Transcript } from './transcript.ts';
import type { WaitingList } from './waiting.ts';

type ShownMessage = SaidMessage & {
	readonly attachments?: readonly { readonly name: string; readonly size: number }[];
};

/** Takes the events of one run, each when it has been shown. */
export type TakenUp = (event: RunEvent, view: RunView) => void;

export interface TakenUpOptions {
	readonly waiting: WaitingList;
	readonly transcript: Transcript;
	/** The message that was sent for the run. */
	readonly sent?: { readonly bubble: HTMLElement; readonly text: string };
	/** The session as it was read: it says which messages were taken up before, and after which turns. */
	readonly loaded?: LoadedSession;
	/** Called when the run is another one than the newest of that session: what stands between is not shown. */
	readonly onOther?: () => void;
}

export function createTakenUp({ waiting, transcript, sent, loaded, onOther }: TakenUpOptions): TakenUp {
	let turns = 0;
	/** The place in front of the coming turn, where messages may be taken up. */
	let place: HTMLElement | undefined;

	function makePlace(view: RunView): void {
		if (!waiting.hasSteering) return;
		place = element('div', 'taken-up');
		view.addBlock(place);
	}

	/** The turn has begun, so those that waited for it wait no more. */
	async function fill(here: HTMLElement): Promise<void> {
		const left = await waiting.refresh();
		here.append(...left.filter(({ steers }) => steers === true).map(show));
	}

	return (event, view) => {
		if (event.type === 'run.started') {
			if (loaded !== undefined && loaded.session.run?.id !== event.runId) return onOther?.();
			const begun = waiting.take(event.runId);
			const message = begun === undefined ? sent : { bubble: show(begun), text: toSaidText(begun) };
			if (begun !== undefined && message !== undefined) view.root.before(message.bubble);
			if (message !== undefined && begun?.attachments === undefined)
				transcript.letEdit(message.bubble, message.text, { runId: event.runId });
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
