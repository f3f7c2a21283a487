/** The message of a failed request, with a remedy such as a form for an API key. */

import { isTransient } from '../../client/error.ts';
import { ClientError } from '../../client/index.ts';
import { say, sayOr } from '../../client/say.ts';
import { button, configure, element, onSubmit } from './element.ts';

interface Remedy {
	readonly label: string;
	readonly onClick: () => void;
}

function describeFailure(error: unknown): string {
	if (!(error instanceof ClientError)) return say('The page met an error of its own. A reload may help.');
	const unreachable = 'The server does not answer. Is it running, and is this device online?';
	return sayOr(error.code, error.code === 'unreachable' ? unreachable : error.message);
}

/** `again` repeats the failed action. If the server requires an API key, the message contains a form for the key. */
export function createFailure(error: unknown, again: () => void, remedy?: Remedy): HTMLElement {
	const box = configure(element('div', 'failure', element('p', '', describeFailure(error))), { role: 'alert' });
	if (error instanceof ClientError && error.status === 401) box.append(createKeyForm(again));
	else if (remedy !== undefined) box.append(button('retry', remedy.label, remedy.onClick));
	else if (isTransient(error)) box.append(button('retry', say('Try again'), again));
	return box;
}

const keyName = 'runlet-key';

export function readKey(): string | undefined {
	return sessionStorage.getItem(keyName) ?? undefined;
}

/** Makes a form for the API key, which is kept for this tab. */
function createKeyForm(onKey: () => void): HTMLFormElement {
	const field = configure(element('input'), { type: 'password', autocomplete: 'off', required: true });
	configure(field, { placeholder: 'rl_…', ariaLabel: 'API key' });
	const form = element('form', 'key', field, element('button', 'retry', 'Use this key'));
	onSubmit(form, () => {
		const key = field.value.trim();
		// A header cannot contain other characters.
		if (!/^[\x21-\x7e]+$/.test(key)) return field.focus();
		sessionStorage.setItem(keyName, key);
		onKey();
	});
	return form;
}
