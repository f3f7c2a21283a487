/** Loads earlier pages of the history as the reader scrolls to them. */

import type { EarlierMessages, LoadedSession, RunEnd } from '../../client/history.ts';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Message } from '../../client/types.ts';
import { find, type Root } from '../parts/element.ts';
import { createAction } from '../parts/form.ts';
import type { Visit } from '../parts/live.ts';

/** The number of messages in a page: more than fit on a screen, but few enough to draw in one frame. */
export const pageLength = 40;

/** The next page is loaded when the reader is this close to the button, in pixels. */
const nearness = 800;

/** Puts messages above those that are shown. */
type Show = (messages: readonly Message[], last: LastRun) => void;

/** The last run of some messages: whether it goes on in the messages below, or else how it ended, if that is known. */
export interface LastRun {
	readonly isCut?: boolean;
	readonly end?: RunEnd | undefined;
}

export function createEarlier(client: SessionClient, place: Root, show: Show) {
	const root = find('#earlier', HTMLElement, place);
	const scroller = find('#scroller', HTMLElement, place);
	let readMore = async () => {};
	const button = createAction(say('Show earlier messages'), say('of this chat'), () => readMore());
	root.replaceChildren(button);
	const watch = new IntersectionObserver(
		(entries) => {
			if (entries.some(({ isIntersecting }) => isIntersecting)) root.querySelector('button')?.click();
		},
		{ root: scroller, rootMargin: `${nearness}px 0px 0px` },
	);

	function hide(): void {
		root.hidden = true;
		watch.disconnect();
	}

	return {
		clear: hide,

		/**
		 * Shows the newest messages, and loads earlier messages as the reader scrolls. `from` is the message of the newest
		 * run with which the messages below begin, if its run is cut. `end` is how the newest run ended.
		 */
		open(
			{ id, signal }: Visit,
			{ messages, cursor, from, end }: EarlierMessages & Pick<LoadedSession, 'from'> & Pick<LastRun, 'end'>,
		): void {
			/** The end of a turn whose first messages are in the next (earlier) page. */
			let cut: readonly Message[] = [];
			let isCut = from !== undefined;
			const take = (page: EarlierMessages, end?: RunEnd) => {
				const all = [...page.messages, ...cut];
				const firstTurn = all.findIndex(({ role }) => role === 'user' || role === 'assistant');
				const start = page.cursor === undefined ? 0 : firstTurn === -1 ? all.length : firstTurn;
				cut = all.slice(0, start);
				const shown = all.slice(start);
				show(shown, { isCut, end });
				if (shown.length > 0) isCut = shown[0]?.role === 'assistant';
				cursor = page.cursor;
				root.hidden = cursor === undefined;
				// Observe the button anew, so that the observer reports again if the button is near.
				watch.disconnect();
				if (cursor !== undefined) watch.observe(root);
			};
			readMore = async () => {
				const page = await client.listEarlier(id, { before: cursor, limit: pageLength, signal });
				if (signal.aborted) return;
				const below = scroller.scrollHeight - scroller.scrollTop;
				take(page);
				scroller.scrollTop = scroller.scrollHeight - below;
			};
			take({ messages, cursor }, end);
		},
	};
}
