/** Sends a message of the conversation again, with the same or a new text. All messages after it are removed. */

import { ClientError } from '../../client/error.ts';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import { button, configure, element, onSubmit, shorten } from '../parts/element.ts';
import { createTextArea } from '../parts/form.ts';

/** The message to send again: the message with this id, the message that started this run, or the newest message. */
export interface Again {
	readonly id?: string;
	readonly runId?: string;
	/** The new text. Missing to send the same text. */
	readonly text?: string;
}

/** Sends a message again. Does not read the events of the new run. */
export async function askAgain(
	client: SessionClient,
	sessionId: string,
	{ id, runId, text }: Again,
	signal: AbortSignal,
): Promise<void> {
	const replaces = id ?? (await findMessage(client, sessionId, runId, signal));
	await client.leaveMessage(sessionId, { replaces, text }, { signal });
}

async function findMessage(
	client: SessionClient,
	sessionId: string,
	runId: string | undefined,
	signal: AbortSignal,
): Promise<string> {
	const messages = await client.listMessages(sessionId, { signal });
	const inputs = messages.filter(({ role, isInput, isReplaced }) => role === 'user' && isInput && isReplaced !== true);
	const found = runId === undefined ? inputs.at(-1) : inputs.find((message) => message.runId === runId);
	if (found !== undefined) return found.id;
	throw new ClientError('no_message', say('This message is no longer in the conversation.'), { status: 404 });
}

export function createBusyError(): ClientError {
	const words = say('The agent still answers. Stop it, or wait for its end, and send this again.');
	return new ClientError('conflict', words, { status: 409 });
}

/** Adds an edit button to a message. The button opens an editor for the text. */
export function addEdit(bubble: HTMLElement, text: string, onEdit: (text: string) => void): void {
	const edit = button('edit-message', '', () => {
		const form = createEditor(text, onEdit, () => {
			form.remove();
			bubble.hidden = false;
			edit.focus();
		});
		bubble.hidden = true;
		bubble.after(form);
		form.querySelector('textarea')?.focus();
	});
	edit.dataset.label = say('Edit');
	edit.ariaLabel = say('Edit the message {text}', { text: shorten(text, 40) });
	bubble.append(edit);
}

/** Returns the texts of open editors that a person has changed. */
export function readEdited(root: Element): string {
	const fields = [...root.querySelectorAll<HTMLTextAreaElement>('.editor textarea')];
	return fields.flatMap(({ value, defaultValue }) => (value === defaultValue ? [] : [value])).join('\n\n');
}

function createEditor(text: string, onEdit: (text: string) => void, onLeave: () => void): HTMLFormElement {
	const field = createTextArea(text, Math.min(12, text.split('\n').length + 1));
	configure(field, { defaultValue: text, ariaLabel: say('New words of the message') });
	const hint = element('p', 'about', say('The answers behind it are replaced. To keep both, fork the session first.'));
	const send = element('button', 'primary', say('Send'));
	const form = element('form', 'editor', field, hint, button('', say('Cancel'), onLeave), send);
	onSubmit(form, () => {
		if (field.value.trim() !== '') onEdit(field.value);
	});
	field.addEventListener('keydown', (event) => {
		if (event.key === 'Escape') onLeave();
		if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		form.requestSubmit();
	});
	return form;
}
