/** The queued messages below the conversation. A person can remove each message. */

import { ClientError } from '../../client/error.ts';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { WaitingMessage } from '../../client/types.ts';
import { toSaidText } from '../../client/words.ts';
import { element, find, type Root, shorten } from '../parts/element.ts';
import { createAction } from '../parts/form.ts';
import type { Visit } from '../parts/live.ts';
import { createFileList } from './attachments.ts';

export type WaitingList = ReturnType<typeof createWaitingList>;

/** `onShown` is called when the list has possibly become longer. */
export function createWaitingList(client: SessionClient, place: Root, onShown: () => void) {
	const root = find('#waiting', HTMLElement, place);
	let visit: Visit | undefined;
	let waiting: readonly WaitingMessage[] = [];
	/** The messages that have left the list. The first event of their run possibly arrives later. */
	let gone: readonly WaitingMessage[] = [];
	/** The last request. Requests run one after another, so that an old response never replaces a new one. */
	let reading: Promise<unknown> = Promise.resolve();

	function show(messages: readonly WaitingMessage[]): void {
		waiting = messages;
		root.replaceChildren(...messages.map((message) => createEntry(message, () => remove(message))));
		root.hidden = messages.length === 0;
		onShown();
	}

	async function remove({ id }: WaitingMessage): Promise<void> {
		if (visit === undefined) return;
		try {
			await client.removeWaiting(visit.id, id, visit);
		} catch (error) {
			// The message is no longer queued: a run has received it.
			if (!(error instanceof ClientError) || error.code !== 'not_found') throw error;
			return;
		}
		show(waiting.filter((message) => message.id !== id));
	}

	async function read(): Promise<readonly WaitingMessage[]> {
		if (visit === undefined) return [];
		const { id, signal } = visit;
		// If the list cannot be read, it stays unchanged.
		const now = await client.listWaiting(id, { signal }).catch(() => waiting);
		if (signal.aborted || visit?.id !== id) return [];
		const left = waiting.filter((message) => !now.some(({ id }) => id === message.id));
		gone = [...gone, ...left];
		show(now);
		return left;
	}

	return {
		get isEmpty(): boolean {
			return waiting.length === 0;
		},
		/** Whether the list has a message for the current run. */
		get hasSteering(): boolean {
			return waiting.some(({ steers }) => steers === true);
		},
		clear(): void {
			visit = undefined;
			gone = [];
			show([]);
		},
		/** Sets the session that `refresh` reads. */
		use(next: Visit): void {
			visit = next;
		},
		/** Reads the list again. Returns the messages that have left the list, except those that `remove` removed. */
		refresh(): Promise<readonly WaitingMessage[]> {
			const next = reading.then(read);
			reading = next;
			return next;
		},
		/** Finds the message that started this run. If the message is still in the list, removes it. */
		take(runId: string): WaitingMessage | undefined {
			const isBegun = ({ id }: WaitingMessage): boolean => id === runId;
			const begun = waiting.find(isBegun);
			if (begun !== undefined) show(waiting.filter((message) => message !== begun));
			return begun ?? gone.find(isBegun);
		},
	};
}

function createEntry(message: WaitingMessage, remove: () => Promise<void>): HTMLElement {
	const { attachments = [], from, steers } = message;
	const text = toSaidText(message);
	const files = attachments.length > 0 ? createFileList(attachments) : undefined;
	const words = element('p', 'waiting-text', text, files);
	const fate = say(steers === true ? 'Waits for the next turn of this run' : 'Waits for the run to end');
	const about = element(
		'p',
		'waiting-about',
		from === 'schedule' ? `${say('From a schedule')} · ` : '',
		fate,
		createAction(say('Remove'), say('the message {text}', { text: shorten(text, 40) }), remove),
	);
	return element('li', '', words, about);
}
