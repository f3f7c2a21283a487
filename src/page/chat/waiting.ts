/** The queued messages below the conversation. Each can be removed. */

import { ClientError } from '../../client/error.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { WaitingMessage } from '../../client/types.ts';
import { toSaidText } from '../../client/words.ts';
import { element, find, shorten } from '../parts/element.ts';
import { createAction } from '../parts/form.ts';
import { createFileList } from './attachments.ts';

export type WaitingClient = Pick<SessionClient, 'listWaiting' | 'removeWaiting'>;

export type WaitingList = ReturnType<typeof createWaitingList>;

/** `onShown` is called when the list may have grown. */
export function createWaitingList(client: WaitingClient, onShown: () => void) {
	const root = find('#waiting', HTMLElement);
	let place: { readonly id: string; readonly signal: AbortSignal } | undefined;
	let waiting: readonly WaitingMessage[] = [];
	/** Those that have left the list. One of them may have begun a run whose first event is still on its way. */
	let gone: readonly WaitingMessage[] = [];
	/** One reading after another, so that an old answer never comes last. */
	let reading: Promise<unknown> = Promise.resolve();

	function show(messages: readonly WaitingMessage[]): void {
		waiting = messages;
		root.replaceChildren(...messages.map((message) => createEntry(message, () => remove(message))));
		root.hidden = messages.length === 0;
		onShown();
	}

	async function remove({ id }: WaitingMessage): Promise<void> {
		if (place === undefined) return;
		try {
			await client.removeWaiting(place.id, id, place);
		} catch (error) {
			// A run has taken it.
			if (!(error instanceof ClientError) || error.code !== 'not_found') throw error;
			return;
		}
		show(waiting.filter((one) => one.id !== id));
	}

	async function read(): Promise<readonly WaitingMessage[]> {
		if (place === undefined) return [];
		const { id, signal } = place;
		// A list that cannot be read stays unchanged.
		const now = await client.listWaiting(id, { signal }).catch(() => waiting);
		if (signal.aborted || place?.id !== id) return [];
		const left = waiting.filter((one) => !now.some(({ id }) => id === one.id));
		gone = [...gone, ...left];
		show(now);
		return left;
	}

	return {
		get isEmpty(): boolean {
			return waiting.length === 0;
		},
		/** Whether the current run will take up one of them. */
		get hasSteering(): boolean {
			return waiting.some(({ steers }) => steers === true);
		},
		clear(): void {
			place = undefined;
			gone = [];
			show([]);
		},
		/** `refresh` reads this session from now on. */
		use(id: string, signal: AbortSignal): void {
			place = { id, signal };
		},
		/** Reads the list again. Returns the messages that no longer wait and were not removed here. */
		refresh(): Promise<readonly WaitingMessage[]> {
			const next = reading.then(read);
			reading = next;
			return next;
		},
		/** Takes the message off the list that has begun a run. Finds it also where it is gone from the list already. */
		take(runId: string): WaitingMessage | undefined {
			const isBegun = ({ id }: WaitingMessage): boolean => id === runId;
			const begun = waiting.find(isBegun);
			if (begun !== undefined) show(waiting.filter((one) => one !== begun));
			return begun ?? gone.find(isBegun);
		},
	};
}

function createEntry(message: WaitingMessage, remove: () => Promise<void>): HTMLElement {
	const { attachments = [], steers } = message;
	const text = toSaidText(message);
	const words = element('p', 'waiting-text', text, ...(attachments.length > 0 ? [createFileList(attachments)] : []));
	const fate = steers === true ? 'Waits for the next turn of this run' : 'Waits for the run to end';
	const about = element('p', 'waiting-about', fate, createAction('Remove', `the message ${shorten(text, 40)}`, remove));
	return element('li', '', words, about);
}
