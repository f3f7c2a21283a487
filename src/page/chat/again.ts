/** Sends a message of the conversation again, with the same text or a new one. The messages after it are removed. */

import { ClientError } from '../../client/error.ts';
import type { SessionClient } from '../../client/sessions.ts';
import { button, element, shorten } from '../parts/element.ts';
import { createTextArea } from '../parts/form.ts';

/** The message to send again: by its id, by the run that it started, or the newest; with its new text, if there is one. */
export interface Again {
	readonly id?: string;
	readonly runId?: string;
	readonly text?: string;
}

/** Sends a message again, without reading its run. */
export async function askAgain(
	client: Pick<SessionClient, 'listMessages' | 'leaveMessage'>,
	id: string,
	{ id: known, runId, text }: Again,
	signal: AbortSignal,
): Promise<void> {
	const replaces = known ?? (await findSaid(client, id, runId, signal));
	await client.leaveMessage(id, { replaces, text }, { signal });
}

async function findSaid(
	client: Pick<SessionClient, 'listMessages'>,
	id: string,
	runId: string | undefined,
	signal: AbortSignal,
): Promise<string> {
	const messages = await client.listMessages(id, { signal });
	const said = messages.filter(({ role, isInput, isReplaced }) => role === 'user' && isInput && isReplaced !== true);
	const meant = runId === undefined ? said.at(-1) : said.find((one) => one.runId === runId);
	if (meant !== undefined) return meant.id;
	throw new ClientError('no_message', 'This message is no longer in the conversation.', { status: 404 });
}

/** Makes the error for a message that is sent again during a run. */
export function createBusyError(): ClientError {
	return new ClientError('conflict', 'The agent still answers. Stop it, or wait for its end, and send this again.', {
		status: 409,
	});
}

/** Adds a button to a message that opens an editor. */
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
	edit.dataset.label = 'Edit';
	edit.setAttribute('aria-label', `Edit the message ${shorten(text, 40)}`);
	bubble.append(edit);
}

/** Reads the changed text of open editors. */
export function readEdited(root: Element): string {
	const fields = [...root.querySelectorAll<HTMLTextAreaElement>('.editor textarea')];
	return fields.flatMap(({ value, defaultValue }) => (value === defaultValue ? [] : [value])).join('\n\n');
}

function createEditor(text: string, onEdit: (text: string) => void, onLeave: () => void): HTMLFormElement {
	const field = createTextArea(text, Math.min(12, text.split('\n').length + 1));
	field.defaultValue = text;
	field.setAttribute('aria-label', 'New words of the message');
	const hint = element('p', 'about', 'The answers behind it are replaced. To keep both, fork the session first.');
	const send = element('button', 'primary', 'Send');
	const form = element('form', 'editor', field, hint, button('', 'Cancel', onLeave), send);
	form.addEventListener('submit', (event) => {
		event.preventDefault();
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
