/** The message box: the text, the attached files, and the status of the chat. */

import type { Attachment } from '../../client/index.ts';
import { say } from '../../client/say.ts';
import { configure, element, find, onSubmit, type Root, withoutTurns } from '../parts/element.ts';
import { createAttachments, listenForFiles } from './attachments.ts';
import type { Surroundings } from './surroundings.ts';

interface Options extends Pick<Surroundings, 'root' | 'life' | 'dropArea' | 'extras'> {
	/** Called with a message to send. During a run, the message is queued, or steers the run if `steers` is true. */
	readonly onSend: (text: string, steers: boolean) => void;
	readonly onStop: () => void;
	/** Called while a person types. */
	readonly onWriting: () => void;
}

interface Draft {
	readonly text: string | undefined;
	readonly attachments: Attachment[] | undefined;
	/** Puts the draft back into the box, unless the box has a new text. */
	readonly restore: () => void;
}

export function createComposer({ root, life, dropArea, extras, onSend, onStop, onWriting }: Options) {
	const { form, text, send, stop, status, hint, meanwhile } = findParts(root);
	const setStatus = createStatus(status);
	const draft = extras?.createDraftBox(text);
	let isRunning = false;
	let takesMore = false;
	const attachments = createAttachments(root, () => {
		offer();
		text.focus();
	});

	function offer(): void {
		send.hidden = isRunning;
		stop.hidden = !isRunning;
		hint.hidden = isRunning;
		meanwhile.hidden = !takesMore || (text.value === '' && attachments.isEmpty);
		text.placeholder = say(takesMore ? 'Write what comes next' : 'Write a message');
	}

	function restoreText(unsent: string, of = draft?.session): void {
		if (draft?.keepFor(of, unsent)) return;
		sending.forget();
		text.value ||= unsent;
		draft?.keep();
		offer();
	}

	const sending = listenForSending({ form, text, send, root, mayTake: () => !isRunning || takesMore }, onSend);
	text.addEventListener('input', () => {
		draft?.keep();
		offer();
		if (text.value !== '') onWriting();
	});
	const files = { attach: find('#attach', HTMLElement, root), picker: find('#picker', HTMLInputElement, root) };
	listenForFiles({ text, target: form, ...files, area: dropArea, life }, (added) => {
		void attachments.add(added).then(offer);
		text.focus();
	});
	stop.addEventListener('click', onStop);

	return {
		stop,
		focus: () => text.focus(),
		open(id: string | undefined): void {
			draft?.open(id);
			sending.use(id);
			offer();
		},
		moveDraft: (id: string | undefined) => draft?.moveTo(id),
		get isReady() {
			return sending.isReady;
		},
		set isReady(value: boolean) {
			sending.setReady(value);
		},
		/** Whether there is no text and no file to send. */
		isEmpty: (words: string): boolean => words.trim() === '' && attachments.isEmpty,
		async take(words: string): Promise<Draft> {
			const session = draft?.session;
			const files = await attachments.take();
			const restore = () => {
				restoreText(words, session);
				attachments.restore(files);
			};
			const text = words.trim() === '' ? undefined : words;
			return { text, attachments: files.length > 0 ? files : undefined, restore };
		},
		clear(): void {
			text.value = '';
			draft?.keep();
			offer();
			text.focus();
		},
		restore: (unsent: string): void => restoreText(unsent),
		get isRunning(): boolean {
			return isRunning;
		},
		setRunning(value: boolean): void {
			if (!value && root.activeElement === stop) text.focus();
			isRunning = value;
			takesMore = false;
			offer();
			sending.flush();
		},
		/** Whether further messages can be sent during the run. */
		get takesMore(): boolean {
			return takesMore;
		},
		/** Allows further messages, because the run has begun. */
		takeMore(): void {
			if (takesMore) return;
			takesMore = true;
			offer();
			sending.flush();
		},
		setStatus,
	};
}

/** Returns a function that shows the status of the chat, with seconds behind the words. */
function createStatus(place: HTMLElement) {
	const said = new Text();
	// A screen reader does not read the seconds, because they change all the time.
	const counted = configure(element('span'), { ariaHidden: 'true', ariaLive: 'off' });
	place.append(said, counted);
	return (words: string, seconds = ''): void => {
		const shown = withoutTurns(words);
		if (said.data !== shown) said.data = shown;
		counted.textContent = seconds === '' ? '' : ` ${seconds}`;
	};
}

function findParts(root: Root) {
	return {
		form: find('#composer', HTMLFormElement, root),
		text: find('#text', HTMLTextAreaElement, root),
		send: find('#send', HTMLButtonElement, root),
		stop: find('#stop', HTMLButtonElement, root),
		status: find('#status', HTMLElement, root),
		hint: find('#composer .hint', HTMLElement, root),
		meanwhile: find('#meanwhile', HTMLElement, root),
	};
}

interface Controls {
	readonly form: HTMLFormElement;
	readonly text: HTMLTextAreaElement;
	readonly send: HTMLButtonElement;
	readonly root: Root;
	/** Whether a message can be sent now: no run is on, or the run takes more. */
	readonly mayTake: () => boolean;
}

/**
 * Calls `onSend` for the buttons, for Enter, and for Ctrl+Enter, which steers the run. If a message is sent before the
 * chat is ready, the message waits. If the person then continues to type, the message is not sent.
 */
function listenForSending({ form, text, send, root, mayTake }: Controls, onSend: Options['onSend']) {
	let isPending = false;
	let session: string | undefined;
	const request = (steers: boolean): void => {
		isPending = send.disabled || !mayTake();
		if (!isPending) onSend(text.value, steers);
	};
	/** Sends the message that waits, if that is possible now. */
	const flush = (): void => {
		if (!isPending || send.disabled || !mayTake()) return;
		isPending = false;
		onSend(text.value, false);
	};
	const forget = (): void => {
		isPending = false;
	};
	onSubmit(form, () => request(false));
	find('#queue', HTMLElement, root).addEventListener('click', () => request(false));
	find('#steer', HTMLElement, root).addEventListener('click', () => request(true));
	text.addEventListener('keydown', (event) => {
		if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		request(event.ctrlKey || event.metaKey);
	});
	text.addEventListener('input', forget);
	return {
		flush,
		forget,
		get isReady(): boolean {
			return !send.disabled;
		},
		setReady(value: boolean): void {
			send.disabled = !value;
			flush();
		},
		/** From now on, messages are for this session. A message that waits for another session is not sent. */
		use(id: string | undefined): void {
			if (id !== session) forget();
			session = id;
		},
	};
}
