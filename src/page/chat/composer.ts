/** Where a person writes: the text, the files that go with it, and what the chat does now. */

import { find, withoutTurns } from '../parts/element.ts';
import { createAttachments } from './attachments.ts';
import { listenForFiles } from './file-drop.ts';

interface Wishes {
	/** Sends the text with the files. */
	readonly onSend: (text: string) => void;
	readonly onStop: () => void;
	/** Called while somebody writes. */
	readonly onWriting: () => void;
}

export function createComposer({ onSend, onStop, onWriting }: Wishes) {
	const form = find('#composer', HTMLFormElement);
	const text = find('#text', HTMLTextAreaElement);
	const send = find('#send', HTMLButtonElement);
	const stop = find('#stop', HTMLButtonElement);
	const status = find('#status', HTMLElement);
	const attachments = createAttachments(find('#files', HTMLElement), find('#files-note', HTMLElement), () =>
		text.focus(),
	);

	form.addEventListener('submit', (event) => {
		event.preventDefault();
		onSend(text.value);
	});
	text.addEventListener('keydown', (event) => {
		if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		onSend(text.value);
	});
	text.addEventListener('input', () => {
		if (text.value !== '') onWriting();
	});
	const field = { text, target: form, attach: find('#attach', HTMLElement), picker: find('#picker', HTMLInputElement) };
	listenForFiles(field, (files) => {
		void attachments.add(files);
		text.focus();
	});
	stop.addEventListener('click', onStop);

	return {
		attachments,
		stop,
		focus: () => text.focus(),
		get isReady() {
			return !send.disabled;
		},
		set isReady(value: boolean) {
			send.disabled = !value;
		},
		clear(): void {
			text.value = '';
			text.focus();
		},
		/** Puts back a text that could not be sent, if nothing new stands there. */
		restore(said: string): void {
			text.value ||= said;
		},
		setRunning(value: boolean): void {
			if (!value && document.activeElement === stop) text.focus();
			send.hidden = value;
			stop.hidden = !value;
		},
		setStatus(words: string): void {
			const shown = withoutTurns(words);
			if (status.textContent !== shown) status.textContent = shown;
		},
	};
}
