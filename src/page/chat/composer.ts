/** The message box: the text, its files, and the status of the chat. */

import type { Attachment } from '../../client/index.ts';
import { find, withoutTurns } from '../parts/element.ts';
import { createAttachments, listenForFiles } from './attachments.ts';

interface Wishes {
	/** Sends the text with the files. During a run they wait for it, or steer it. */
	readonly onSend: (text: string, steers: boolean) => void;
	readonly onStop: () => void;
	/** Called while a person types. */
	readonly onWriting: () => void;
}

/** What is to be sent. */
interface Draft {
	readonly text: string | undefined;
	readonly attachments: Attachment[] | undefined;
	/** Restores the draft, unless the box has a new text. */
	readonly restore: () => void;
}

export function createComposer({ onSend, onStop, onWriting }: Wishes) {
	const form = find('#composer', HTMLFormElement);
	const text = find('#text', HTMLTextAreaElement);
	const send = find('#send', HTMLButtonElement);
	const stop = find('#stop', HTMLButtonElement);
	const status = find('#status', HTMLElement);
	const hint = find('#composer .hint', HTMLElement);
	const meanwhile = find('#meanwhile', HTMLElement);
	let isRunning = false;
	let takesMore = false;
	const attachments = createAttachments(find('#files', HTMLElement), find('#files-note', HTMLElement), () => {
		offer();
		text.focus();
	});

	/** Shows the buttons for the current state. */
	function offer(): void {
		send.hidden = isRunning;
		stop.hidden = !isRunning;
		hint.hidden = isRunning;
		meanwhile.hidden = !takesMore || (text.value === '' && attachments.isEmpty);
		text.placeholder = takesMore ? 'Write what comes next' : 'Write a message';
	}

	function putBack(said: string): void {
		text.value ||= said;
		offer();
	}

	const sending = listenForSending({ form, text, send }, onSend);
	text.addEventListener('input', () => {
		offer();
		if (text.value !== '') onWriting();
	});
	const field = { text, target: form, attach: find('#attach', HTMLElement), picker: find('#picker', HTMLInputElement) };
	listenForFiles(field, (files) => {
		void attachments.add(files).then(offer);
		text.focus();
	});
	stop.addEventListener('click', onStop);

	return {
		stop,
		focus: () => text.focus(),
		get isReady() {
			return sending.isReady;
		},
		set isReady(value: boolean) {
			sending.setReady(value);
		},
		/** Whether there is nothing to send with a text. */
		isEmpty: (said: string): boolean => said.trim() === '' && attachments.isEmpty,
		/** Takes a text with the files that are here, as a message. */
		async take(said: string): Promise<Draft> {
			const files = await attachments.take();
			const restore = () => {
				putBack(said);
				attachments.restore(files);
			};
			return {
				text: said.trim() === '' ? undefined : said,
				attachments: files.length > 0 ? files : undefined,
				restore,
			};
		},
		clear(): void {
			text.value = '';
			offer();
			text.focus();
		},
		/** Restores a text that could not be sent, unless the box has a new text. */
		restore: putBack,
		get isRunning(): boolean {
			return isRunning;
		},
		setRunning(value: boolean): void {
			if (!value && document.activeElement === stop) text.focus();
			isRunning = value;
			takesMore = false;
			offer();
		},
		/** Whether further messages can be left with the run. */
		get takesMore(): boolean {
			return takesMore;
		},
		/** The run has begun: further messages can be left with it. */
		takeMore(): void {
			if (takesMore) return;
			takesMore = true;
			offer();
		},
		setStatus(words: string): void {
			const shown = withoutTurns(words);
			if (status.textContent !== shown) status.textContent = shown;
		},
	};
}

/** The elements that send a text. */
interface Controls {
	readonly form: HTMLFormElement;
	readonly text: HTMLTextAreaElement;
	readonly send: HTMLButtonElement;
}

/**
 * Calls `onSend` for the buttons, Enter, and Ctrl+Enter, which steers. A request before the chat is
 * ready is repeated once it is ready, unless the person types on.
 */
function listenForSending({ form, text, send }: Controls, onSend: Wishes['onSend']) {
	let isAwaited = false;
	const ask = (steers: boolean): void => {
		isAwaited = send.disabled;
		if (!isAwaited) onSend(text.value, steers);
	};
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		ask(false);
	});
	find('#queue', HTMLElement).addEventListener('click', () => ask(false));
	find('#steer', HTMLElement).addEventListener('click', () => ask(true));
	text.addEventListener('keydown', (event) => {
		if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		ask(event.ctrlKey || event.metaKey);
	});
	text.addEventListener('input', () => {
		isAwaited = false;
	});
	return {
		get isReady(): boolean {
			return !send.disabled;
		},
		setReady(value: boolean): void {
			send.disabled = !value;
			const sends = value && isAwaited;
			isAwaited = false;
			if (sends) onSend(text.value, false);
		},
	};
}
