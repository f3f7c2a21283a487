/** The message of a failed request, with a remedy such as a form for an API key. */

import { isTransient } from '../../client/error.ts';
import { ClientError } from '../../client/index.ts';
import { button, element } from './element.ts';

interface Remedy {
	readonly label: string;
	readonly onClick: () => void;
}

/** Describes an error. */
function describeFailure(error: unknown): string {
	if (!(error instanceof ClientError)) return 'The page met an error of its own. A reload may help.';
	if (error.code !== 'unreachable') return error.message;
	return 'The server does not answer. Is it running, and is this device online?';
}

/** Makes the box of a failure. `again` repeats the failed action. If the server requires a key, the box has a form for it. */
export function createFailure(error: unknown, again: () => void, remedy?: Remedy): HTMLElement {
	const box = element('div', 'failure', element('p', '', describeFailure(error)));
	box.setAttribute('role', 'alert');
	if (error instanceof ClientError && error.status === 401) box.append(createKeyForm(again));
	else if (remedy !== undefined) box.append(button('retry', remedy.label, remedy.onClick));
	else if (isTransient(error)) box.append(button('retry', 'Try again', again));
	return box;
}

interface Ways {
	/** Whether reopening the chat may help. */
	readonly mayPass: boolean;
	readonly again: () => void;
	/** Begins another chat: this one is gone. */
	readonly leave: () => void;
}

export function createChatFailure(error: unknown, { mayPass, again, leave }: Ways): HTMLElement {
	const isGone = error instanceof ClientError && error.code === 'not_found';
	if (mayPass) return createFailure(error, again, { label: 'Try again', onClick: again });
	return createFailure(error, again, isGone ? { label: 'New chat', onClick: leave } : undefined);
}

const place = 'runlet-key';

export function readKey(): string | undefined {
	return sessionStorage.getItem(place) ?? undefined;
}

/** Makes a form that asks for the key and keeps it. */
function createKeyForm(onGiven: () => void): HTMLFormElement {
	const field = element('input', '');
	field.type = 'password';
	field.autocomplete = 'off';
	field.required = true;
	field.placeholder = 'rl_…';
	field.setAttribute('aria-label', 'API key');
	const form = element('form', 'key', field, element('button', 'retry', 'Use this key'));
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		const key = field.value.trim();
		// Such a text is no header.
		if (!/^[\x21-\x7e]+$/.test(key)) return field.focus();
		sessionStorage.setItem(place, key);
		onGiven();
	});
	return form;
}
