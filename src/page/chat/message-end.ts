/** What stands under a message of a person: its versions, and icons that copy, edit and fork it. */

import { say } from '../../client/say.ts';
import { button, configure, element, onSubmit, shorten } from '../parts/element.ts';
import { createTextArea } from '../parts/form.ts';
import { createCopyIcon, createIconButton } from '../parts/icon.ts';
import type { Again, Spot } from './again.ts';

export interface MessageActions {
	readonly onAgain: (again: Again) => void;
	/** Makes the icon that forks the session. Missing where the reader cannot fork. */
	readonly createFork?: (spot: Spot, text?: string) => HTMLElement;
}

interface SaidText {
	readonly text: string;
	/** Missing if the message cannot be sent again. */
	readonly again?: Again['at'];
	/** The message itself, if it can be forked. */
	readonly at?: Spot;
	/** The arrows that show other versions. */
	readonly versions?: HTMLElement;
}

/** Adds the icons below a message. */
export function addMessageEnd(
	bubble: HTMLElement,
	{ text, again, at, versions }: SaidText,
	{ onAgain, createFork }: MessageActions,
): void {
	const about = { text: shorten(text, 40) };
	const end = element('div', 'message-end', versions);
	if (text !== '') end.append(createCopyIcon(say('Copy the message {text}', about), () => text));
	if (again !== undefined) end.append(createEdit(bubble, end, text, (newer) => onAgain({ at: again, text: newer })));
	if (at !== undefined && createFork !== undefined) end.append(createFork(at, text));
	if (end.hasChildNodes()) bubble.after(end);
}

function createEdit(
	bubble: HTMLElement,
	end: HTMLElement,
	text: string,
	onEdit: (text: string) => void,
): HTMLButtonElement {
	const edit = createIconButton('edit', say('Edit'), () => {
		const form = createEditor(text, onEdit, () => {
			form.remove();
			bubble.hidden = end.hidden = false;
			edit.focus();
		});
		bubble.hidden = end.hidden = true;
		end.after(form);
		form.querySelector('textarea')?.focus();
	});
	return configure(edit, { ariaLabel: say('Edit the message {text}', { text: shorten(text, 40) }) });
}

/** Returns the texts of open editors that a person has changed. */
export function readEdited(root: Element): string {
	const fields = [...root.querySelectorAll<HTMLTextAreaElement>('.editor textarea')];
	return fields.flatMap(({ value, defaultValue }) => (value === defaultValue ? [] : [value])).join('\n\n');
}

function createEditor(text: string, onEdit: (text: string) => void, onLeave: () => void): HTMLFormElement {
	const field = createTextArea(text, Math.min(12, text.split('\n').length + 1));
	configure(field, { defaultValue: text, ariaLabel: say('New words of the message') });
	const hint = element('p', 'about', say('The conversation goes on from the new words. The earlier version is kept.'));
	const send = element('button', 'primary', say('Send'));
	const form = element('form', 'editor', field, hint, button('', say('Cancel'), onLeave), send);
	onSubmit(form, () => {
		if (field.value.trim() !== '') onEdit(field.value);
	});
	field.addEventListener('keydown', (event) => {
		if (event.key === 'Escape') {
			event.preventDefault();
			onLeave();
		}
		if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		form.requestSubmit();
	});
	return form;
}
